#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.hpp"
#include "core/ranks.hpp"
#include "core/stream.hpp"

/// What equations take that ranks solve together by transforms, beside one process
/// (`gridstride bench poisson --ranks N`).
namespace gridstride::bench {

struct SharedSolve {
  std::string operation = {}, type = {};
  std::int64_t points = 0;       ///< of the grid
  std::string transport = {};    ///< of what ranks exchange
  double alone = 0, shared = 0;  ///< s, medians
  double gain() const { return alone / shared; }
};

/// All that `bench poisson` measures, of `type` or float64, with about `size` points or as many as
/// there. All ranks call it, and each solves alone first; the first one's times count. Throws
/// `VerificationError` where ranks have other bits than one process.
std::vector<SharedSolve> measure_shared_poisson(Ranks& ranks, Stream& stream, std::string_view type,
                                                std::int64_t size);

std::string table(std::vector<SharedSolve> const& solves);
/// With its provenance.
std::string json(Ranks const& ranks, Device const& device, std::vector<SharedSolve> const& solves);

}  // namespace gridstride::bench
