// Random and quasi-random samples on the host.
//
// `reference` takes one sample after the other, each from its own definition: the words of the
// stream, or the direction numbers of the bits of its index. It adds in extended precision.
// `threads` shares tiles of samples among the threads. A tile is worked off in blocks of 256:
// random words or Gray-code steps of all of them, coordinates axis by axis, then the integrand over
// the block, so that loops are vectors. The tiles' sums are added in order, whatever the number of
// threads.

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/sampling/points.hpp"
#include "kernels/sampling/rows.hpp"
#include "kernels/sampling/sobol.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::quadrature {
namespace {

/// Random coordinates of samples first to first + count − 1.
template <class T>
class RandomPoints {
 public:
  explicit RandomPoints(SamplingProblem const& problem)
      : box_(sample_box<T>(problem.box, problem.parameters)),
        key_(philox_key(problem.seed)),
        dimensions_(problem.integrand.dimensions) {}

  void fill(std::int64_t first, std::int64_t count, PointBlock& points) {
    int const width = dimensions_ * words_per_uniform<T>;
    words_.resize(static_cast<std::size_t>(width * PointBlock::capacity));
    random_words(key_, width, first, count, words_);
    map(count, points, [](T u) { return u; });
  }
  /// The mirror images of the points filled in last.
  void mirror(std::int64_t count, PointBlock& points) {
    map(count, points, [](T u) { return 1 - u; });
  }

 private:
  template <class Change>
  void map(std::int64_t count, PointBlock& points, Change const& change) {
    int const width = dimensions_ * words_per_uniform<T>;
    for (int k = 0; k < dimensions_; ++k) {
      unsigned const* const words = &words_[static_cast<std::size_t>(k * words_per_uniform<T>)];
      double* const x = points.axis(k).data();
      for (std::int64_t s = 0; s < count; ++s)
        x[s] = coordinate(box_, k, change(uniform_of<T>(words + s * width)));
    }
  }

  SampleBox<T> box_;
  PhiloxKey key_;
  int dimensions_;
  std::vector<unsigned> words_;
};

/// The points of one replica, in the order of the Gray code.
template <class T>
class SobolPoints {
 public:
  SobolPoints(SampleBox<T> const& box, int dimensions, std::span<std::uint32_t const> directions)
      : box_(box), dimensions_(dimensions), directions_(directions) {}

  void fill(std::int64_t first, std::int64_t count, PointBlock& points) const {
    for (int k = 0; k < dimensions_; ++k) {
      auto const index = static_cast<std::uint32_t>(first);
      std::uint32_t digits = direction(sobol_shift_row, k);
      for (std::uint32_t gray = index ^ index >> 1; gray != 0; gray &= gray - 1)
        digits ^= direction(std::countr_zero(gray), k);
      double* const x = points.axis(k).data();
      for (std::int64_t s = 0; s < count; ++s) {
        x[s] = coordinate(box_, k, sobol_uniform<T>(digits));
        digits ^= direction(std::countr_zero(static_cast<std::uint32_t>(first + s + 1)), k);
      }
    }
  }

 private:
  std::uint32_t direction(int row, int axis) const {
    return directions_[static_cast<std::size_t>(row * sobol_stride(dimensions_) + axis)];
  }

  SampleBox<T> box_;
  int dimensions_;
  std::span<std::uint32_t const> directions_;
};

void add(SampleSums& sums, std::span<double const> values, SamplingProblem const& problem) {
  Centering<double> const centered{problem.scale, problem.pivot};
  for (double const value : values) {
    double const difference = centered(value);
    sums.sum += difference;
    sums.squares += difference * difference;
  }
}

/// The sum over the tiles of `count` samples of tile(first, count), worked off in parallel.
template <class TileSum>
SampleSums add_tiles(std::int64_t count, TileSum const& tile_sum) {
  auto const tiles = tiles_of(count, most_tiles, least_tile);
  std::vector<SampleSums> sums(static_cast<std::size_t>(tiles.count));
  parallel_for(tiles.count, 32 * tiles.size, [&](std::int64_t t) {
    std::int64_t const first = t * tiles.size;
    sums[static_cast<std::size_t>(t)] =
        tile_sum(first, std::min<std::int64_t>(tiles.size, count - first));
  });
  SampleSums total;
  for (auto const& sum : sums) total.add(sum);
  return total;
}

/// Calls use(first, count) for pieces of a tile that fit a block of points.
template <class Use>
void for_each_block(std::int64_t first, std::int64_t count, Use const& use) {
  for (std::int64_t done = 0; done < count; done += PointBlock::capacity)
    use(first + done, std::min(PointBlock::capacity, count - done));
}

/// A sum of samples one by one.
class LongSums {
 public:
  explicit LongSums(SamplingProblem const& problem) : centered_{problem.scale, problem.pivot} {}
  void add(long double value) {
    long double const difference = centered_(value);
    sum_ += difference;
    squares_ += difference * difference;
  }
  SampleSums result() const { return {static_cast<double>(sum_), static_cast<double>(squares_)}; }

 private:
  Centering<long double> centered_;
  long double sum_ = 0, squares_ = 0;
};

}  // namespace

template <class T>
std::vector<double> random_point(SamplingProblem const& problem, std::int64_t index,
                                 bool mirrored) {
  auto const box = sample_box<T>(problem.box, problem.parameters);
  std::vector<double> point;
  for (int k = 0; k < problem.integrand.dimensions; ++k) {
    auto const words =
        words_of<T>(philox_key(problem.seed), problem.integrand.dimensions, index, k);
    T const u = uniform_of<T>(words.data());
    point.push_back(coordinate(box, k, mirrored ? 1 - u : u));
  }
  return point;
}

