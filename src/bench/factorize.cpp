#include "kernels/factorize/factorize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

#include "bench/matrix_samples.hpp"
#include "bench/workloads.hpp"
#include "kernels/factorize/solve/mixed_solve.hpp"

namespace gridstride::bench {

namespace of_factorize {

using machine::fill_random;

constexpr std::string_view mixed = "lu_mixed";

// ------------------------------------------------------------------------------------ the systems

enum class Kind {
  random,     ///< uniform over (−1, 1)
  dominated,  ///< the same with 2·√n on the diagonal: well-conditioned
  reordered,  ///< such a one with its rows in random order: large elements in random places
  symmetric,  ///< the lower triangle of a dominated one, whose upper one does not count
};

template <class T>
void fill(Stream& stream, std::span<T> values, std::uint64_t seed) {
  fill_random(stream, values, seed, {.bits = std::numeric_limits<T>::digits});
}

/// A system A·X = B and what it takes to judge its solutions on the host.
template <class T>
class System {
 public:
  System(Stream& stream, Kind kind, std::int64_t size, std::int64_t columns)
      : stream_(stream),
        kind_(kind),
        size_(size),
        columns_(columns),
        a_(stream, size * size, 1),
        b_(stream, size * columns, 1) {
    fill(stream, a_(0), 0);
    fill(stream, b_(0), 1);
    if (kind == Kind::random) return;
    T const large = static_cast<T>(2 * std::sqrt(static_cast<double>(size)));
    std::vector<std::int64_t> place(static_cast<std::size_t>(size));
    std::iota(place.begin(), place.end(), 0);
    if (kind == Kind::reordered) std::shuffle(place.begin(), place.end(), std::mt19937_64(1));
    for (std::size_t i = 0; i < place.size(); ++i)
      copy_async(a_(0).subspan(i * place.size() + static_cast<std::size_t>(place[i]), 1),
                 std::span(&large, 1), stream);
    stream.synchronize();
  }

  std::int64_t size() const { return size_; }
  std::int64_t columns() const { return columns_; }
  std::span<T const> a() const { return a_.constant(0); }
  std::span<T const> b() const { return b_.constant(0); }
  Matrix<T> square(std::span<T> values) const { return {values.data(), size_, size_}; }
  Matrix<T> sides(std::span<T> values) const { return {values.data(), size_, columns_}; }

  /// The largest backward error ‖b − A·x‖∞ / (‖A‖∞·‖x‖∞ + ‖b‖∞) of a column, by up to 64 rows of
  /// A: from the elements themselves, so that it rests on no kernel.
  Accuracy accuracy(std::span<T const> x) {
    if (rows_.empty()) sample();
    auto const n = static_cast<std::size_t>(size_), columns = static_cast<std::size_t>(columns_);
    std::vector<T> found(x.size());
    copy_async(std::span(found), x, stream_);
    stream_.synchronize();
    double largest = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      long double residual = 0, x_norm = 0, b_norm = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (!std::isfinite(found[i * columns + j])) return none();
        x_norm = std::max(x_norm, std::abs(static_cast<long double>(found[i * columns + j])));
      }
      for (std::size_t r = 0; r < chosen_.size(); ++r) {
        long double const b = sides_[r * columns + j];
        long double sum = b;
        for (std::size_t p = 0; p < n; ++p)
          sum -= static_cast<long double>(rows_[r * n + p]) * found[p * columns + j];
        residual = std::max(residual, std::abs(sum));
        b_norm = std::max(b_norm, std::abs(b));
      }
      largest = std::max(largest, static_cast<double>(residual / (norm_ * x_norm + b_norm)));
    }
    return {largest, allowed()};
  }

  /// Of a factorization that did not come to its end.
  Accuracy none() const { return {std::numeric_limits<double>::infinity(), allowed()}; }

 private:
  double allowed() const {
    return 50 * static_cast<double>(size_) * std::numeric_limits<T>::epsilon();
  }

  void sample() {
    Matrix<T const> const a{a_(0).data(), size_, size_};
    auto const n = static_cast<std::size_t>(size_);
    chosen_ = spread(size_);
    rows_ = sampled_rows<T>(stream_, a, chosen_);
    sides_ = sampled_rows<T>(stream_, {b_(0).data(), size_, columns_}, chosen_);
    if (kind_ == Kind::symmetric) {
      auto const below = sampled_columns<T>(stream_, a, chosen_);
      for (std::size_t r = 0; r < chosen_.size(); ++r)
        for (auto p = static_cast<std::size_t>(chosen_[r]); p < n; ++p)
          rows_[r * n + p] = below[r * n + p];
    }
    for (std::size_t r = 0; r < chosen_.size(); ++r) {
      long double sum = 0;
      for (std::size_t p = 0; p < n; ++p) sum += std::abs(rows_[r * n + p]);
      norm_ = std::max(norm_, sum);
    }
  }

