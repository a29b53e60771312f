// What values over the whole grid add to a linearisation: they tie all points to each other.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "equations/stability.hpp"

namespace gridstride::equations {

/// What a global is changed by, for each operand and component, first of all points alike: S where
/// that is a number and nothing else counts.
std::vector<Linearisation::Bound> Linearisation::bounds(std::span<Range const> values) const {
  std::size_t const n = components_;
  auto const most = [&](int place) {
    Range const range = range_of(values, place);
    return std::max(std::abs(range.least), std::abs(range.greatest));
  };
  auto const is_number = [&](int place) {
    return terms_.is_number(values_[static_cast<std::size_t>(place)]);
  };
  struct Change {
    double mean = 0, at_a_point = 0;  // at most
    std::optional<double> exact = {};
  };
  std::vector<Change> changes(operands_.size() * n);
  for (Entry const& entry : of_operands_.entries) {
    Change& change = changes[entry.row * n + entry.column];
    change.mean = change.at_a_point = most(entry.sum);
    if (is_number(entry.sum)) change.exact = range_of(values, entry.sum).least;
    for (Pair const& pair : entry.pairs)
      for (auto const& [place, factor] : {std::pair{pair.even, 4.0}, {pair.odd, 2.0}}) {
        change.at_a_point += factor * most(place);
        if (is_number(place)) continue;
        change.mean += factor * most(place);
        change.exact.reset();
      }
  }
  // |δG| of a number that is found, and what it is exactly.
  auto const change_of = [&](int found, std::size_t column) {
    Change const& change =
        changes[static_cast<std::size_t>(found / numbers_of_operand) * n + column];
    Kind const kind = global_kinds[found % numbers_of_operand];
    if (kind == Kind::least || kind == Kind::greatest) return Change{.mean = change.at_a_point};
    double const factor = kind == Kind::integral ? measure_ : 1;
    Change result = {.mean = factor * change.mean};
    if (change.exact) result.exact = factor * *change.exact;
    return result;
  };
  for (Coupling const& coupling : of_operands_.couplings)
    for (std::size_t column = 0; column < n; ++column) {
      double const more = most(coupling.slope) * change_of(coupling.found, column).mean;
      if (more == 0) continue;
      Change& change = changes[coupling.row * n + column];
      change.mean += more;
      change.at_a_point += more;
      change.exact.reset();
    }
  std::vector<Bound> result(n * n);
  for (Coupling const& coupling : of_rates_.couplings)
    for (std::size_t column = 0; column < n; ++column) {
      Change const change = change_of(coupling.found, column);
      Bound& bound = result[coupling.row * n + column];
      if (change.exact && is_number(coupling.slope)) {
        double const product = range_of(values, coupling.slope).least * *change.exact;
        bound.exact.least += std::min(product, 0.0);
        bound.exact.greatest += std::max(product, 0.0);
      } else {
        bound.radius += most(coupling.slope) * change.mean;
      }
    }
  return result;
}

}  // namespace gridstride::equations
