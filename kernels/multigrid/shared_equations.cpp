#include "kernels/multigrid/shared_equations.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace gridstride::multigrid {

std::int64_t equation_values(int x, int y, int slowest) {
  std::int64_t const n = x, m = slowest == 2 ? y : 1;
  // Masses, and faces along x, the slowest axis and the other one.
  std::int64_t const equations = 2 * n * m + (n + 1) * m + (slowest == 2 ? n * (m + 1) : 0);
  // Of half the size of a number at most, in rows as a level has them.
  return std::max(equations, slowest == 2 ? (n + 15) * (m + 2) / 2 + 1 : 0);
}

namespace {

/// Values of a plane along the slowest axis: of masses, or of faces along an axis.
constexpr int masses = -1;
template <class S>
std::int64_t plane_of(Stored<S> const& held, int slowest, int faces) {
  std::int64_t const n = held.count[0] + (faces == 0 ? 1 : 0);
  return slowest == 2 ? n * (held.count[1] + (faces == 1 ? 1 : 0)) : n;
}

template <class S>
RankPieces ways_for(Stream const& stream, RankPlanes const& planes, Shares const& shares,
                    std::span<Level<S> const> levels) {
  std::vector<std::int64_t> values;
  for (std::size_t l = 0; l < shares.cuts.size(); ++l)
    values.push_back(equation_values(levels[l].count[0], levels[l].count[1], shares.axis));
  auto const [beside, all] = sent_bytes(shares, values, sizeof(S), equations_more);
  return {planes, stream, std::max(beside, sizeof(S)), all};
}

}  // namespace

template <class S>
SharedEquations<S>::SharedEquations(Stream const& stream, RankPlanes const& planes,
                                    Shares const& shares, std::span<Level<S> const> levels)
    : shares_(shares),
      rank_(planes.ranks().rank()),
      ways_(ways_for(stream, planes, shares, levels)) {}

template <class S>
Stored<S> SharedEquations<S>::own(std::size_t level, Stored<S> held) const {
  Window const window = shares_.window(level, rank_);
  int const before = window.own_first - window.first;
  held.mass += before * plane_of(held, shares_.axis, masses);
  for (int axis = 0; axis <= shares_.axis; ++axis)
    held.face[axis] += before * plane_of(held, shares_.axis, axis);
  held.count[shares_.axis] = window.own();
  held.periodic[shares_.axis] = false;
  return held;
}

/// Of planes by their numbers on the level, with the faces before them along the slowest axis, and
/// perhaps those at their end.
template <class S>
RankPieces::Pieces SharedEquations<S>::pieces(std::size_t level, Stored<S> const& held, int first,
                                              int end, bool with_end) const {
  std::int64_t const before = first - shares_.window(level, rank_).first;
  RankPieces::Pieces all;
  auto const add = [&](S* values, std::int64_t plane, int planes) {
    all.push_back(std::as_writable_bytes(
        std::span(values + before * plane, static_cast<std::size_t>(planes * plane))));
  };
  add(held.mass, plane_of(held, shares_.axis, masses), end - first);
  for (int axis = 0; axis <= shares_.axis; ++axis)
    add(held.face[axis], plane_of(held, shares_.axis, axis),
        end - first + (with_end && axis == shares_.axis ? 1 : 0));
  return all;
}

template <class S>
template <class Pieces>
void SharedEquations<S>::exchange(Stream& stream, std::size_t level, Pieces const& pieces) {
  Window const own = shares_.window(level, rank_);
  std::array<RankPieces::Pieces, 2> sent, received;
  if (own.first < own.own_first) {
    sent[0] = pieces(own.own_first, own.own_first + shares_.beside, true);
    received[0] = pieces(own.first, own.own_first, false);
  }
  if (own.end > own.own_end) {
    sent[1] = pieces(own.own_end - shares_.wanted_above(own), own.own_end, false);
    received[1] = pieces(own.own_end, own.end, true);
  }
  ways_.exchange(stream, sent, received);
}

template <class S>
void SharedEquations<S>::complete(Stream& stream, std::size_t level,
                                  StoreWeights<S> const& weights) {
  std::int64_t const plane = plane_of(weights.fine, shares_.axis, masses);
  int const before = shares_.window(level, rank_).first;
  exchange(stream, level, [&](int first, int end, bool) {
    RankPieces::Pieces both;
    for (float* const side : {weights.left, weights.right})
      both.push_back(std::as_writable_bytes(std::span(
          side + (first - before) * plane, static_cast<std::size_t>((end - first) * plane))));
    return both;
  });
}

template <class S>
Level<S> SharedEquations<S>::own(Level<S> const& finest) const {
  Window const window = shares_.window(0, rank_);
  return planes_of(finest, shares_.axis, window.own_first - window.first, window.own());
}

template <class S>
void SharedEquations<S>::complete_field(Stream& stream, Level<S> const& finest,
                                        Coefficient* field) {
  std::int64_t const plane = finest.field_stride(2);
  int const before = shares_.window(0, rank_).first;
  auto const pieces = [&](int first, int end) {
    return RankPieces::Pieces{
        std::as_writable_bytes(std::span(field + finest.field_place(0, -1, first - before),
                                         static_cast<std::size_t>((end - first) * plane)))};
  };
  if (shares_.is_cut(0))
    return exchange(stream, 0, [&](int first, int end, bool) { return pieces(first, end); });
  // With what lies beside the first plane of all and the last one.
  std::vector<RankPieces::Pieces> of_ranks;
  for (int rank = 0; rank < shares_.ranks(); ++rank) {
    Window const theirs = shares_.window(0, rank);
    of_ranks.push_back(pieces(theirs.own_first - (theirs.own_first == 0 ? 1 : 0),
                              theirs.own_end + (theirs.own_end == shares_.all(0) ? 1 : 0)));
  }
  ways_.gather(stream, of_ranks);
}

template <class S>
void SharedEquations<S>::complete(Stream& stream, std::size_t level, Stored<S> const& held) {
  if (shares_.is_cut(level))
    return exchange(stream, level, [&](int first, int end, bool with_end) {
      return pieces(level, held, first, end, with_end);
    });
  std::vector<RankPieces::Pieces> of_ranks;
  for (int rank = 0; rank < shares_.ranks(); ++rank) {
    Window const theirs = shares_.window(level, rank);
    of_ranks.push_back(pieces(level, held, theirs.own_first, theirs.own_end,
                              theirs.own_end == shares_.all(level)));
  }
  ways_.gather(stream, of_ranks);
}

template class SharedEquations<float>;
template class SharedEquations<double>;

}  // namespace gridstride::multigrid
