#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/rank_links.hpp"
#include "model/sweep_plan.hpp"

/// What the summary tells of steps that ranks share.
namespace gridstride {

/// What the steps took, of this rank.
struct RankReport {
  std::int64_t trips = 0, steps = 0;
  double seconds_steps = 0;     ///< until all were done, exchanges included
  double seconds_exchange = 0;  ///< of these, that the host has waited for other ranks
  double seconds_move = 0;      ///< to hand out and to gather
};

/// How the grid is cut.
std::string parts_text(SweepPlan const& plan);
/// Those of an axis that is cut.
struct LinksAlong {
  int axis;
  OpenedLinks const* opened;
};
/// How halos go on GPUs, along each axis where it is not the same.
std::string links_text(std::span<LinksAlong const> axes);
/// How often, how many at a time, and what was made meanwhile.
std::string exchanges_text(SweepPlan const& plan, RankReport const& report);
/// The seconds that it took.
std::string seconds_text(RankReport const& report);

}  // namespace gridstride
