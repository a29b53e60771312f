#include "simulations/wave_sources.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace gridstride::wave {

namespace {

/// A point of an axis, and what part of the source falls to it, over the spacing.
struct Share {
  std::int64_t index;
  double weight;
};

std::vector<Share> shares_along(Grid const& grid, int axis, std::array<SideKind, 2> const& sides,
                                double coordinate) {
  std::int64_t const points = grid.points[axis];
  double const place = (coordinate - grid.origin[axis]) / grid.spacing[axis];
  double lower = std::floor(place), part = place - lower;
  // A point that is meant is met, whatever its coordinate was rounded to.
  constexpr double rounding = 1e-9;
  if (part > 1 - rounding) {
    lower += 1;
    part = 0;
  }
  if (part < rounding) part = 0;
  std::vector<Share> shares;
  for (Share share : {Share{static_cast<std::int64_t>(lower), 1 - part},
                      Share{static_cast<std::int64_t>(lower) + 1, part}}) {
    if (share.weight == 0) continue;
    share.index = sides[0] == SideKind::periodic
                      ? share.index % points
                      : std::clamp<std::int64_t>(share.index, 0, points - 1);
    share.weight /= grid.spacing[axis];
    for (int side = 0; side < 2; ++side) {
      if (share.index != (side == 0 ? 0 : points - 1)) continue;
      if (sides[side] == SideKind::fixed) share.weight = 0;
      if (sides[side] == SideKind::free) share.weight *= 2;  // half a cell
    }
    if (share.weight != 0) shares.push_back(share);
  }
  return shares;
}

}  // namespace

std::vector<star::RickerTerm> ricker_terms(config::RunConfig const& run, Inputs const& inputs) {
  Grid const& grid = run.grid;
  std::vector<star::RickerTerm> terms;
  if (parameters_of(run).ricker.empty()) return terms;
  std::array<std::vector<double>, 3> sigma;
  for (int axis = 0; axis < grid.dims; ++axis) sigma[axis] = damping_of(run, inputs, axis);
  for (Ricker const& source : parameters_of(run).ricker) {
    std::vector<star::RickerTerm> partial = {
        {0, source.amplitude, source.frequency, source.delay_or_default(), 0}};
    std::int64_t stride = 1;
    for (int axis = 0; axis < grid.dims; ++axis) {
      std::vector<star::RickerTerm> finer;
      auto const shares =
          shares_along(grid, axis, sides_of(run, axis), source.at[static_cast<std::size_t>(axis)]);
      for (auto const& term : partial)
        for (auto const& [index, weight] : shares) {
          finer.push_back(term);
          finer.back().offset += index * stride;
          finer.back().weight *= weight;
          if (!sigma[axis].empty())
            finer.back().damping += sigma[axis][static_cast<std::size_t>(index)];
        }
      partial = std::move(finer);
      stride *= grid.points[axis];
    }
    terms.insert(terms.end(), partial.begin(), partial.end());
  }
  std::ranges::stable_sort(terms, {}, &star::RickerTerm::offset);
  return terms;
}

}  // namespace gridstride::wave
