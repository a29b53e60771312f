#include "kernels/modes/symbols.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>

#include "equations/differences.hpp"

namespace gridstride::modes {

using equations::Beyond;
using equations::BeyondSides;

std::array<fft::Kind, 3> kinds_of(Grid const& grid, BeyondSides const& sides) {
  std::array<fft::Kind, 3> kinds = {fft::Kind::none, fft::Kind::none, fft::Kind::none};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis) {
    auto const [lower, upper] = sides[axis];
    if ((lower == Beyond::periodic) != (upper == Beyond::periodic))
      throw std::invalid_argument("modes: one side of an axis alone is periodic");
    kinds[axis] = lower == Beyond::periodic ? fft::Kind::periodic
                  : lower == Beyond::odd    ? (upper == Beyond::odd ? fft::Kind::dirichlet_dirichlet
                                                                    : fft::Kind::dirichlet_neumann)
                  : upper == Beyond::odd    ? fft::Kind::neumann_dirichlet
                                            : fft::Kind::neumann_neumann;
  }
  return kinds;
}

Extent extent_of(fft::Kind kind, std::int64_t points) {
  switch (kind) {
    case fft::Kind::dirichlet_dirichlet:
      return {1, points - 2, points, 1};
    case fft::Kind::dirichlet_neumann:
      return {1, points - 1, points - 1, 0};
    case fft::Kind::neumann_dirichlet:
      return {0, points - 1, points - 1, 0};
    default:
      return {0, points, points, 0};
  }
}

int halved_axis(Grid const& grid, BeyondSides const& sides) {
  for (int axis = 0; axis < grid.dims; ++axis)
    if (sides[static_cast<std::size_t>(axis)][0] == Beyond::periodic) return axis;
  return -1;
}

namespace {

/// The angle from point to point of mode i of the axis, of waves less than 0 for those beyond the
/// middle.
double angle_of(fft::Kind kind, std::int64_t points, std::int64_t modes, std::int64_t i) {
  double const pi = std::numbers::pi;
  switch (kind) {
    case fft::Kind::periodic: {
      std::int64_t const k = 2 * i <= points ? i : i - points;
      return 2 * pi * static_cast<double>(k) / static_cast<double>(points);
    }
    case fft::Kind::dirichlet_neumann:
    case fft::Kind::neumann_dirichlet:
      return pi * static_cast<double>(2 * i + 1) / static_cast<double>(2 * modes);
    case fft::Kind::none:
      return 0;
    default:
      return pi * static_cast<double>(i) / static_cast<double>(points - 1);
  }
}

}  // namespace

Layout layout_of(Grid const& grid, BeyondSides const& sides, std::array<double, 3> const& keep) {
  Layout layout;
  auto const kinds = kinds_of(grid, sides);
  int const halved = halved_axis(grid, sides);
  layout.is_complex = halved >= 0;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis) {
    std::int64_t const points = grid.points[axis], modes = extent_of(kinds[axis], points).modes;
    bool const is_wave = kinds[axis] == fft::Kind::periodic;
    bool const is_half = static_cast<int>(axis) == halved;
    // What a bound is above its rounding.
    double const bound = keep[axis] * std::numbers::pi * (1 - 1e-12);
    auto const is_kept = [&](std::int64_t i) {
      return keep[axis] >= 1 || std::abs(angle_of(kinds[axis], points, modes, i)) < bound;
    };
    std::int64_t below = 0, above = 0;
    std::int64_t const first_half = is_wave ? points / 2 + 1 : modes;
    while (below < first_half && is_kept(below)) ++below;
    if (is_wave && !is_half)
      while (above < points - first_half && is_kept(points - 1 - above)) ++above;
    layout.full[axis] = is_half ? points / 2 + 1 : modes;
    layout.below[axis] = below;
    layout.kept[axis] = below + above;
    if (layout.kept[axis] == 0) throw std::invalid_argument("modes: no mode is kept");
  }
  return layout;
}

