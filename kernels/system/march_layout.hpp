#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/system/inner_levels.hpp"
#include "kernels/system/march.hpp"

/// For the files of `march` only: what a way to make a stage takes of a thread.
namespace gridstride::system {

inline constexpr int warp_lanes = 32;

/// Whether anything but the same values follows beyond an axis.
bool is_sided(Marched const& what, int axis);
bool wraps(Marched const& what, int axis);

/// How a stage is made: in parts or at once.
struct MarchPlan {
  Marched const& what;
  Parting parting;
  int lane_points;  ///< that parts are for
  std::vector<Part> programs;
  std::size_t parts;         ///< of the programs, all but the one for what is near sides
  std::size_t first_summed;  ///< and but those of what is found of the last state
  std::int64_t operations = 0, summed_additions = 0;
  std::int64_t additions = 0, instructions = 0;  ///< with and without operations that are fused
  int kept = 0;                                  ///< values of a column

  std::vector<int> part_of;  ///< that makes it, of each inner value

  /// The inner value that an unknown is; negative: a component, or an array that lasts.
  int inner_of(equations::Node const& node) const {
    return node.index - static_cast<int>(what.program->results.size()) - lasting_of(what);
  }

  /// Values that are found beforehand and looked at, by so many levels and in their last state.
  int found_values(int levels) const;

  MarchPlan(Marched const& marched, Parting parted, int columns);
};

MarchLayout layout_of(MarchPlan const& plan, int value_bytes, MarchShape const& shape);
/// Values beside a thread's columns that these programs take.
int values_beside(MarchLayout const& layout, std::size_t first, std::size_t last);

}  // namespace gridstride::system