template <class T>
std::vector<double> sobol_point(SamplingProblem const& problem, int replica, std::int64_t index) {
  int const dimensions = problem.integrand.dimensions;
  auto const directions = scrambled_sobol(dimensions, problem.seed, replica);
  HostIntegrand const integrand(problem.integrand);
  PointBlock points(integrand, problem.parameters);
  SobolPoints<T>(sample_box<T>(problem.box, problem.parameters), dimensions, directions)
      .fill(index, 1, points);
  std::vector<double> point;
  for (int k = 0; k < dimensions; ++k) point.push_back(points.axis(k)[0]);
  return point;
}

template <class T>
SampleBatch reference_random(Stream&, SamplingProblem const& problem) {
  return [problem, integrand = HostIntegrand(problem.integrand)](std::int64_t first,
                                                                 std::int64_t count) {
    LongSums sums(problem);
    for (std::int64_t i = first; i < first + count; ++i) {
      auto const value = [&](bool mirrored) {
        return integrand(random_point<T>(problem, i, mirrored).data(), problem.parameters.data());
      };
      sums.add(problem.antithetic ? 0.5 * value(false) + 0.5 * value(true) : value(false));
    }
    return std::vector{sums.result()};
  };
}

template <class T>
SampleBatch reference_sobol(Stream&, SamplingProblem const& problem) {
  return [problem, integrand = HostIntegrand(problem.integrand)](std::int64_t first,
                                                                 std::int64_t count) {
    std::vector<SampleSums> replicas;
    for (int r = 0; r < sobol_replicas; ++r) {
      int const dimensions = problem.integrand.dimensions;
      auto const directions = scrambled_sobol(dimensions, problem.seed, r);
      auto const box = sample_box<T>(problem.box, problem.parameters);
      auto const stride = static_cast<std::size_t>(sobol_stride(dimensions));
      LongSums sums(problem);
      for (std::int64_t i = first; i < first + count; ++i) {
        std::array<double, max_dimensions> x{};
        for (std::size_t k = 0; k < static_cast<std::size_t>(dimensions); ++k) {
          std::uint32_t digits = directions[sobol_shift_row * stride + k];
          for (std::size_t bit = 0; bit < sobol_bits; ++bit)
            if ((i ^ i / 2) >> bit & 1) digits ^= directions[bit * stride + k];
          x[k] = coordinate(box, static_cast<int>(k), sobol_uniform<T>(digits));
        }
        sums.add(integrand(x.data(), problem.parameters.data()));
      }
      replicas.push_back(sums.result());
    }
    return replicas;
  };
}

template <class T>
SampleBatch host_random(Stream&, SamplingProblem const& problem) {
  return [problem, integrand = HostIntegrand(problem.integrand)](std::int64_t batch_first,
                                                                 std::int64_t batch_count) {
    return std::vector{add_tiles(batch_count, [&](std::int64_t first, std::int64_t count) {
      RandomPoints<T> source(problem);
      PointBlock points(integrand, problem.parameters);
      SampleSums sums;
      for_each_block(batch_first + first, count, [&](std::int64_t start, std::int64_t size) {
        source.fill(start, size, points);
        auto const values = points.evaluate(size);
        if (!problem.antithetic) return add(sums, values, problem);
        std::vector<double> pairs(values.begin(), values.end());
        source.mirror(size, points);
        std::ranges::transform(pairs, points.evaluate(size), pairs.begin(),
                               [](double a, double b) { return 0.5 * a + 0.5 * b; });
        add(sums, pairs, problem);
      });
      return sums;
    })};
  };
}

template <class T>
SampleBatch host_sobol(Stream&, SamplingProblem const& problem) {
  int const dimensions = problem.integrand.dimensions;
  std::vector<std::vector<std::uint32_t>> replicas;
  for (int r = 0; r < sobol_replicas; ++r)
    replicas.push_back(scrambled_sobol(dimensions, problem.seed, r));
  return [problem, replicas, dimensions, integrand = HostIntegrand(problem.integrand),
          box = sample_box<T>(problem.box, problem.parameters)](std::int64_t batch_first,
                                                                std::int64_t batch_count) {
    std::vector<SampleSums> totals;
    for (auto const& directions : replicas) {
      SobolPoints<T> const source(box, dimensions, directions);
      totals.push_back(add_tiles(batch_count, [&](std::int64_t first, std::int64_t count) {
        PointBlock points(integrand, problem.parameters);
        SampleSums sums;
        for_each_block(batch_first + first, count, [&](std::int64_t start, std::int64_t size) {
          source.fill(start, size, points);
          add(sums, points.evaluate(size), problem);
        });
        return sums;
      }));
    }
    return totals;
  };
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                           \
  template std::vector<double> random_point<T>(SamplingProblem const&, std::int64_t, bool); \
  template std::vector<double> sobol_point<T>(SamplingProblem const&, int, std::int64_t);   \
  template SampleBatch reference_random<T>(Stream&, SamplingProblem const&);                \
  template SampleBatch reference_sobol<T>(Stream&, SamplingProblem const&);                 \
  template SampleBatch host_random<T>(Stream&, SamplingProblem const&);                     \
  template SampleBatch host_sobol<T>(Stream&, SamplingProblem const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature
