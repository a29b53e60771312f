#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sampling/rows.hpp"
#include "kernels/sampling/vegas/vegas.hpp"

/// The functions behind the rows of `vegas`; for the family's own files only.
namespace gridstride::quadrature {

template <class T>
VegasBatch reference_vegas(Stream&, SamplingProblem const&);
template <class T>
VegasBatch host_vegas(Stream&, SamplingProblem const&);
template <class T>
VegasBatch cuda_vegas(Stream&, SamplingProblem const&);

/// Tiles of an iteration: each has sums of all intervals.
inline constexpr std::int64_t most_vegas_tiles = 1 << 11, least_vegas_tile = 1 << 9;

/// Coordinates of sample `index` by a grid.
template <class T>
std::vector<double> weighted_point(SamplingProblem const& problem, std::span<double const> grid,
                                   std::int64_t index);

}  // namespace gridstride::quadrature
