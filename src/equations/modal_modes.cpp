// The modes that a grid has, and where operators vanish on them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "equations/modal_split_parts.hpp"

namespace gridstride::equations {

ModalSystem empty_system(System const& system, ModalSpace const& space,
                         std::vector<BeyondSides> const& sides) {
  auto const components = static_cast<std::ptrdiff_t>(system.component_count());
  ModalSystem result;
  result.symbols = space.symbols;
  result.order = space.order;
  result.unknown_sides.assign(sides.begin(), sides.begin() + components);
  result.linear.resize(static_cast<std::size_t>(components));
  result.rest.resize(static_cast<std::size_t>(components));
  result.held.resize(system.constraints.size());
  result.held_sides.assign(sides.begin() + components, sides.end());
  result.dealias = space.dealias;
  return result;
}

std::vector<AxisMode> modes_of(Grid const& grid, int axis, std::array<Beyond, 2> const& sides) {
  auto const points = grid.points[static_cast<std::size_t>(axis)];
  double const n = static_cast<double>(points), pi = std::numbers::pi;
  std::vector<AxisMode> modes;
  if (axis >= grid.dims) return {{0, 0, false}};
  if (sides[0] == Beyond::periodic) {
    for (std::int64_t k = -((points - 1) / 2); 2 * k <= points; ++k)
      modes.push_back(
          {static_cast<double>(k), 2 * pi * static_cast<double>(k) / n, 2 * k == points});
    return modes;
  }
  bool const mixed = sides[0] != sides[1];
  bool const sines = sides[0] == Beyond::odd;
  std::int64_t const first = !mixed && sines ? 1 : 0;
  std::int64_t const end = mixed || sines ? points - 1 : points;
  for (std::int64_t i = first; i < end; ++i) {
    double const halves = static_cast<double>(i) + (mixed ? 0.5 : 0);  // waves over the axis
    modes.push_back({halves / 2, pi * halves / (n - 1), false});
  }
  return modes;
}

namespace {

/// Whether all terms of an operator of even orders push the same way for every mode.
bool is_definite(Operator const& of) {
  int positive = 0, negative = 0;
  for (auto const& [orders, coefficient] : of) {
    int total = 0;
    for (std::int8_t const order : orders) {
      if (order % 2 != 0) return false;
      total += order;
    }
    ++((coefficient > 0) == (total % 4 == 0) ? positive : negative);
  }
  return positive == 0 || negative == 0;
}

bool has_constant(Operator const& of) { return of.contains(Orders{}); }

std::string mode_text(std::array<AxisMode, 3> const& mode, int dims) {
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis)
    axes.push_back(fmt::format("{:g} wave{} along {}", std::abs(mode[axis].waves),
                               std::abs(mode[axis].waves) == 1 ? "" : "s", axis_names[axis]));
  return fmt::format("{}", fmt::join(axes, ", "));
}

/// What of a constraint has a mean, beside some fields: nothing that is differentiated.
Term mean_of(System& system, Term constraint, std::vector<int> const& fields) {
  auto& terms = system.terms;
  int const count = system.component_count();
  FormFinder forms(terms, count);
  forms.add(constraint);
  Form const form = forms.of(constraint);
  Term sum = terms.number(0);
  auto const add = [&](double coefficient, Term term) {
    sum = terms.add(sum, terms.multiply(terms.number(coefficient), term));
  };
  for (auto const& [derived, coefficient] : form.linear) {
    bool const is_unknown = derived.component < count;
    if (derived.orders != Orders{} ||
        (!is_unknown && std::ranges::count(fields, derived.component - count) > 0))
      continue;
    add(coefficient,
        is_unknown ? terms.unknown(derived.component) : terms.name(derived.component - count));
  }
  for (auto const& [derived, coefficient] : form.products)
    if (derived.orders == Orders{}) add(coefficient, derived.product);
  return sum;
}

}  // namespace

std::string resonance_of(Operator const& of, Grid const& grid, ModalSpace const& space,
                         BeyondSides const& sides) {
  if (is_definite(of) && has_constant(of)) return "";
  std::array<std::vector<AxisMode>, 3> axes;
  std::size_t highest = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    axes[axis] = modes_of(grid, static_cast<int>(axis), sides[axis]);
  for (auto const& [orders, coefficient] : of)
    for (std::int8_t const order : orders) highest = std::max(highest, std::size_t(order));
  // Symbols of each axis; a definite operator vanishes where all its terms do, at the first modes.
  std::array<std::vector<std::vector<std::complex<double>>>, 3> symbols;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (is_definite(of)) {
      std::erase_if(axes[axis], [](AxisMode const& mode) { return std::abs(mode.waves) > 1; });
    }
    for (AxisMode const& mode : axes[axis]) {
      auto& row = symbols[axis].emplace_back();
      for (std::size_t m = 0; m <= highest; ++m)
        row.push_back(symbol_of(space.symbols, space.order, static_cast<int>(m), mode.angle,
                                mode.is_nyquist, grid.spacing[axis]));
    }
  }
  for (std::size_t z = 0; z < axes[2].size(); ++z)
    for (std::size_t y = 0; y < axes[1].size(); ++y)
      for (std::size_t x = 0; x < axes[0].size(); ++x) {
        std::array<AxisMode, 3> const mode = {axes[0][x], axes[1][y], axes[2][z]};
        if (std::ranges::all_of(mode, [](AxisMode const& one) { return one.waves == 0; })) continue;
        std::complex<double> sum = 0;
        double size = 0;
        for (auto const& [orders, coefficient] : of) {
          auto const term = coefficient * symbols[0][x][static_cast<std::size_t>(orders[0])] *
                            symbols[1][y][static_cast<std::size_t>(orders[1])] *
                            symbols[2][z][static_cast<std::size_t>(orders[2])];
          sum += term;
          size += std::abs(term);
        }
        constexpr double rounding = 1e-14;
        if (std::abs(sum) <= rounding * size) return mode_text(mode, grid.dims);
      }
  return "";
}

ModalSplit split_into_modes(System const& system, Grid const& grid, ModalSpace const& space,
                            std::vector<BeyondSides> const& sides) {
  using In = ModalError::In;
  ConstraintSolution solution;
  ModalSplit result;
  result.system = space.symbols == Symbols::exact
                      ? split_exactly(system, space, sides, solution)
                      : split_differences(system, grid, space, sides, solution);
  System known = system;  // without the fields that constraints hold
  for (auto const& block : solution.blocks) {
    auto const& of = sides[static_cast<std::size_t>(system.component_count() + block.fields[0])];
    auto const resonance = resonance_of(block.determinant, grid, space, of);
    if (!resonance.empty())
      throw ModalError(
          In::constraint, block.constraints.front(),
          fmt::format("it leaves a mode of '{}' open, the one with {}, which could "
                      "have any size",
                      system.names[static_cast<std::size_t>(block.fields[0])].name.name,
                      resonance));
    bool const has_mean = std::ranges::all_of(
        of, [](auto const& ends) { return std::ranges::count(ends, Beyond::odd) == 0; });
    if (!has_mean || has_constant(block.determinant)) continue;
    for (int const constraint : block.constraints) {
      result.balances.push_back(
          mean_of(known, known.constraints[static_cast<std::size_t>(constraint)], block.fields));
      result.balanced.push_back(constraint);
    }
  }
  result.terms = std::move(known.terms);
  return result;
}

}  // namespace gridstride::equations
