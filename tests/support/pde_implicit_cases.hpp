#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

/// Systems whose steps take diffusion implicitly by multigrid.
namespace gridstride::test {

/// u = (1 + x²)(2 + y²)·cos 3t with D = 0.02(1 + x)(2 + y), which differences take exactly on Dirichlet
/// sides, as they do D = 0.02 on others: all error is that of time. `other`: x has a Neumann and a
/// Robin side. `step` is a number or more of the section `time`, to t = 1; D grows by a `factor` of t.
inline std::string implicit_products(std::string_view scheme, bool other, std::string_view step,
                                     std::string_view more = "", std::string_view factor = "1") {
  std::string const flow = other ? "0.04*((2 + y^2) + (1 + x^2))"
                                 : "0.02*((2 + y)*(2 + y^2)*(2*x + 2*(1 + x)) + "
                                   "(1 + x)*(1 + x^2)*(2*y + 2*(2 + y)))";
  // ∂u/∂x = u = 2·(2 + y²)·cos 3t where x = 1.
  std::string const x = other ? "{lower: {neumann: 0}, upper: {robin: [\"2 + y\", "
                                "\"(3 + y)*2*(2 + y^2)*cos(3*t)\"]}}"
                              : "{dirichlet: \"(1 + x^2)*(2 + y^2)*cos(3*t)\"}";
  return fmt::format(
      "{}simulation: pde\ngrid: {{points: [9, 8]}}\n"
      "boundary: {{x: {}, y: {{dirichlet: \"(1 + x^2)*(2 + y^2)*cos(3*t)\"}}}}\n"
      "let: {{w: \"(1 + x^2)*(2 + y^2)\"}}\n"
      "equations: {{u: \"div({}*grad(u)) - 2*u + 2*w*cos(3*t) - 3*w*sin(3*t) - "
      "{}*({})*cos(3*t)\"}}\n"
      "initial: {{u: \"(1 + x^2)*(2 + y^2)\"}}\n"
      "time: {{scheme: {}, end: 1, step: {}}}\noutput: {{every: {{count: 1}}}}\n"
      "verify: {{exact: {{u: \"(1 + x^2)*(2 + y^2)*cos(3*t)\"}}, tolerance: {{l2: 1}}}}\n",
      more, x,
      fmt::format("{}{}", factor == "1" ? "" : fmt::format("{}*", factor),
                  other ? "0.02" : "(0.02*(1 + x)*(2 + y))"),
      factor, flow, scheme, step);
}
inline std::string implicit_products(std::string_view scheme, bool other, int steps,
                                     std::string_view factor = "1") {
  return implicit_products(scheme, other, fmt::format("{}", 1.0 / steps), "", factor);
}

/// Two fields, one of which alone diffuses, as in nerves; `sides` are those of x.
inline std::string implicit_nerve(std::string_view scheme, std::string_view sides, double end,
                                  double step, std::string_view more = "") {
  return fmt::format(
      "{}simulation: pde\ngrid: {{points: [14, 11]}}\nboundary: {{x: {}, y: {{neumann: 0}}}}\n"
      "equations:\n"
      "  u: \"div((0.01 + 0.03*x^2)*grad(u)) + u - u^3/3 - v - (1 + x)*u/4\"\n"
      "  v: \"0.08*(u + 0.7 - 0.8*v)\"\n"
      "initial: {{u: \"cos(3*x)*cos(pi*y)\", v: \"0.3*x\"}}\n"
      "time: {{scheme: {}, end: {}, step: {}}}\n",
      more, sides, scheme, end, step);
}

}  // namespace gridstride::test
