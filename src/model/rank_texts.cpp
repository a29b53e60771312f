#include "model/rank_texts.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace gridstride {

std::string parts_text(SweepPlan const& plan) {
  auto const planes = fmt::format("{} planes up to {} each", plan.shape.planes(), plan.slab_planes);
  auto const& strips = plan.strips;
  if (strips.count == 1) return fmt::format("{}, of {}", plan.ranks, planes);
  auto const slowest = static_cast<std::size_t>(plan.shape.grid.dims - 1);
  return fmt::format("{}, {} along {} and {} along {}, of {} and {} points", plan.ranks,
                     strips.count, axis_names[slowest - 1], plan.slabs(), axis_names[slowest],
                     planes, strips.points);
}

std::string links_text(SweepPlan const& plan, OpenedLinks const& along, OpenedLinks const* across) {
  auto const text = [](OpenedLinks const& opened) {
    auto const& [links, transport, remark] = opened;
    return fmt::format("{}{}", transport, remark.empty() ? "" : " (" + remark + ")");
  };
  if (across == nullptr) return text(along);
  auto const first = text(along), second = text(*across);
  if (first == second || plan.slabs() == 1) return second;
  auto const slowest = static_cast<std::size_t>(plan.shape.grid.dims - 1);
  return fmt::format("{} along {}, {} along {}", first, axis_names[slowest], second,
                     axis_names[slowest - 1]);
}

std::string exchanges_text(SweepPlan const& plan, RankReport const& report) {
  if (plan.by_stages)
    return fmt::format("{} steps, of {} planes a side for each stage", report.trips,
                       plan.rank_halo());
  return fmt::format("{} of {} planes a side, for up to {} steps each{}", report.trips,
                     plan.rank_halo(), plan.trip_steps,
                     plan.on_chip     ? ", by kernels that keep their planes on the chip"
                     : plan.parts > 1 ? fmt::format(", made in {} parts", plan.parts)
                                      : "");
}

std::string seconds_text(RankReport const& report) {
  return fmt::format(
      "{:.4g} s of steps, in {:.3g} of which it waited for others to exchange; {:.3g} s to hand "
      "out "
      "and gather",
      report.seconds_steps, report.seconds_exchange, report.seconds_move);
}

}  // namespace gridstride
