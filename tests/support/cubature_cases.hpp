#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cubature/cubature.hpp"
#include "kernels/integrand/integrand.hpp"

/// Integrals in several dimensions whose values are known.
namespace gridstride::test {

/// A formula of v0, …, v(d−1) and parameters p0, …, as an integrand.
inline quadrature::Integrand integrand_of(std::string_view formula, int dimensions,
                                          int parameters = 0) {
  std::vector<std::string> names;
  for (int k = 0; k < dimensions; ++k) names.push_back(fmt::format("v{}", k));
  for (int k = 0; k < parameters; ++k) names.push_back(fmt::format("p{}", k));
  std::vector<expression::Variable> variables;
  for (std::size_t k = 0; k < names.size(); ++k)
    variables.push_back({names[k], static_cast<int>(k)});
  return {expression::Expression::parse(formula, {}, variables), dimensions, parameters};
}

/// The test families of A. Genz ("A package for testing multiple integration subroutines", 1987),
/// over the unit cube.
enum class Genz { oscillatory, product_peak, corner_peak, gaussian, continuous, discontinuous };
inline constexpr Genz genz_families[] = {Genz::oscillatory, Genz::product_peak,
                                         Genz::corner_peak, Genz::gaussian,
                                         Genz::continuous,  Genz::discontinuous};

struct GenzCase {
  std::string name;
  quadrature::Integrand integrand;
  double value;
};

namespace detail {

/// Σ_{s in {0,1}^d} (−1)^|s| / (1 + Σ a_i s_i) / (d! Π a_i), the integral of
/// (1 + Σ a_i x_i)^(−d−1).
inline double corner_peak_value(std::vector<double> const& a) {
  long double sum = 0, scale = 1;
  for (std::size_t i = 0; i < a.size(); ++i) scale *= static_cast<long double>(i + 1) * a[i];
  for (unsigned subset = 0; subset < 1u << a.size(); ++subset) {
    long double base = 1, sign = 1;
    for (std::size_t i = 0; i < a.size(); ++i)
      if ((subset >> i & 1u) != 0) {
        base += a[i];
        sign = -sign;
      }
    sum += sign / base;
  }
  return static_cast<double>(sum / scale);
}

/// The integral of a family's factor for one axis, where it is a product.
inline double genz_factor(Genz family, double a, double u, bool bounded) {
  switch (family) {
    case Genz::oscillatory:
      return 2 * std::sin(a / 2) / a;
    case Genz::product_peak:
      return a * (std::atan(a * (1 - u)) + std::atan(a * u));
    case Genz::gaussian:
      return std::sqrt(std::numbers::pi) / (2 * a) * (std::erf(a * (1 - u)) + std::erf(a * u));
    case Genz::continuous:
      return (2 - std::exp(-a * u) - std::exp(-a * (1 - u))) / a;
    default:
      return std::expm1(bounded ? a * u : a) / a;
  }
}

/// The formula's term for one axis.
inline std::string genz_term(Genz family, double a, double u, int axis) {
  switch (family) {
    case Genz::product_peak:
      return fmt::format("({:.17g} + (v{} - {:.17g})^2)", 1 / (a * a), axis, u);
    case Genz::gaussian:
      return fmt::format("{:.17g}*(v{} - {:.17g})^2", a * a, axis, u);
    case Genz::continuous:
      return fmt::format("{:.17g}*abs(v{} - {:.17g})", a, axis, u);
    default:
      return fmt::format("{:.17g}*v{}", a, axis);
  }
}

}  // namespace detail

/// The family in d dimensions, with a_i and u_i drawn at random; `difficulty` is Σ a_i. By default
/// it is what the literature takes: 9, 7.25, 1.85, 7.03, 20.4 and 4.3.
inline GenzCase genz_case(Genz family, int dimensions, unsigned seed, double difficulty = 0) {
  constexpr double usual[] = {9, 7.25, 1.85, 7.03, 20.4, 4.3};
  constexpr std::string_view names[] = {"oscillatory", "product peak", "corner peak",
                                        "gaussian",    "continuous",   "discontinuous"};
  auto const number = static_cast<std::size_t>(family);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(0.05, 0.95);
  std::vector<double> a(dimensions), u(dimensions);
  double sum = 0;
  for (int k = 0; k < dimensions; ++k) {
    a[k] = uniform(generator);
    u[k] = uniform(generator);
    sum += a[k];
  }
  std::string inner, separator;
  double value = 1, phase = 2 * std::numbers::pi * u[0];
  double angle = phase;
  for (int k = 0; k < dimensions; ++k) {
    a[k] *= (difficulty > 0 ? difficulty : usual[number]) / sum;
    inner += separator + detail::genz_term(family, a[k], u[k], k);
    separator = family == Genz::product_peak ? "*" : " + ";
    value *= detail::genz_factor(family, a[k], u[k], k < 2);
    angle += a[k] / 2;
  }
  std::string formula;
  switch (family) {
    case Genz::oscillatory:
      formula = fmt::format("cos({:.17g} + {})", phase, inner);
      value *= std::cos(angle);
      break;
    case Genz::product_peak:
      formula = fmt::format("1/({})", inner);
      break;
    case Genz::corner_peak:
      formula = fmt::format("(1 + {})^(-{})", inner, dimensions + 1);
      value = detail::corner_peak_value(a);
      break;
    case Genz::gaussian:
    case Genz::continuous:
      formula = fmt::format("exp(-({}))", inner);
      break;
    case Genz::discontinuous:
      formula = fmt::format("if(v0 < {:.17g}, if(v1 < {:.17g}, exp({}), 0), 0)", u[0], u[1], inner);
      break;
  }
  return {fmt::format("{} in {} dimensions", names[number], dimensions),
          integrand_of(formula, dimensions), value};
}

/// Integrands over the unit cube that are singular, kinked or cut inside it, at a place (p0, p1).
struct SingularFamily {
  std::string name;
  std::string formula;
  int dimensions;
  double (*value)(double s, double t);
  std::vector<double> tolerances;
};

namespace detail {

/// ∫ |x − s|^p dx over [0, 1].
inline double power_around(double s, double p) {
  return (std::pow(s, p + 1) + std::pow(1 - s, p + 1)) / (p + 1);
}
/// ∫ log|x − s| dx over [0, 1].
inline double logarithm_around(double s) { return s * std::log(s) + (1 - s) * std::log(1 - s) - 1; }
/// ∫∫ |x + y − 2s| dx dy over [0, 1]²: 2·E (2s − u)⁺ + 1 − 2s for u = x + y.
inline double ridge_around(double s) {
  double const c = 2 * s, above = std::max(0.0, c - 1);
  return 2 * (c * c * c / 6 - above * above * above / 3) + 1 - c;
}
inline double const grown = std::exp(1.0) - 1, swung = std::sin(1.0);  // ∫ eˣ, ∫ cos x

}  // namespace detail

inline std::vector<SingularFamily> const& singular_families() {
  using namespace detail;
  static std::vector<double> const all = {1e-3, 1e-4, 1e-5, 1e-6}, coarse = {1e-3, 1e-4};
  static std::vector<SingularFamily> const families = {
      {"quarter power", "abs(v0-p0)^(-0.25)*exp(v1)", 2,
       [](double s, double) { return power_around(s, -0.25) * grown; }, all},
      {"quarter powers", "(abs(v0-p0)*abs(v1-p1))^(-0.25)", 2,
       [](double s, double t) { return power_around(s, -0.25) * power_around(t, -0.25); }, coarse},
      {"root and a fixed root", "sqrt(abs(v0-p0)*abs(v1-0.3))", 2,
       [](double s, double) { return power_around(s, 0.5) * power_around(0.3, 0.5); }, all},
      {"roots", "sqrt(abs(v0-p0)*abs(v1-p1))", 2,
       [](double s, double t) { return power_around(s, 0.5) * power_around(t, 0.5); }, all},
      {"kink", "abs(v0-p0)*exp(v1)", 2, [](double s, double) { return power_around(s, 1) * grown; },
       all},
      {"kinks", "abs(v0-p0)*abs(v1-p1)", 2,
       [](double s, double t) { return power_around(s, 1) * power_around(t, 1); }, all},
      {"ridge", "abs(v0+v1-2*p0)", 2, [](double s, double) { return ridge_around(s); }, all},
      {"step", "step(v0-p0)*exp(v1)", 2, [](double s, double) { return (1 - s) * grown; }, all},
      {"logarithm", "log(abs(v0-p0))*cos(v1)", 2,
       [](double s, double) { return logarithm_around(s) * swung; }, all},
      {"quarter power", "abs(v0-p0)^(-0.25)*exp(v1)*cos(v2)", 3,
       [](double s, double) { return power_around(s, -0.25) * grown * swung; }, coarse},
      {"roots", "sqrt(abs(v0-p0)*abs(v1-p1))*exp(v2)", 3,
       [](double s, double t) { return power_around(s, 0.5) * power_around(t, 0.5) * grown; },
       coarse},
      {"kinks", "abs(v0-p0)*abs(v1-p1)*exp(v2)", 3,
       [](double s, double t) { return power_around(s, 1) * power_around(t, 1) * grown; }, coarse},
      {"step", "step(v0-p0)*exp(v1)*cos(v2)", 3,
       [](double s, double) { return (1 - s) * grown * swung; }, coarse},
      {"logarithm", "log(abs(v0-p0))*cos(v1)*exp(v2)", 3,
       [](double s, double) { return logarithm_around(s) * swung * grown; }, coarse},
  };
  return families;
}

/// Sweeps of 60 places: the estimate is no less than the error at 95 % of them, and no less than a
/// third of it at the others.
inline void expect_estimates_hold(Stream& stream) {
  constexpr int places = 60;
  for (SingularFamily const& family : singular_families()) {
    auto const integrand = integrand_of(family.formula, family.dimensions, 2);
    std::vector<quadrature::Interval> const box(static_cast<std::size_t>(family.dimensions));
    for (double const tolerance : family.tolerances) {
      int too_small = 0;
      double worst = 0;
      for (int i = 1; i <= places; ++i) {
        double const s = 0.01 + 0.98 * std::fmod(i * 0.6180339887498949, 1.0);
        double const t = 0.01 + 0.98 * std::fmod(i * 0.7548776662466927, 1.0);
        auto const found = quadrature::cubature<double>(stream, integrand, box, std::vector{s, t},
                                                        {{tolerance, 0}});
        EXPECT_EQ(found.estimate.outcome, quadrature::Outcome::reached) << family.name << " " << s;
        double const error = std::abs(found.estimate.value - family.value(s, t));
        if (error > found.estimate.error) ++too_small;
        worst = std::max(worst, error / found.estimate.error);
      }
      EXPECT_LE(too_small, places / 20)
          << family.name << " in " << family.dimensions << "D to " << tolerance;
      EXPECT_LE(worst, 3) << family.name << " in " << family.dimensions << "D to " << tolerance;
    }
  }
}

}  // namespace gridstride::test
