#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/buffer.hpp"
#include "core/rank_links.hpp"
#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// Halos along an axis that is not the slowest one, between the strips of ranks (`SweepPlan::strips`).
/// What a rank sends lies apart in its arrays, so that a kernel puts it side by side. It is sent with all
/// that has come along slower axes before: so corners come by way of one rank beside both. Instantiated
/// for float and double.
template <class T>
class StripHalos {
 public:
  /// All ranks make one, of their own plans.
  StripHalos(Stream const& stream, SweepPlan const& plan, std::size_t which, Ranks& ranks);

  /// Queues the exchange for some planes of each of `arrays`, the first of which they point to; the
  /// ranks beside have the same planes. The host may wait for them.
  void exchange(Stream& stream, std::span<T* const> arrays, std::int64_t planes);

  std::size_t which() const { return which_; }
  OpenedLinks const& links() const { return opened_; }

 private:
  /// Points [first, first + halo) of the strip that is held, of some planes of an array, and where they
  /// lie side by side.
  void copy(Stream& stream, T* array, std::int64_t planes, std::int64_t first, T* box, bool out);
  T* box(int side, bool comes) {
    return boxes_.data() + static_cast<std::size_t>(2 * side + (comes ? 1 : 0)) * box_size_;
  }

  SweepPlan plan_;
  std::size_t which_;
  RanksBeside beside_;
  std::int64_t line_;   // values from one point to the next
  std::int64_t lines_;  // of a plane, that a point of the axis has
  std::size_t box_size_;
  Buffer<T> boxes_;
  OpenedLinks opened_;
};

}  // namespace gridstride
