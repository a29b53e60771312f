#include "model/rank_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace gridstride {

std::string parts_text(SweepPlan const& plan) {
  auto const planes = fmt::format("{} planes up to {} each", plan.shape.planes(), plan.slab_planes);
  if (!plan.has_strips()) return fmt::format("{}, of {}", plan.ranks, planes);
  int const dims = plan.shape.grid.dims;
  std::string parts, points;
  for (std::size_t which = strip_axes; which-- > 0;) {
    auto const& strips = plan.strips[which];
    if (!strips.are_there()) continue;
    auto const& axis = axis_names[static_cast<std::size_t>(axis_of_strips(dims, which))];
    parts += fmt::format("{}{} along {}", parts.empty() ? "" : ", ", strips.count, axis);
    points += fmt::format("{}{}", points.empty() ? "" : " x ", strips.points);
  }
  return fmt::format("{}, {} and {} along {}, of {} and {} points", plan.ranks, parts, plan.slabs(),
                     axis_names[static_cast<std::size_t>(dims - 1)], planes, points);
}

std::string links_text(std::span<LinksAlong const> axes) {
  auto const text = [](OpenedLinks const& opened) {
    auto const& [links, transport, remark] = opened;
    return fmt::format("{}{}", transport, remark.empty() ? "" : " (" + remark + ")");
  };
  auto const first = text(*axes.front().opened);
  if (std::ranges::all_of(axes, [&](auto const& one) { return text(*one.opened) == first; }))
    return first;
  std::string all;
  for (auto const& [axis, opened] : axes)
    all += fmt::format("{}{} along {}", all.empty() ? "" : ", ", text(*opened),
                       axis_names[static_cast<std::size_t>(axis)]);
  return all;
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