  Stream& stream_;
  Kind kind_;
  std::int64_t size_, columns_;
  Arrays<T> a_, b_;
  std::vector<std::int64_t> chosen_;
  std::vector<T> rows_, sides_;  ///< of A and of B, those chosen
  long double norm_ = 0;
};

/// What a factorization makes, for each set.
struct Outcome {
  Arrays<std::int32_t> pivots, status;

  Outcome(Stream& stream, std::int64_t size, int sets)
      : pivots(stream, size, sets), status(stream, 1, sets) {}
  bool good(Stream& stream, int set) const {
    std::int32_t found = 0;
    copy_async(std::span(&found, 1), status.constant(set), stream);
    stream.synchronize();
    return found == 0;
  }
};

// ----------------------------------------------------------------------------------- the problems

/// LU or Cholesky of a matrix in place; judged by the solve of a system with the same variant.
template <class T, bool cholesky>
Problem factorization(Stream& stream, std::int64_t size, int sets) {
  auto const system =
      std::make_shared<System<T>>(stream, cholesky ? Kind::symmetric : Kind::random, size, 1);
  Arrays<T> const a(stream, size * size, sets);
  Outcome const outcome(stream, size, sets);
  Problem problem;
  problem.prepare = [=, &stream](int set) {
    copy_async(a(set), system->a(), stream);
    spoil(stream, outcome.status(set));
  };
  problem.run = [=, &stream](std::string_view variant, int set) {
    auto const matrix = system->square(a(set));
    if constexpr (cholesky)
      factorize::cholesky(stream, matrix, outcome.status(set), {.factorize = variant});
    else
      factorize::lu(stream, matrix, outcome.pivots(set), outcome.status(set),
                    {.factorize = variant});
  };
  problem.accuracy = [=, &stream](std::string_view variant) {
    if (!outcome.good(stream, 0)) return system->none();
    Arrays<T> const x(stream, size, 1);
    copy_async(x(0), system->b(), stream);
    auto const factors = system->square(a(0));
    if constexpr (cholesky)
      factorize::cholesky_solve<T>(stream, factors, system->sides(x(0)), {.factorize = variant});
    else
      factorize::lu_solve<T>(stream, Op::none, factors, outcome.pivots.constant(0),
                             system->sides(x(0)), {.factorize = variant});
    return system->accuracy(x.constant(0));
  };
  return problem;
}

/// Solves with factors that are there, for right-hand sides in place.
template <class T, int columns>
Problem solve(Stream& stream, std::int64_t size, int sets) {
  auto const system = std::make_shared<System<T>>(stream, Kind::random, size, columns);
  Arrays<T> const lu(stream, size * size, 1), x(stream, size * columns, sets);
  Outcome const outcome(stream, size, 1);
  copy_async(lu(0), system->a(), stream);
  factorize::lu(stream, system->square(lu(0)), outcome.pivots(0), outcome.status(0));
  Problem problem;
  problem.prepare = [=, &stream](int set) { copy_async(x(set), system->b(), stream); };
  problem.run = [=, &stream](std::string_view variant, int set) {
    factorize::lu_solve<T>(stream, Op::none, system->square(lu(0)), outcome.pivots.constant(0),
                           system->sides(x(set)), {.factorize = variant});
  };
  problem.accuracy = [=, &stream](std::string_view) {
    return outcome.good(stream, 0) ? system->accuracy(x.constant(0)) : system->none();
  };
  return problem;
}