namespace {

/// What two points at ±k apart make of the wave, over h^m, without the i of odd orders.
double first_symbol(equations::Symbols symbols, int order, double angle) {
  if (symbols == equations::Symbols::exact) return angle;
  auto const& pairs = equations::differences_of(order).first;
  double sum = 0;
  for (std::size_t k = 0; k < pairs.weights.size(); ++k)
    sum += pairs.weights[k] * std::sin(static_cast<double>(k + 1) * angle);
  return 2 * sum / pairs.divisor;
}
double second_symbol(equations::Symbols symbols, int order, double angle) {
  if (symbols == equations::Symbols::exact) return -angle * angle;
  auto const& pairs = equations::differences_of(order).second;
  double sum = 0;
  for (std::size_t k = 0; k < pairs.weights.size(); ++k) {
    double const root = std::sin(static_cast<double>(k + 1) * angle / 2);
    sum -= 4 * pairs.weights[k] * root * root;
  }
  return sum / pairs.divisor;
}

/// Rows of the orders 0 to `highest` of the kept modes of an axis.
std::vector<double> symbol_rows(Grid const& grid, Layout const& layout, fft::Kind kind,
                                std::size_t axis, int highest, equations::Symbols symbols,
                                int order) {
  std::vector<double> rows;
  std::int64_t const kept = layout.kept[axis], full = layout.full[axis];
  std::int64_t const modes = extent_of(kind, grid.points[axis]).modes;
  double const h = grid.spacing[axis];
  for (int m = 0; m <= highest; ++m)
    for (std::int64_t i = 0; i < kept; ++i) {
      std::int64_t const at = i < layout.below[axis] ? i : i + full - kept;
      double const angle = angle_of(kind, grid.points[axis], modes, at);
      bool const is_last =
          kind == fft::Kind::periodic ? 2 * at == grid.points[axis] : angle >= std::numbers::pi;
      double value = 1;
      for (int pair = 0; pair < m / 2; ++pair)
        value *= second_symbol(symbols, order, angle) / (h * h);
      if (m % 2 != 0) value *= is_last ? 0 : first_symbol(symbols, order, angle) / h;
      rows.push_back(value);
    }
  return rows;
}

template <class T>
Buffer<T> uploaded(Stream& stream, std::vector<T> const& values) {
  Buffer<T> buffer(stream, MemorySpace::device, std::max<std::size_t>(1, values.size()));
  copy_async(buffer.span().first(values.size()), std::span<T const>(values), stream);
  return buffer;
}

}  // namespace

SumList::SumList(Stream& stream, Grid const& grid, Layout const& layout, equations::Symbols symbols,
                 int order, std::span<equations::ModalSum const> sums,
                 std::span<Quantity const> unknowns, std::span<Quantity const> products) {
  int const count = static_cast<int>(unknowns.size());
  for (auto const& sum : sums) {
    for (auto const& part : sum) {
      bool const is_product = part.quantity >= count;
      int const number = is_product ? part.quantity - count : part.quantity;
      auto const& quantities = is_product ? products : unknowns;
      if (number < 0 || number >= std::ssize(quantities))
        throw std::invalid_argument("modes: a sum has a quantity that there is not");
      add(part, quantities[static_cast<std::size_t>(number)], number, is_product, grid, layout);
    }
    ends_.push_back(static_cast<int>(parts_.size()));
  }
  auto const kinds = kinds_of(grid, unknowns.front().sides);
  std::array<std::vector<double>, 3> rows;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    rows[axis] = symbol_rows(grid, layout, kinds[axis], axis, orders_[axis], symbols, order);
    device_symbols_[axis] = uploaded(stream, rows[axis]);
  }
  device_monomials_ = uploaded(stream, monomials_);
  device_parts_ = uploaded(stream, parts_);
  device_ends_ = uploaded(stream, ends_);
  stream.synchronize();
}

