#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gridstride {

/// How many values lie in each of some bins: counts[b] in [edges[b], edges[b + 1]); the last bin holds its
/// upper edge too.
struct Histogram {
  std::string name;
  std::vector<std::int64_t> counts;
  std::vector<double> edges;  ///< one more than bins
};

}  // namespace gridstride