/// All that it takes to solve a system in float64 and leave A and B as they are.
template <Kind kind>
Problem whole_solve(Stream& stream, std::int64_t size, int sets) {
  auto const system = std::make_shared<System<double>>(stream, kind, size, 1);
  Arrays<double> const work(stream, size * size, sets), x(stream, size, sets);
  Outcome const outcome(stream, size, sets);
  Problem problem;
  problem.prepare = [=, &stream](int set) {
    zero_async(outcome.status(set), stream);
    spoil(stream, x(set));
  };
  problem.run = [=, &stream](std::string_view variant, int set) {
    if (variant == mixed) {
      auto const result =
          factorize::mixed_solve(stream, {system->a().data(), size, size},
                                 {system->b().data(), size, 1}, system->sides(x(set)));
      if (!result.converged) throw std::runtime_error(fmt::format("{}", result.reason));
      return;
    }
    copy_async(work(set), system->a(), stream);
    copy_async(x(set), system->b(), stream);
    factorize::lu(stream, system->square(work(set)), outcome.pivots(set), outcome.status(set),
                  {.factorize = variant});
    factorize::lu_solve<double>(stream, Op::none, system->square(work(set)),
                                outcome.pivots.constant(set), system->sides(x(set)),
                                {.factorize = variant});
  };
  problem.accuracy = [=, &stream](std::string_view) {
    return outcome.good(stream, 0) ? system->accuracy(x.constant(0)) : system->none();
  };
  return problem;
}

// ---------------------------------------------------------------------------------- the workloads

/// A task, by what it takes for n rows.
struct Asked {
  std::string_view operation;
  double cubes, squares;  ///< operations: cubes·n³ + squares·n²
  int passes;             ///< that read or write the matrix
  int sides;              ///< right-hand sides, read and written
  int matrices;           ///< that a set has
};

template <class T>
Work work(Asked const& asked, std::int64_t size) {
  auto const n = static_cast<double>(size);
  double const flops = (asked.cubes * n + asked.squares) * n * n;
  double const moved = sizeof(T) * (asked.passes * n + 2 * asked.sides) * n;
  auto const units = sizeof(T) == 8 ? machine::float64_tensor_roof : arithmetic_roof<T>();
  return {.bytes = moved,
          .flops = flops,
          .asks = {{asked.cubes > 0 ? machine::copy_roof : machine::read_roof, moved},
                   {units, flops, arithmetic_roof<T>()}},
          .set_bytes = sizeof(T) * (asked.matrices * n + 2 * asked.sides) * n,
          .elements = n * n};
}

template <class T>
Workload workload(Backend backend, Asked const& asked,
                  Problem (*make)(Stream&, std::int64_t, int)) {
  return {.family = "factorize",
          .operation = asked.operation,
          .type = type_name<T>(),
          .by_default = sizeof(T) == 8,
          .size = backend == Backend::cuda ? 8192 : 512,
          .work = [=](std::int64_t size) { return work<T>(asked, size); },
          .rows = rows_of(factorize::variants<T>(), backend, factorize::default_variant(backend)),
          .make = make,
          .in_place = true,
          .size_of = SizeOf::matrix,
          .error = "the backward error of a solve, by up to 64 rows"};
}

template <class T>
void add_workloads(std::vector<Workload>& all, Backend backend) {
  all.push_back(workload<T>(backend, {"lu", 2.0 / 3, 0, 2, 0, 2}, factorization<T, false>));
  all.push_back(workload<T>(backend, {"cholesky", 1.0 / 3, 0, 1, 0, 2}, factorization<T, true>));
  all.push_back(workload<T>(backend, {"lu_solve, 1 column", 0, 2, 1, 1, 2}, solve<T, 1>));
  all.push_back(workload<T>(backend, {"lu_solve, 100 columns", 0, 200, 1, 100, 2}, solve<T, 100>));
}

Workload whole_solve_workload(Backend backend, std::string_view operation,
                              Problem (*make)(Stream&, std::int64_t, int)) {
  auto all = workload<double>(backend, {operation, 2.0 / 3, 2, 1, 1, 3}, make);
  bool const gpu = backend == Backend::cuda;
  if (!gpu || !all.rows.empty())  // there are none in a build without CUDA
    all.rows.insert(all.rows.begin(),
                    {.name = mixed,
                     .idea = "factors in float32, rounded to TF32 on a GPU; refined in float64",
                     .is_default = false,
                     .is_vendor = false,
                     .roof = gpu ? machine::tf32_tensor_roof : machine::float32_roof});
  all.in_place = false;
  return all;
}

}  // namespace of_factorize

std::vector<Workload> factorize_workloads(Backend backend) {
  using namespace of_factorize;
  std::vector<Workload> all;
  add_workloads<double>(all, backend);
  add_workloads<float>(all, backend);
  all.push_back(whole_solve_workload(backend, "solve, 2*sqrt(n) on the diagonal",
                                     whole_solve<Kind::dominated>));
  all.push_back(whole_solve_workload(backend, "solve, the same with its rows in random order",
                                     whole_solve<Kind::reordered>));
  return all;
}

}  // namespace gridstride::bench
