#include "equations/ill_posed.hpp"

#include <algorithm>

namespace gridstride::equations {

std::optional<IllPosed> find_ill_posed(
    std::vector<Linearisation::WaveGrowth> const& here,
    std::function<std::vector<Linearisation::WaveGrowth>()> const& on_finer) {
  std::vector<Linearisation::WaveGrowth> finer;
  for (auto const& one : here) {
    if (one.growth == 0 || (!one.shortest && !one.is_constant)) continue;
    IllPosed const found = {one.components, one.growth};
    if (one.is_linear && one.shortest && one.components.size() == 1) return found;
    if (finer.empty()) finer = on_finer();
    auto const same =
        std::ranges::find(finer, one.components, &Linearisation::WaveGrowth::components);
    if (same == finer.end() || (!same->shortest && !one.is_constant)) continue;
    // In proportion to 1/h or 1/h², but for a bit.
    double const least = 0.7 * (one.is_constant ? finer_by : finer_by * finer_by);
    if (same->growth >= least * one.growth) return found;
  }
  return std::nullopt;
}

}  // namespace gridstride::equations
