// Which formulas of a chain are evaluated together, in one pass over memory.

#include <algorithm>

#include "kernels/evaluate/points.hpp"
#include "simulations/transform_chain.hpp"

namespace gridstride::transform {

std::vector<bool> Chain::scanned() const {
  std::vector<bool> all;
  for (auto const& link : links_)
    all.push_back(std::holds_alternative<ByScan>(link.work) ||
                  std::ranges::any_of(link.from, [&](int from) {
                    return static_cast<bool>(all[static_cast<std::size_t>(from)]);
                  }));
  return all;
}

/// Groups are formulas on one grid with no other work between them. What follows from a scan, whose
/// rows are made in their order, does not get rows that only others need.
void Chain::fuse(std::vector<int> const& places) {
  auto const needed = ends(places, {0, grid_.points[slowest()]});
  auto const follows = scanned();
  together_.clear();
  bool open = false;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    if (needed[l] == 0 || std::holds_alternative<FromFile>(links_[l].work)) continue;
    bool const is_formula = std::holds_alternative<ByFormula>(links_[l].work);
    int const place = static_cast<int>(l);
    if (is_formula && !(open && joins(together_.back(), place, follows))) together_.emplace_back();
    if (is_formula) join(together_.back(), place);
    open = is_formula;
  }
}

bool Chain::joins(Together const& group, int place, std::vector<bool> const& scanned) const {
  int const first = group.members.front();
  if (link(first).grid != link(place).grid) return false;
  if (scanned[static_cast<std::size_t>(first)] != scanned[static_cast<std::size_t>(place)])
    return false;
  Together larger = group;
  join(larger, place);
  return std::max(larger.members.size(), larger.inputs.size()) <= evaluate::Arrays::most;
}

void Chain::join(Together& group, int place) const {
  for (int const from : link(place).from)
    if (std::ranges::find(group.members, from) == group.members.end() &&
        std::ranges::find(group.inputs, from) == group.inputs.end())
      group.inputs.push_back(from);
  group.members.push_back(place);
}

/// Those of a group that are needed are made for the same rows.
void Chain::unite(Together const& group, std::vector<RowSet>& needs) const {
  RowSet all;
  for (int const member : group.members)
    for (Rows const& rows : needs[static_cast<std::size_t>(member)]) add(all, rows);
  for (int const member : group.members)
    if (auto& own = needs[static_cast<std::size_t>(member)]; !own.empty()) own = all;
}

}  // namespace gridstride::transform
