#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/process_memory.hpp"
#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// Moves the planes of all ranks, or their strips of them, between the arrays of the whole grid, which are
/// those of rank 0, and their slabs: ranks that reach its memory do so by themselves, all at once, and to
/// others rank 0 sends them one after the other. Instantiated for float and double.
template <class T>
class RankSlabs {
 public:
  /// All ranks make one.
  RankSlabs(Stream const& stream, SweepPlan const& plan, Ranks& ranks);

  /// An array: the rank's own planes on its device, and of the whole grid, on rank 0, all of them, with
  /// the place that all ranks know them by.
  struct Array {
    std::span<T> own;
    T* whole;
    std::uint64_t place;
  };
  /// Waits for the stream, and until all is there: `out` to the ranks, or back.
  void move(std::span<Array const> arrays, bool out);

 private:
  void find_reached();
  void move_own(Array const& array, bool out);
  void take_from_first(std::span<T> here, std::uint64_t there, bool out);
  void send_slab(std::span<T> here, std::span<T> whole, int rank, bool out);
  /// The first value of the rank's brick in what it has of its planes.
  T* brick_in(std::span<T> own) const;
  void move_own_brick(Array const& array, bool out);
  void take_brick_from_first(Array const& array, bool out);
  void move_rows(T* here, std::array<std::int64_t, 3> const& points, Brick const& brick,
                 std::uint64_t place, bool out);
  void send_brick(Array const& array, int rank, bool out);
  void copy_own(T* own, T* host, std::array<std::int64_t, 3> const& points, bool out);
  std::size_t values(std::int64_t planes) const {
    return static_cast<std::size_t>(planes * plan_.shape.plane_values());
  }
  bool is_staged() const { return staging_.size() > 0; }

  Stream stream_;
  SweepPlan plan_;
  Ranks& ranks_;
  Grid whole_;         // of the arrays of the whole grid
  Buffer<T> staging_;  // pinned, of a GPU
  ProcessName first_;  // rank 0's, of whom this one reaches
  bool reaches_first_ = false;
  std::vector<int> reached_by_;  // of rank 0: ranks that move their slabs by themselves
};

}  // namespace gridstride
