#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/multigrid/coarsening.hpp"
#include "kernels/multigrid/directions.hpp"
#include "kernels/multigrid/level.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/support/rank_pieces.hpp"

/// How several ranks share levels. For the family's own files only.
///
/// The finest levels are cut along the slowest axis. A rank has its own planes of them and so many
/// beside, in a window, that a visit goes by itself from what the right-hand side is there: each half
/// sweep, and each residual, is right on a plane less. Where the window ends they are wrong, and
/// nobody asks. All ranks have the coarser levels as a whole, each makes its planes of the first one's
/// right-hand side, and all do the same on them, to the same bits.
namespace gridstride::multigrid {

/// With what is left to whether there are fields, for such that may jump: there directions come to what is
/// left of each cycle, and cost more than relaxation.
constexpr Options complete(Options options, bool fields) {
  if (options.after == -1) options.after = fields && options.conjugates ? 2 : 1;
  return options;
}

constexpr int most_inverted(Options const& options, bool fields, int dims) {
  return fields && options.conjugates && dims == 3 ? most_inverted_of_volumes
                                                   : most_inverted_of_few;
}

/// Planes that a visit of a level looks at on each side, with one of its result: from u down, the
/// residuals around a coarse plane, and up.
constexpr int planes_beside(Options const& options) {
  int const down = 2 * options.before + 2, through = 2 * (options.before + options.after) + 1;
  return down > through ? down : through;
}

/// The planes of a rank, by the level's unknowns along the slowest axis: those that it holds, which
/// go around a periodic axis beyond its ends, and its own.
struct Window {
  int first, end, own_first, own_end;
  int count() const { return end - first; }
  int own() const { return own_end - own_first; }
};

struct Shares {
  int axis;     ///< the slowest
  bool around;  ///< periodic along it
  int beside;
  /// Where each rank's own planes begin and the last one's end, of the levels that are cut and of
  /// the next one.
  std::vector<std::vector<int>> cuts;

  int cut_levels() const { return static_cast<int>(cuts.size()) - 1; }
  bool is_cut(std::size_t level) const { return level + 1 < cuts.size(); }
  int ranks() const { return static_cast<int>(cuts[0].size()) - 1; }
  int all(std::size_t level) const { return cuts[level].back(); }
  /// Of a cut level from an even plane on, so that colours are those of the whole.
  Window window(std::size_t level, int rank) const;
  /// How many planes at the end of its own a rank sends to the one above it.
  int wanted_above(Window const& own) const;
  /// The unknowns of an axis of a level, in order, as far as a rank has them.
  std::vector<int> held(std::size_t level, int of_axis, int count, int rank) const;
};

/// Of a grid of which each rank has the planes from its cut to the next one's. Levels that are large
/// enough are cut, as far as each rank has enough planes and none of them twice, and before the first
/// one that is solved by modes, of up to so many unknowns `along` each axis. Throws `std::invalid_argument` where a rank has
/// no unknowns.
Shares shares_of(Levels const& plan, Grid const& grid, RankCuts const& planes,
                 Options const& options, Backend backend, int along);

/// From a window to the next coarser level's, or to all of that where it is not cut.
Transfer windowed(Transfer const& whole, Shares const& shares, std::size_t level, int rank);
/// From a window to the rank's own planes of the next coarser level, the way down.
Transfer gathering(Transfer const& whole, Shares const& shares, std::size_t level, int rank);

/// Places of a plane along an axis for what is stored of faces along another one; of masses they are
/// those of faces along the same one.
template <class S>
std::int64_t stored_plane(Level<S> const& level, int axis, int faces) {
  if (axis != 2) return level.line;
  return std::int64_t{level.line} * (level.count[1] + (faces == 1 ? 1 : 0));
}

/// Some planes of a level along an axis, with their equations and without what interpolates to them.
/// From an odd one on the first colour is the one that lies second: for steps that take both alike.
template <class S>
Level<S> planes_of(Level<S> level, int axis, int first, int count) {
  std::int64_t const line =
      axis == 2 ? std::int64_t{level.half} * level.count[1] : std::int64_t{level.half};
  std::int64_t const shift = first * line + (first % 2 == 0 ? 0 : level.colour);
  for (S** const values : {&level.u, &level.f, &level.r}) *values += shift;
  if (first % 2 != 0) level.colour = -level.colour;
  level.periodic[axis] = level.periodic[axis] && count == level.count[axis];
  level.is_free[axis][0] = level.is_free[axis][0] && first == 0;
  level.is_free[axis][1] = level.is_free[axis][1] && first + count == level.count[axis];
  level.count[axis] = count;
  for (S const** const table : {&level.lower[axis], &level.upper[axis], &level.sum[axis]})
    *table += first;
  for (int of = 0; of < 3; ++of)
    if (level.face[of] != nullptr) level.face[of] += first * stored_plane(level, axis, of);
  if (level.mass != nullptr) level.mass += first * stored_plane(level, axis, axis);
  if (level.field != nullptr) level.field += first * level.field_stride(axis);
  return level;
}

/// The levels of a rank, and what it exchanges of them.
template <class S>
class SharedLevels {
 public:
  /// All ranks make one. `down` are the cut levels with what they gather by on the way down.
  SharedLevels(RankPlanes const& planes, Stream const& stream, Shares shares,
               std::span<Level<S> const> levels, std::vector<Level<S>> down);

  /// What is queued from now on goes on this stream.
  void go_on(Stream const& stream) { stream_ = stream; }

  Level<S> const& down(std::size_t level) const {
    return shares_.is_cut(level) ? down_[level] : levels_[level];
  }
  /// The rank's own planes of a level that is cut, or of the next one.
  Level<S> own(std::size_t level) const;
  bool is_cut(std::size_t level) const { return shares_.is_cut(level); }
  /// Whether there are planes of other ranks before its own, and behind.
  bool has_beside(int side) const { return planes_.beside()[static_cast<std::size_t>(side)] >= 0; }
  int first_own() const { return shares_.window(0, rank_).own_first; }

  /// Queues that f of a level, of which each rank has its own planes, is there as far as a visit
  /// looks; of levels after the first one that is not cut nothing is to be done.
  void complete_right(std::size_t level) const;
  /// The same of u, of levels that are cut.
  void complete_solution(std::size_t level) const;

  /// Raises what this rank has found to what all have; on the host.
  void raise_to_all(std::span<Found> found) const;
  /// The sums of all parts of the finest level, of those of its own planes: as many for each plane, or
  /// for so many of the grid `together`, of which `first` are before the level's.
  std::vector<Summed> of_all_planes(std::vector<Summed> const& own, int together, int first) const;

 private:
  RankPieces::Pieces pieces(std::size_t level, S* values, int first, int end) const;
  void exchange(std::size_t level, S* values) const;

  RankPlanes const& planes_;
  mutable Stream stream_;
  int rank_;
  Shares shares_;
  std::span<Level<S> const> levels_;
  std::vector<Level<S>> down_;
  std::unique_ptr<RankPieces> ways_;
};

/// Bytes that a rank sends to one beside it at most, and that all make together, of so many values in
/// a plane of each level that is cut and of the next one, with so many planes `more`.
struct SentBytes {
  std::size_t beside, all;
};
SentBytes sent_bytes(Shares const& shares, std::span<std::int64_t const> plane_values,
                     std::size_t value_bytes, int more = 0);

}  // namespace gridstride::multigrid
