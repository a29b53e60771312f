#include <memory>
#include <string>

#include "core/buffer.hpp"
#include "kernels/sampling/rows.hpp"
#include "kernels/sampling/sobol.hpp"

// The launches of monte_carlo.cuh and sobol.cuh.
namespace gridstride::quadrature {
namespace {

constexpr unsigned threads = 256;

/// Kernels of a problem, and memory for the sums that they leave.
template <class T>
struct Sampler {
  Sampler(Stream& on, SamplingProblem const& problem, std::string_view file, int replica_count)
      : stream(on),
        replicas(replica_count),
        box(sample_box<T>(problem.box, problem.parameters)),
        centered{static_cast<T>(problem.scale), static_cast<T>(problem.pivot)},
        tile_sums(on, MemorySpace::device, most_tiles),
        totals(on, MemorySpace::device, static_cast<std::size_t>(replica_count)) {
    std::vector<std::string> definitions;
    if (problem.antithetic) definitions.push_back("ANTITHETIC");
    module = compile<T>(on.device(), problem.integrand, file, definitions);
  }

  /// The totals of the tiles that were queued.
  std::vector<SampleSums> add_tiles(Tiles const& tiles) {
    module->launch(stream, "sum_tiles", {static_cast<unsigned>(replicas), threads},
                   static_cast<SampleSums const*>(tile_sums.data()), static_cast<int>(tiles.count),
                   totals.data());
    std::vector<SampleSums> result(totals.size());
    copy_async(std::span(result), totals.span(), stream);
    stream.synchronize();
    return result;
  }

  Stream& stream;
  int replicas;
  SampleBox<T> box;
  Centering<T> centered;
  Buffer<SampleSums> tile_sums, totals;
  Buffer<std::uint32_t> directions;
  std::shared_ptr<RuntimeModule const> module;
};

}  // namespace

template <class T>
SampleBatch cuda_random(Stream& stream, SamplingProblem const& problem) {
  auto const sampler =
      std::make_shared<Sampler<T>>(stream, problem, "kernels/sampling/monte_carlo.cuh", 1);
  return [sampler, key = philox_key(problem.seed)](std::int64_t first, std::int64_t count) {
    Sampler<T>& s = *sampler;
    Tiles const tiles = tiles_of(count, most_tiles, least_tile);
    s.module->launch(s.stream, "monte_carlo_tiles", {static_cast<unsigned>(tiles.count), threads},
                     s.box, SampleRange{first, count, tiles.size, key}, s.centered,
                     s.tile_sums.data());
    return s.add_tiles(tiles);
  };
}

template <class T>
SampleBatch cuda_sobol(Stream& stream, SamplingProblem const& problem) {
  auto const sampler =
      std::make_shared<Sampler<T>>(stream, problem, "kernels/sampling/sobol.cuh", sobol_replicas);
  std::vector<std::uint32_t> directions;
  for (int r = 0; r < sobol_replicas; ++r) {
    auto const replica = scrambled_sobol(problem.integrand.dimensions, problem.seed, r);
    directions.insert(directions.end(), replica.begin(), replica.end());
  }
  sampler->directions = Buffer<std::uint32_t>(stream, MemorySpace::device, directions.size());
  copy_async(sampler->directions.span(), directions, stream);
  stream.synchronize();
  return [sampler](std::int64_t first, std::int64_t count) {
    Sampler<T>& s = *sampler;
    Tiles const tiles = tiles_of(count, most_tiles / sobol_replicas, least_tile);
    s.module->launch(
        s.stream, "quasi_monte_carlo_tiles",
        {{static_cast<unsigned>(tiles.count), static_cast<unsigned>(sobol_replicas)}, threads},
        s.box, SobolRange{first, count, tiles.size, static_cast<int>(tiles.size / threads)},
        s.centered, static_cast<unsigned const*>(s.directions.data()), s.tile_sums.data());
    return s.add_tiles(tiles);
  };
}

template SampleBatch cuda_random<float>(Stream&, SamplingProblem const&);
template SampleBatch cuda_random<double>(Stream&, SamplingProblem const&);
template SampleBatch cuda_sobol<float>(Stream&, SamplingProblem const&);
template SampleBatch cuda_sobol<double>(Stream&, SamplingProblem const&);

}  // namespace gridstride::quadrature
