#include <memory>

#include "core/buffer.hpp"
#include "kernels/sampling/vegas/grid.hpp"
#include "kernels/sampling/vegas/rows.hpp"

// The launches of vegas.cuh.
namespace gridstride::quadrature {
namespace {

constexpr unsigned threads = 128;

/// Kernels of a problem, and memory for a grid and the sums.
template <class T>
struct Sampler {
  Sampler(Stream& on, SamplingProblem const& problem)
      : stream(on),
        module(compile<T>(on.device(), problem.integrand, "kernels/sampling/vegas/vegas.cuh")),
        box(sample_box<T>(problem.box, problem.parameters)),
        key(philox_key(problem.seed)),
        scale(static_cast<T>(problem.scale)),
        intervals(static_cast<std::size_t>(problem.integrand.dimensions *
                                           vegas_intervals(problem.integrand.dimensions))),
        edges(on, MemorySpace::device,
              intervals + static_cast<std::size_t>(problem.integrand.dimensions)),
        tile_sums(on, MemorySpace::device, most_vegas_tiles),
        total(on, MemorySpace::device, 1),
        interval_totals(on, MemorySpace::device, 2 * intervals) {}

  VegasSums run(std::span<double const> grid, double pivot, std::int64_t first, std::int64_t count);

  Stream& stream;
  std::shared_ptr<RuntimeModule const> module;
  SampleBox<T> box;
  PhiloxKey key;
  T scale;
  std::size_t intervals;
  Buffer<T> edges;
  Buffer<SampleSums> tile_sums, total;
  Buffer<double> tile_intervals, interval_totals;
};

template <class T>
VegasSums Sampler<T>::run(std::span<double const> grid, double pivot, std::int64_t first,
                          std::int64_t count) {
  Tiles const tiles = tiles_of(count, most_vegas_tiles, least_vegas_tile);
  auto const tile_count = static_cast<std::size_t>(tiles.count);
  if (tile_intervals.size() < tile_count * 2 * intervals)
    tile_intervals = Buffer<double>(stream, MemorySpace::device, tile_count * 2 * intervals);
  std::vector<T> const host_edges(grid.begin(), grid.end());
  copy_async(edges.span(), host_edges, stream);
  module->launch(stream, "vegas_tiles", {static_cast<unsigned>(tiles.count), threads}, box,
                 SampleRange{first, count, tiles.size, key},
                 Centering<T>{scale, static_cast<T>(pivot)}, static_cast<T const*>(edges.data()),
                 tile_sums.data(), tile_intervals.data());
  module->launch(stream, "sum_tiles", {1, 256}, static_cast<SampleSums const*>(tile_sums.data()),
                 static_cast<int>(tiles.count), total.data());
  module->launch(stream, "vegas_interval_sums",
                 {static_cast<unsigned>((2 * intervals + 31) / 32), 256},
                 static_cast<double const*>(tile_intervals.data()), static_cast<int>(tiles.count),
                 interval_totals.data());
  VegasSums result{{}, std::vector<double>(intervals), std::vector<double>(intervals)};
  copy_async(std::span(&result.samples, 1), total.span(), stream);
  copy_async(std::span(result.intervals), interval_totals.span().first(intervals), stream);
  copy_async(std::span(result.counts), interval_totals.span().last(intervals), stream);
  stream.synchronize();
  return result;
}

}  // namespace

template <class T>
VegasBatch cuda_vegas(Stream& stream, SamplingProblem const& problem) {
  auto const sampler = std::make_shared<Sampler<T>>(stream, problem);
  return [sampler](std::span<double const> grid, double pivot, std::int64_t first,
                   std::int64_t count) { return sampler->run(grid, pivot, first, count); };
}

template VegasBatch cuda_vegas<float>(Stream&, SamplingProblem const&);
template VegasBatch cuda_vegas<double>(Stream&, SamplingProblem const&);

}  // namespace gridstride::quadrature
