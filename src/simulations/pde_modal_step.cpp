// How long a step may be for what is linear, by explicit schemes in modes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <mutex>
#include <numbers>

#include "core/processors.hpp"
#include "core/thread_pool.hpp"
#include "equations/eigenvalues.hpp"
#include "equations/modal_operators.hpp"
#include "equations/stable_step.hpp"
#include "model/modal_scheme.hpp"
#include "model/step_clock.hpp"
#include "simulations/pde_modes.hpp"
#include "simulations/pde_schemes.hpp"

namespace gridstride::pde {
namespace {

using equations::AxisMode;
using equations::ModalPart;
using equations::ModalSystem;
using Complex = std::complex<double>;

/// The symbols of L, from those of each axis.
class LinearSymbols {
 public:
  LinearSymbols(ModalSystem const& system, Grid const& grid) : system_(system) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      modes_[axis] = equations::modes_of(grid, static_cast<int>(axis), sides_along(axis));
      // Of a mode and that of −k along all axes eigenvalues are conjugates.
      bool const is_even = axis == 0 || has_even_orders(axis);
      std::erase_if(modes_[axis], [&](AxisMode const& mode) {
        bool const is_dropped = system.dealias[axis] < 1 &&
                                std::abs(mode.angle) >= system.dealias[axis] * std::numbers::pi;
        return is_dropped || (is_even && mode.angle < 0);
      });
      for (AxisMode const& mode : modes_[axis])
        largest_[axis] = std::max(largest_[axis], std::abs(mode.angle));
      for (AxisMode const& mode : modes_[axis]) {
        auto& powers = symbols_[axis].emplace_back();
        for (int m = 0; m <= equations::max_order; ++m)
          powers.push_back(equations::symbol_of(system.symbols, system.order, m, mode.angle,
                                                mode.is_nyquist, grid.spacing[axis]));
      }
    }
  }

  std::size_t count(std::size_t axis) const { return modes_[axis].size(); }

  /// Whether it is one of the shorter half along some axis.
  bool is_short(std::array<std::size_t, 3> const& mode) const {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (2 * std::abs(modes_[axis][mode[axis]].angle) > largest_[axis]) return true;
    return false;
  }

  /// Hands on those of L for a mode.
  template <class Use>
  void each_eigenvalue(std::array<std::size_t, 3> const& mode, Use const& use) const {
    if (system_.linear.size() == 1) {
      Complex sum = 0;
      for (ModalPart const& part : system_.linear[0]) sum += quotient(part, mode);
      return use(sum);
    }
    for (Complex const one : equations::eigenvalues(matrix(mode))) use(one);
  }

 private:
  /// L of a mode. Derivatives of odd order between sides make sines of cosines: with i in the place
  /// of that the matrix has the same eigenvalues.
  equations::Matrix matrix(std::array<std::size_t, 3> const& mode) const {
    equations::Matrix result(system_.linear.size());
    for (std::size_t row = 0; row < system_.linear.size(); ++row)
      for (ModalPart const& part : system_.linear[row])
        result(row, static_cast<std::size_t>(part.quantity)) += quotient(part, mode);
    return result;
  }

  /// Where some fields have sines and others cosines, those of cosines, which are two more.
  std::array<equations::Beyond, 2> sides_along(std::size_t axis) const {
    auto const& all = system_.unknown_sides;
    auto const sides = all.front()[axis];
    bool const are_alike = std::ranges::all_of(
        all, [&](equations::BeyondSides const& other) { return other[axis] == sides; });
    if (are_alike || sides[0] != sides[1]) return sides;
    return {equations::Beyond::even, equations::Beyond::even};
  }

  bool has_even_orders(std::size_t axis) const {
    auto const is_even = [&](equations::Operator const& of) {
      return std::ranges::all_of(of, [&](auto const& one) { return one.first[axis] % 2 == 0; });
    };
    return std::ranges::all_of(system_.linear, [&](equations::ModalSum const& sum) {
      return std::ranges::all_of(sum, [&](ModalPart const& part) {
        return is_even(part.numerator) && is_even(part.denominator);
      });
    });
  }

  /// 0 where the denominator is.
  Complex quotient(ModalPart const& part, std::array<std::size_t, 3> const& mode) const {
    Complex const below = part.denominator.empty() ? 1 : symbol(part.denominator, mode);
    return below == 0.0 ? 0 : symbol(part.numerator, mode) / below;
  }

  Complex symbol(equations::Operator const& of, std::array<std::size_t, 3> const& mode) const {
    Complex sum = 0;
    for (auto const& [orders, coefficient] : of) {
      Complex product = coefficient;
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (orders[axis] != 0)
          product *= symbols_[axis][mode[axis]][static_cast<std::size_t>(orders[axis])];
      sum += product;
    }
    return sum;
  }

