// Importance sampling on the host.
//
// `reference` takes one sample after the other. `threads` shares tiles of samples among the
// threads, each with sums of all intervals of its own; they are added in the order of tiles.

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "kernels/sampling/points.hpp"
#include "kernels/sampling/vegas/grid.hpp"
#include "kernels/sampling/vegas/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::quadrature {
namespace {

/// Samples by a grid, in T.
template <class T>
class WeightedPoints {
 public:
  WeightedPoints(SamplingProblem const& problem, std::span<double const> grid)
      : box_(sample_box<T>(problem.box, problem.parameters)),
        key_(philox_key(problem.seed)),
        dimensions_(problem.integrand.dimensions),
        edges_(grid.begin(), grid.end()) {}

  /// Samples first to first + count − 1: the coordinates go to `points`.
  void fill(std::int64_t first, std::int64_t count, PointBlock& points) {
    constexpr auto each = static_cast<std::size_t>(words_per_uniform<T>);
    auto const axes = static_cast<std::size_t>(dimensions_);
    int const cut = vegas_intervals(dimensions_);
    words_.resize(each * axes * PointBlock::capacity);
    random_words(key_, static_cast<int>(each * axes), first, count, words_);
    intervals_.resize(axes);
    density_.fill(1);
    for (std::size_t k = 0; k < axes; ++k) {
      T const* const edges = &edges_[k * static_cast<std::size_t>(cut + 1)];
      for (std::size_t s = 0; s < static_cast<std::size_t>(count); ++s) {
        auto const point = vegas_point(&words_[(s * axes + k) * each], edges, cut);
        intervals_[k][s] = point.interval;
        density_[s] *= point.density;
        points.axis(static_cast<int>(k))[s] = coordinate(box_, static_cast<int>(k), point.y);
      }
    }
  }

  double density(std::size_t s) const { return density_[s]; }
  int interval(std::size_t axis, std::size_t s) const { return intervals_[axis][s]; }

 private:
  SampleBox<T> box_;
  PhiloxKey key_;
  int dimensions_;
  std::vector<T> edges_;
  std::vector<unsigned> words_;
  std::array<T, PointBlock::capacity> density_;
  std::vector<std::array<int, PointBlock::capacity>> intervals_;
};

/// One sample by a grid.
struct WeightedSample {
  std::vector<double> point;
  std::vector<int> intervals;
  double density = 1;
};

template <class T>
WeightedSample weighted_sample(SamplingProblem const& problem, std::span<double const> grid,
                               std::int64_t index) {
  int const dimensions = problem.integrand.dimensions, cut = vegas_intervals(dimensions);
  auto const box = sample_box<T>(problem.box, problem.parameters);
  std::vector<T> const edges(grid.begin(), grid.end());
  WeightedSample sample;
  T density = 1;
  for (int k = 0; k < dimensions; ++k) {
    auto const words = words_of<T>(philox_key(problem.seed), dimensions, index, k);
    auto const point =
        vegas_point(words.data(), &edges[static_cast<std::size_t>(k * (cut + 1))], cut);
    sample.point.push_back(coordinate(box, k, point.y));
    sample.intervals.push_back(point.interval);
    density *= point.density;
  }
  sample.density = density;
  return sample;
}

/// The sums of a tile: samples first to first + count − 1.
template <class T>
VegasSums add_tile(SamplingProblem const& problem, HostIntegrand const& integrand,
                   WeightedPoints<T> source, double pivot, std::int64_t first, std::int64_t count) {
  auto const axes = static_cast<std::size_t>(problem.integrand.dimensions);
  auto const cut = static_cast<std::size_t>(vegas_intervals(problem.integrand.dimensions));
  PointBlock points(integrand, problem.parameters);
  VegasSums sums{{}, std::vector<double>(axes * cut), std::vector<double>(axes * cut)};
  for (std::int64_t done = 0; done < count; done += PointBlock::capacity) {
    std::int64_t const size = std::min(PointBlock::capacity, count - done);
    source.fill(first + done, size, points);
    auto const values = points.evaluate(size);
    for (std::size_t s = 0; s < values.size(); ++s) {
      double const value = source.density(s) * values[s] * problem.scale;
      double const difference = value - pivot;
      sums.samples.add({difference, difference * difference});
      if (done >= vegas_grid_samples) continue;
      for (std::size_t k = 0; k < axes; ++k) {
        std::size_t const place = k * cut + static_cast<std::size_t>(source.interval(k, s));
        sums.intervals[place] += value * value;
        sums.counts[place] += 1;
      }
    }
  }
  return sums;
}

}  // namespace

template <class T>
std::vector<double> weighted_point(SamplingProblem const& problem, std::span<double const> grid,
                                   std::int64_t index) {
  return weighted_sample<T>(problem, grid, index).point;
}

template <class T>
VegasBatch reference_vegas(Stream&, SamplingProblem const& problem) {
  return [problem, integrand = HostIntegrand(problem.integrand)](
             std::span<double const> grid, double pivot, std::int64_t first, std::int64_t count) {
    auto const cut = static_cast<std::size_t>(vegas_intervals(problem.integrand.dimensions));
    auto const tile = tiles_of(count, most_vegas_tiles, least_vegas_tile).size;
    std::vector<double> const none(cut * problem.box.size());
    VegasSums sums{{}, none, none};
    for (std::int64_t i = first; i < first + count; ++i) {
      auto const sample = weighted_sample<T>(problem, grid, i);
      double const value = sample.density *
                           integrand(sample.point.data(), problem.parameters.data()) *
                           problem.scale;
      sums.samples.add({value - pivot, (value - pivot) * (value - pivot)});
      if ((i - first) % tile >= vegas_grid_samples) continue;
      for (std::size_t k = 0; k < problem.box.size(); ++k) {
        std::size_t const place = k * cut + static_cast<std::size_t>(sample.intervals[k]);
        sums.intervals[place] += value * value;
        sums.counts[place] += 1;
      }
    }
    return sums;
  };
}

template <class T>
VegasBatch host_vegas(Stream&, SamplingProblem const& problem) {
  return [problem, integrand = HostIntegrand(problem.integrand)](
             std::span<double const> grid, double pivot, std::int64_t first, std::int64_t count) {
    auto const tiles = tiles_of(count, most_vegas_tiles, least_vegas_tile);
    WeightedPoints<T> const source(problem, grid);
    std::vector<VegasSums> sums(static_cast<std::size_t>(tiles.count));
    parallel_for(tiles.count, 64 * tiles.size, [&](std::int64_t t) {
      std::int64_t const start = t * tiles.size;
      sums[static_cast<std::size_t>(t)] =
          add_tile(problem, integrand, source, pivot, first + start,
                   std::min<std::int64_t>(tiles.size, count - start));
    });
    VegasSums total = std::move(sums.front());
    auto const add = [](std::vector<double>& to, std::vector<double> const& from) {
      std::ranges::transform(to, from, to.begin(), std::plus<>());
    };
    for (auto tile = sums.begin() + 1; tile != sums.end(); ++tile) {
      total.samples.add(tile->samples);
      add(total.intervals, tile->intervals);
      add(total.counts, tile->counts);
    }
    return total;
  };
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template std::vector<double> weighted_point<T>(SamplingProblem const&, std::span<double const>, \
                                                 std::int64_t);                                   \
  template VegasBatch reference_vegas<T>(Stream&, SamplingProblem const&);                        \
  template VegasBatch host_vegas<T>(Stream&, SamplingProblem const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature
