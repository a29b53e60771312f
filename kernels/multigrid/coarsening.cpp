#include "kernels/multigrid/coarsening.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gridstride::multigrid {

bool Axis::has_coarser() const {
  int const most = (given[0] && given[1]) ? 3 : given[0] || given[1] ? 2 : 1;
  return periodic ? nodes() >= 2 : nodes() - 1 >= most;
}

double Axis::coupling() const {
  if (nodes() == 1) return 0;
  double const length = std::accumulate(intervals.begin(), intervals.end(), 0.0);
  double const mean = length / static_cast<double>(intervals.size());
  return 1 / (mean * mean);
}

std::array<double, 2> Axis::couplings(int unknown) const {
  int const node = unknown + first(), last = nodes() - 1;
  if (last == 0) return {0, 0};
  auto const of = [&](int interval) {
    return 1 /
           (intervals[static_cast<std::size_t>(interval)] * widths[static_cast<std::size_t>(node)]);
  };
  bool const below = node > 0 || periodic, above = node < last || periodic;
  return {below ? of(node > 0 ? node - 1 : last) : 0, above ? of(node) : 0};
}

Axis axis_of(Grid const& grid, poisson::Sides const& sides, int axis) {
  auto const i = static_cast<std::size_t>(axis);
  if (axis >= grid.dims) return {.intervals = {}, .widths = {1}};
  auto const nodes = static_cast<std::size_t>(grid.points[i]);
  double const h = grid.spacing[i];
  Axis result{.periodic = sides[i][0] == SideKind::periodic};
  for (std::size_t side = 0; side < 2; ++side)
    result.given[side] = sides[i][side] == SideKind::dirichlet;
  result.intervals.assign(result.periodic ? nodes : nodes - 1, h);
  result.widths.assign(nodes, h);
  if (!result.periodic) result.widths.front() = result.widths.back() = h / 2;
  return result;
}

namespace {

/// The nodes that are kept.
std::vector<int> kept_nodes(Axis const& fine) {
  int const intervals = static_cast<int>(fine.intervals.size());
  int wanted = (intervals + 1) / 2;
  if (fine.periodic && intervals > 2) wanted += wanted % 2;
  double const length = std::accumulate(fine.intervals.begin(), fine.intervals.end(), 0.0);
  std::vector<int> kept = {0};
  if (intervals <= (fine.periodic ? 2 : 1) && !fine.given[0] && !fine.given[1]) return kept;
  double at = 0;
  for (int taken = 1, node = 0; taken <= wanted; ++taken) {
    // Of those left so many are taken one by one, the others in twos.
    int const left = wanted - taken + 1, singles = 2 * left - (intervals - node);
    auto const step = [&](int i) { return fine.intervals[static_cast<std::size_t>(node + i)]; };
    double const even = length * taken / wanted;
    bool const single =
        singles == left ||
        (singles > 0 && std::abs(at + step(0) - even) <= std::abs(at + step(0) + step(1) - even));
    at += single ? step(0) : step(0) + step(1);
    node += single ? 1 : 2;
    if (taken < wanted || !fine.periodic) kept.push_back(node);
  }
  return kept;
}

}  // namespace

Coarser coarser(Axis const& fine) {
  auto const kept = kept_nodes(fine);
  auto const count = static_cast<int>(kept.size());
  int const nodes = fine.nodes();
  Coarser result{.axis = {.periodic = fine.periodic, .given = fine.given}};
  auto& [axis, transfer] = result;
  // By nodes first: which kept ones a node stands between, and what they count.
  std::vector<int> left(static_cast<std::size_t>(nodes)), right(left.size());
  std::vector<double> to_left(left.size()), to_right(left.size(), 0);
  axis.widths.assign(kept.size(), 0);
  for (int k = 0; k < count; ++k) {
    auto const at = static_cast<std::size_t>(kept[static_cast<std::size_t>(k)]);
    int const next = k + 1 < count ? kept[static_cast<std::size_t>(k) + 1] : nodes;
    left[at] = k, right[at] = -1, to_left[at] = 1;
    bool const is_last = k + 1 == count;
    double distance = at < fine.intervals.size() ? fine.intervals[at] : 0;
    if (next - static_cast<int>(at) == 2) {
      double const second = at + 1 < fine.intervals.size() ? fine.intervals[at + 1] : 0;
      bool const alone = is_last && !fine.periodic;
      left[at + 1] = k;
      right[at + 1] = alone ? -1 : (k + 1) % count;
      to_left[at + 1] = alone ? 1 : second / (distance + second);
      to_right[at + 1] = alone ? 0 : distance / (distance + second);
      distance += second;
    }
    if (!is_last || fine.periodic) axis.intervals.push_back(distance);
  }
  for (std::size_t node = 0; node < left.size(); ++node) {
    axis.widths[static_cast<std::size_t>(left[node])] += to_left[node] * fine.widths[node];
    if (right[node] >= 0)
      axis.widths[static_cast<std::size_t>(right[node])] += to_right[node] * fine.widths[node];
  }
  // By unknowns.
  int const offset = axis.first(), unknowns = axis.unknowns();
  auto const number = [&](int node) {
    int const unknown = node - offset;
    return node >= 0 && unknown >= 0 && unknown < unknowns ? unknown : -1;
  };
  transfer.gather.resize(static_cast<std::size_t>(unknowns));
  for (int i = 0; i < fine.unknowns(); ++i) {
    auto const node = static_cast<std::size_t>(i + fine.first());
    transfer.left.push_back(number(left[node]));
    transfer.right.push_back(number(right[node]));
    transfer.to_left.push_back(to_left[node]);
    transfer.to_right.push_back(to_right[node]);
    auto const share = [&](int coarse, std::size_t place, double weight) {
      if (number(coarse) < 0) return;
      double const width = axis.widths[static_cast<std::size_t>(coarse)];
      transfer.gather[static_cast<std::size_t>(number(coarse))][place] +=
          weight * fine.widths[node] / width;
    };
    if (kept[static_cast<std::size_t>(left[node])] == static_cast<int>(node)) {
      share(left[node], 1, 1);
    } else {
      share(left[node], 2, to_left[node]);
      share(right[node], 0, to_right[node]);
    }
  }
  for (int k = 0; k < unknowns; ++k)
    transfer.kept.push_back(kept[static_cast<std::size_t>(k + offset)] - fine.first());
  return result;
}

Coarser unchanged(Axis const& fine) {
  Coarser result{.axis = fine, .transfer = {}};
  auto const count = static_cast<std::size_t>(fine.unknowns());
  auto& transfer = result.transfer;
  transfer.left.resize(count);
  std::iota(transfer.left.begin(), transfer.left.end(), 0);
  transfer.kept = transfer.left;
  transfer.right.assign(count, -1);
  transfer.to_left.assign(count, 1);
  transfer.to_right.assign(count, 0);
  transfer.gather.assign(count, {0, 1, 0});
  return result;
}

Levels finest_of(Grid const& grid, poisson::Sides const& sides) {
  Levels levels;
  levels.axes.push_back(
      {axis_of(grid, sides, 0), axis_of(grid, sides, 1), axis_of(grid, sides, 2)});
  return levels;
}

Levels levels_of(Grid const& grid, poisson::Sides const& sides, int most_inverted) {
  // Point relaxation smooths along an axis as long as that has about this share of the strongest
  // coupling.
  constexpr double share = 0.6;
  Levels levels;
  levels.most_inverted = most_inverted;
  auto axes = finest_of(grid, sides).axes.front();
  for (;;) {
    levels.axes.push_back(axes);
    double strongest = 0, unknowns = 1;
    for (auto const& axis : axes) {
      unknowns *= axis.unknowns();
      if (axis.has_coarser()) strongest = std::max(strongest, axis.coupling());
    }
    if (strongest == 0 || unknowns <= most_inverted) return levels;
    levels.transfers.emplace_back();
    levels.changes.emplace_back();
    for (std::size_t i = 0; i < 3; ++i) {
      bool const changes = axes[i].has_coarser() && axes[i].coupling() >= share * strongest;
      auto next = changes ? coarser(axes[i]) : unchanged(axes[i]);
      levels.changes.back()[i] = changes;
      levels.transfers.back()[i] = std::move(next.transfer);
      axes[i] = std::move(next.axis);
    }
  }
}

}  // namespace gridstride::multigrid