  ModalSystem const& system_;
  std::array<std::vector<AxisMode>, 3> modes_;
  std::array<double, 3> largest_ = {0, 0, 0};  // angle of an axis
  std::array<std::vector<std::vector<Complex>>, 3> symbols_;
};

/// What grows does so by any step; only what turns or decays limits one.
double limit_of(Complex eigenvalue, equations::Region const& region) {
  constexpr double rounding = 1e-12;  // beside which a real part counts as none
  double const size = std::abs(eigenvalue);
  if (size == 0) return std::numeric_limits<double>::infinity();
  Complex z = {std::min(eigenvalue.real(), 0.0), std::abs(eigenvalue.imag())};
  if (std::abs(z.real()) <= rounding * size) z = {0, z.imag()};
  if (z.imag() <= rounding * size) z = {z.real(), 0};
  if (z == 0.0) return std::numeric_limits<double>::infinity();
  constexpr double hopeless = 1e-3;  // a region that reaches no further has none of this direction
  double const reach = region.along(z);
  return reach < hopeless ? 0 : reach / std::abs(z);
}

}  // namespace

/// What modes make of L, over all of them.
LinearExtremes linear_extremes(ModalSystem const& system, Grid const& grid, int degree) {
  LinearSymbols const symbols(system, grid);
  auto const& region = equations::region_of(degree);
  LinearExtremes all;
  std::mutex guard;
  auto const look = [&](std::int64_t first, std::int64_t end) {
    LinearExtremes found;
    for (std::int64_t row = first; row < end; ++row)
      for (std::size_t x = 0; x < symbols.count(0); ++x) {
        auto const r = static_cast<std::size_t>(row);
        std::array const mode = {x, r % symbols.count(1), r / symbols.count(1)};
        double& growth = symbols.is_short(mode) ? found.growth_of_short : found.growth_of_long;
        symbols.each_eigenvalue(mode, [&](Complex const& one) {
          found.longest_step = std::min(found.longest_step, limit_of(one, region));
          growth = std::max(growth, one.real());
          found.largest = std::max(found.largest, std::abs(one));
        });
      }
    std::scoped_lock const lock(guard);
    all.longest_step = std::min(all.longest_step, found.longest_step);
    all.growth_of_short = std::max(all.growth_of_short, found.growth_of_short);
    all.growth_of_long = std::max(all.growth_of_long, found.growth_of_long);
    all.largest = std::max(all.largest, found.largest);
  };
  using Look = decltype(look);
  share_out(static_cast<std::int64_t>(symbols.count(1) * symbols.count(2)), host_threads(),
            {&look, [](void const* body, std::int64_t first, std::int64_t last) {
               (*static_cast<Look const*>(body))(first, last);
             }});
  return all;
}

double modal_step(config::RunConfig const& run) {
  double const step = *run.time.step;
  bool const is_implicit = is_implicit_in_modes(run.time.scheme);
  auto const found =
      linear_extremes(modal_split_of(run).system, run.grid, is_implicit ? 1 : degree_of(run));
  auto const refuse = [&](config::Location const& location, std::string const& why) {
    throw ConfigError({run.problem(location, why)});
  };
  // As much more than half the wave number makes of a square.
  constexpr double most_growth = 1.5;
  // Of eigenvalues that a matrix has several times, beside the largest one.
  constexpr double rounding = 1e-6;
  if (found.growth_of_short > rounding * found.largest &&
      found.growth_of_short > most_growth * std::max(found.growth_of_long, 0.0))
    refuse(run.location("equations"),
           fmt::format("the shortest waves of the grid grow fastest, by {:.4g} 1/s, and faster "
                       "still on a finer grid, which no scheme can follow (is a sign wrong, as "
                       "that of -laplace(u), or the grid too coarse for what damps them?)",
                       found.growth_of_short));
  double const growth = std::max(found.growth_of_short, found.growth_of_long);
  if (is_implicit && run.time.scheme != "etdrk4" && step * growth >= 1)
    refuse(run.time.step_location,
           fmt::format("{} s is longer than what grows takes to grow by e, {:.6g} s, which {} "
                       "cannot follow (etdrk4 takes what is linear exactly)",
                       step, 1 / growth, run.time.scheme));
  if (is_implicit) return step;
  if (found.longest_step == 0)
    refuse(run.location("time.scheme"),
           fmt::format("{} is not stable for what is linear in these equations, whatever the step "
                       "(they have waves that are hardly damped); rk4, and those that take it by "
                       "itself, as etdrk4, are",
                       run.time.scheme));
  if (is_over(step, found.longest_step))
    refuse(run.time.step_location,
           fmt::format("{} s is over the stability limit of {:.6g} s ({}, for what is linear; "
                       "imex_euler, imex_bdf2, ark3 and etdrk4 take that by itself)",
                       step, found.longest_step, run.time.scheme));
  return step;
}

}  // namespace gridstride::pde
