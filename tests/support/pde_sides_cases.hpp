#pragma once

#include <fmt/format.h>

#include <string>

#include "support/pde_cases.hpp"

/// Systems with sides of kinds that few have.
namespace gridstride::test {

/// u changes its sign around x and not around y; v the other way round.
inline std::string antiperiodic_pde(int cells) {
  return fmt::format(
      "simulation: pde\ngrid: {{points: [{0}, {0}]}}\n"
      "boundary: {{u: {{x: antiperiodic, y: periodic}}, v: {{x: periodic, y: antiperiodic}}}}\n"
      "let:\n"
      "  a: exp(-t)*sin(pi*x + 0.3)*(2 + sin(2*pi*y + 0.7))\n"
      "  b: exp(-t)*cos(pi*y + 0.2)*(2 + cos(2*pi*x))\n"
      "equations:\n"
      "  u: \"div((0.05 + 0.01*u^2)*grad(u)) + d_dx(u*v^2) + diff(a, t)"
      " - div((0.05 + 0.01*a^2)*grad(a)) - d_dx(a*b^2)\"\n"
      "  v: \"0.05*(laplace(v) + d2_dxdy(v)) + diff(b, t) - 0.05*(laplace(b) + d2_dxdy(b))\"\n"
      "initial: {{u: sin(pi*x + 0.3)*(2 + sin(2*pi*y + 0.7)), "
      "v: cos(pi*y + 0.2)*(2 + cos(2*pi*x))}}\n"
      "time: {{end: 0.05}}\noutput: {{every: {{count: 1}}}}\n",
      cells);
}

/// A vector that does not flow through the sides, and a scalar without slopes there.
inline std::string walled_pde(int cells) {
  return fmt::format(
      "simulation: pde\ngrid: {{points: [{0}, {0}]}}\n"
      "boundary: {{x: wall, y: wall}}\n"
      "fields: {{q: vector}}\n"
      "let:\n"
      "  p: [exp(-t)*sin(pi*x)*cos(pi*y), exp(-2*t)*cos(pi*x)*sin(2*pi*y)]\n"
      "  r: 2 + exp(-t)*cos(pi*x)*cos(pi*y)\n"
      "equations:\n"
      "  h: \"0.02*laplace(h) - div(q) + diff(r, t) - 0.02*laplace(r) + div(p)\"\n"
      "  q: \"0.05*laplace(q) - div(outer(q, q)/h + h^2/2*identity) + diff(p, t) - 0.05*laplace(p)"
      " + div(outer(p, p)/r + r^2/2*identity)\"\n"
      "initial: {{h: 2 + cos(pi*x)*cos(pi*y), "
      "q: {{x: sin(pi*x)*cos(pi*y), y: cos(pi*x)*sin(2*pi*y)}}}}\n"
      "time: {{end: 0.05}}\noutput: {{every: {{count: 1}}}}\n",
      cells + 1);
}

/// Cahn and Hilliard, with μ an array where it has sides. `sides` are those of one axis.
inline std::string separation(char const* sides, bool is_array, char const* more = "") {
  return fmt::format(
      "simulation: pde\ngrid: {{points: [25, 22], upper: [24, 21]}}\n"
      "boundary: {{x: {0}, y: {0}{1}}}\n"
      "let: {{f: 5*(c-0.3)^2*(0.7-c)^2, mu: \"diff(f, c) - 2*laplace(c)\"}}\n"
      "equations: {{c: 5*laplace(mu)}}\n"
      "initial: {{c: \"0.5 + 0.05*cos(0.31*x)*cos(0.35*y) + 0.02*sin(x)\"}}\n"
      "time: {{scheme: rk4, end: 2}}\noutput: {{every: {{count: 1}}}}\n{2}",
      sides, is_array ? fmt::format(", mu: {{x: {0}, y: {0}}}", sides) : "", more);
}

}  // namespace gridstride::test
