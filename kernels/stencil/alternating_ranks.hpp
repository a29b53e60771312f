#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/buffer.hpp"
#include "core/rank_memory.hpp"
#include "kernels/stencil/alternating.hpp"
#include "kernels/support/rank_pieces.hpp"
#include "kernels/support/rank_planes.hpp"

namespace gridstride::stencil {

template <class T>
struct LineSweep;

/// Lines along the slowest axis of a grid whose planes ranks share: alternating steps and solutions
/// with the bits of `step_alternating` and `solve_lines`. For float and double.
template <class T>
class SharedLines {
 public:
  /// Planes that ranks do not cut.
  static constexpr std::int64_t planes_together = 512;
  /// What it takes of a rank's device memory.
  static std::size_t bytes(Grid const& grid, int ranks);

  /// All ranks make one, of the whole grid of two or three axes. `planes` outlives it.
  SharedLines(RankPlanes const& planes, Stream const& stream, Grid const& grid);

  /// Queues a step, of the whole grid but for its arrays: `step.u` and `step.work` begin with the
  /// rank's first row, before and behind which `u` has those of the ranks beside it; what comes of it
  /// goes to `out`, another array. Throws as `step_alternating` does.
  void step(Stream& stream, AlternatingStep<T> const& step, T* out);
  /// Queues the solution along the slowest axis, of the whole grid but for arrays, which begin with the
  /// rank's first plane. Throws as `solve_lines` does.
  void solve(Stream& stream, LineSolve<T> lines);

  /// How lines go over ranks, in words.
  std::string_view transport() const {
    return boxes_ ? "a kernel tells those of other ranks" : "what they tell is gathered";
  }

 private:
  void solve(Stream& stream, LineSweep<T> const& sweep);

  RankPlanes const& planes_;
  std::int64_t lines_;                 // all of them
  int parts_;                          // of a line
  std::unique_ptr<RankMemory> boxes_;  // where kernels wait for other ranks
  unsigned number_ = 0;
  std::unique_ptr<RankPieces> pieces_;  // else
  Buffer<std::byte> told_;
};

}  // namespace gridstride::stencil
