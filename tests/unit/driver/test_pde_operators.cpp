#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "support/pde_outputs.hpp"

/// Every operator of equations against what it is by calculus, worked out by hand, in one to three
/// dimensions and for each order of the differences.
namespace gridstride {
namespace {

/// Waves i = 0 to 3 are s_i = sin(2π(α_i·x) + i + 1/3), with another α along each axis, so that no
/// two axes or components can be taken for each other. u is s0, the components of q are s1 to s3.
constexpr std::array<std::array<int, 3>, 4> alpha = {
    {{1, 2, -1}, {1, -2, 2}, {2, 1, -1}, {-1, 2, 1}}};

std::string wave(char const* function, int i, int dims) {
  std::string phase;
  for (int a = 0; a < dims; ++a)
    phase += fmt::format(" + ({})*{}",
                         alpha[static_cast<std::size_t>(i)][static_cast<std::size_t>(a)], "xyz"[a]);
  return fmt::format("{}(2*pi*(0{}) + {} + 1/3)", function, phase, i);
}
/// ∂s_i/∂x_a and ∂²s_i/∂x_a∂x_b.
std::string slope(int i, int a) {
  return fmt::format("({})*2*pi*c{}",
                     alpha[static_cast<std::size_t>(i)][static_cast<std::size_t>(a)], i);
}
std::string bend(int i, int a, int b) {
  auto const& k = alpha[static_cast<std::size_t>(i)];
  return fmt::format("({})*4*pi^2*s{}",
                     -k[static_cast<std::size_t>(a)] * k[static_cast<std::size_t>(b)], i);
}

template <class Make>
std::string sum(int dims, Make make) {
  std::string text;
  for (int a = 0; a < dims; ++a) text += (a == 0 ? "" : " + ") + make(a);
  return text;
}
template <class Make>
std::string vector(int dims, Make make) {
  std::string text;
  for (int a = 0; a < dims; ++a) text += (a == 0 ? "[" : ", ") + make(a);
  return text + "]";
}

struct Meaning {
  std::string text, exact;
};

std::vector<Meaning> meanings(int dims) {
  auto const carried = [&](int i) {
    return sum(dims, [&](int j) { return fmt::format("s{}*{}", j + 1, slope(i, j)); });
  };
  auto const laplace = [&](int i) { return sum(dims, [&](int a) { return bend(i, a, a); }); };
  auto const gradient = vector(dims, [](int a) { return slope(0, a); });
  auto const divergence = sum(dims, [](int a) { return slope(a + 1, a); });
  std::vector<Meaning> all = {
      {"d_dx(u)", slope(0, 0)},
      {"d2_dx2(u)", bend(0, 0, 0)},
      {"d_dx(d2_dx2(u))", "-4*pi^2*" + slope(0, 0)},
      {"laplace(u)", laplace(0)},
      {"laplace(q)", vector(dims, [&](int i) { return laplace(i + 1); })},
      {"grad(u)", gradient},
      {"dot(grad(q), q)", vector(dims, [&](int i) { return carried(i + 1); })},
      {"div(q)", divergence},
      {"div(u*q)", sum(dims,
                       [](int a) {
                         return fmt::format("{}*s{} + s0*{}", slope(0, a), a + 1, slope(a + 1, a));
                       })},
      {"div(grad(u))", laplace(0)},
      {"div((2 + u)*grad(u))",
       sum(dims,
           [](int a) { return fmt::format("({})^2 + (2 + s0)*{}", slope(0, a), bend(0, a, a)); })},
      {"div(outer(q, q))", vector(dims,
                                  [&](int i) {
                                    return sum(dims, [&](int j) {
                                      return fmt::format("{}*s{} + s{}*{}", slope(i + 1, j), j + 1,
                                                         i + 1, slope(j + 1, j));
                                    });
                                  })},
      {"div(u^2*identity)", vector(dims, [](int a) { return "2*s0*" + slope(0, a); })},
      {"advect(q, u)", carried(0)},
      {"advect(q, q)", vector(dims, [&](int i) { return carried(i + 1); })},
      {"dot(q, grad(u))", carried(0)},
      {"norm2(grad(u))", sum(dims, [](int a) { return "(" + slope(0, a) + ")^2"; })},
      {"d_dx(norm((3 + u)*grad(2*x)))", "2*" + slope(0, 0)},
      {"d_dx(diff(u^3/3 + 5*x*u, u) - 5*x)", "2*s0*" + slope(0, 0)},
  };
  if (dims > 1)
    all.insert(
        all.end(),
        {{"d_dy(u)", slope(0, 1)}, {"d2_dy2(u)", bend(0, 1, 1)}, {"d2_dxdy(u)", bend(0, 0, 1)}});
  if (dims == 2)
    all.insert(all.end(), {{"curl(q)", slope(2, 0) + " - " + slope(1, 1)},
                           {"curl(u)", "[" + slope(0, 1) + ", -" + slope(0, 0) + "]"}});
  if (dims == 3) {
    auto const turn = [](int a) {
      int const b = (a + 1) % 3, c = (a + 2) % 3;
      return slope(c + 1, b) + " - " + slope(b + 1, c);
    };
    // rot rot = grad div − ∇²
    auto const twice = [&](int a) {
      return sum(3, [&](int b) { return bend(b + 1, b, a); }) + " - (" + laplace(a + 1) + ")";
    };
    all.insert(all.end(), {{"d_dz(u)", slope(0, 2)},
                           {"d2_dz2(u)", bend(0, 2, 2)},
                           {"d2_dxdz(u)", bend(0, 0, 2)},
                           {"d2_dydz(u)", bend(0, 1, 2)},
                           {"curl(q)", vector(3, turn)},
                           {"curl(curl(q))", vector(3, twice)}});
  }
  return all;
}

/// The largest difference of each operator from what it is, on n points along each axis.
std::vector<double> errors(int dims, int order, int n) {
  auto const rows = meanings(dims);
  std::string points, sides, lets, derived;
  for (int a = 0; a < dims; ++a) {
    points += fmt::format("{}{}", a == 0 ? "" : ", ", n + a);  // as many along each would hide some
    sides += fmt::format("{}{}: periodic", a == 0 ? "" : ", ", "xyz"[a]);
  }
  for (int i = 0; i < 4; ++i)
    lets +=
        fmt::format("  s{0}: {1}\n  c{0}: {2}\n", i, wave("sin", i, dims), wave("cos", i, dims));
  for (std::size_t i = 0; i < rows.size(); ++i)
    derived +=
        fmt::format("    w{0}: \"{1}\"\n    e{0}: \"{2}\"\n", i, rows[i].text, rows[i].exact);
  test::Ended run(fmt::format(
      "simulation: pde\ngrid: {{points: [{}]}}\nboundary: {{{}}}\nfields: {{q: vector}}\n"
      "space: {{order: {}}}\nlet:\n{}equations: {{u: 0, q: \"{}\"}}\n"
      "initial: {{u: s0, q: {}}}\ntime: {{scheme: euler, end: 1, step: 1}}\n"
      "output:\n  every: {{count: 1}}\n  derived:\n{}",
      points, sides, order, lets, vector(dims, [](int) { return std::string("0"); }),
      vector(dims, [](int a) { return fmt::format("s{}", a + 1); }), derived));
  std::map<std::string, std::vector<double>> values;
  for (Field const& field : run.simulation->fields()) {
    auto const host = test::to_host(field, run.stream);
    for (std::int64_t p = 0; p < field.values(); ++p)
      values[field.name].push_back(test::value_at(host, p));
  }
  std::vector<double> largest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const &found = values[fmt::format("w{}", i)], &exact = values[fmt::format("e{}", i)];
    EXPECT_EQ(found.size(), exact.size()) << rows[i].text;
    EXPECT_FALSE(found.empty());
    double& most = largest.emplace_back(0);
    for (std::size_t p = 0; p < found.size(); ++p)
      most = std::max(most, std::abs(found[p] - exact[p]));
  }
  return largest;
}

class PdeOperators : public testing::TestWithParam<int> {};

TEST_P(PdeOperators, AreWhatCalculusSays) {
  int const dims = GetParam();
  for (int const order : {2, 4, 6}) {
    int const n = dims == 3 ? 20 : 32;
    auto const coarse = errors(dims, order, n), fine = errors(dims, order, 2 * n);
    auto const rows = meanings(dims);
    // The spacing of a second and third axis is not quite halved: (2n + a)/(n + a).
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_NEAR(std::log2(coarse[i] / fine[i]) / order, 1, 0.1)
          << rows[i].text << ", order " << order << ": " << coarse[i] << ' ' << fine[i];
  }
}
INSTANTIATE_TEST_SUITE_P(Pde, PdeOperators, testing::Values(1, 2, 3));

}  // namespace
}  // namespace gridstride