void SumList::add(equations::ModalPart const& part, Quantity const& quantity, int number,
                  bool is_product, Grid const& grid, Layout const& layout) {
  Part made{.quantity = number,
            .is_product = is_product ? 1 : 0,
            .numerator = add(part.numerator, quantity, quantity.factor),
            .denominator = add(part.denominator, quantity, 1),
            .begin = {},
            .end = {}};
  auto const kinds = kinds_of(grid, quantity.sides);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    auto const extent = extent_of(kinds[axis], grid.points[axis]);
    bool const is_sine = kinds[axis] == fft::Kind::dirichlet_dirichlet;
    made.begin[axis] = is_sine ? extent.first_mode : 0;
    made.end[axis] = is_sine ? std::min(layout.kept[axis], extent.first_mode + extent.points)
                             : layout.kept[axis];
  }
  parts_.push_back(made);
}

Range SumList::add(equations::Operator const& polynomial, Quantity const& quantity, double factor) {
  Range range{static_cast<int>(monomials_.size()), static_cast<int>(monomials_.size())};
  for (auto const& [orders, coefficient] : polynomial) {
    Monomial one{.coefficient = coefficient * factor, .orders = {}, .is_imaginary = 0};
    int imaginary = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      one.orders[axis] = orders[axis];
      orders_[axis] = std::max<int>(orders_[axis], orders[axis]);
      if (orders[axis] % 2 == 0) continue;
      auto const lower = quantity.sides[axis][0];
      even_[axis] = even_[axis] && lower != Beyond::periodic;
      if (lower == Beyond::periodic) ++imaginary;
      if (lower == Beyond::even) one.coefficient = -one.coefficient;
    }
    // i^1 = i, i² = −1, i³ = −i
    one.is_imaginary = imaginary % 2;
    if (imaginary >= 2) one.coefficient = -one.coefficient;
    monomials_.push_back(one);
    ++range.last;
  }
  return range;
}

Sums SumList::sums() const {
  return {
      .along = {device_symbols_[0].data(), device_symbols_[1].data(), device_symbols_[2].data()},
      .monomials = device_monomials_.data(),
      .parts = device_parts_.data(),
      .ends = device_ends_.data()};
}

std::string SumList::text() const {
  std::string monomials, parts;
  for (auto const& [coefficient, orders, is_imaginary] : monomials_)
    monomials +=
        fmt::format("{{{}, {{{}}}, {}}}, ", coefficient, fmt::join(orders, ", "), is_imaginary);
  for (Part const& part : parts_)
    parts += fmt::format("{{{}, {}, {{{}, {}}}, {{{}, {}}}, {{{}}}, {{{}}}}}, ", part.quantity,
                         part.is_product, part.numerator.first, part.numerator.last,
                         part.denominator.first, part.denominator.last, fmt::join(part.begin, ", "),
                         fmt::join(part.end, ", "));
  return fmt::format(
      "constexpr Monomial monomials[] = {{{}}};\n"
      "constexpr Part parts[] = {{{}}};\n"
      "constexpr int ends[] = {{{}}};\n",
      monomials.empty() ? "{}" : monomials, parts.empty() ? "{}" : parts, fmt::join(ends_, ", "));
}

bool SumList::has_own_products(int count) const {
  if (size() != count) return false;
  for (int sum = 0; sum < count; ++sum) {
    auto const s = static_cast<std::size_t>(sum);
    auto const of_products = [](Part const& part) { return part.is_product != 0; };
    auto const first = parts_.begin() + ends_[s], last = parts_.begin() + ends_[s + 1];
    auto const found = std::find_if(first, last, of_products);
    if (std::count_if(first, last, of_products) != 1 || found->quantity != sum) return false;
  }
  return true;
}

bool SumList::is_complex(int sum) const {
  auto const has = [this](Range const& range) {
    return std::any_of(monomials_.begin() + range.first, monomials_.begin() + range.last,
                       [](Monomial const& one) { return one.is_imaginary != 0; });
  };
  auto const s = static_cast<std::size_t>(sum);
  return std::any_of(
      parts_.begin() + ends_[s], parts_.begin() + ends_[s + 1],
      [&](Part const& part) { return has(part.numerator) || has(part.denominator); });
}

}  // namespace gridstride::modes
