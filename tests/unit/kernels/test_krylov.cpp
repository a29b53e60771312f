#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "core/processors.hpp"
#include "kernels/krylov/chebyshev.hpp"
#include "support/krylov_cases.hpp"
#include "support/krylov_together_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride::krylov {
namespace {

TEST(Krylov, EigenvectorsOnTheRightTakeAnIterationEach) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_few_iterations(stream);
}

TEST(Krylov, MethodsAgreeWithElimination) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_agreement<double>(stream);
  test::expect_agreement<float>(stream);
}

TEST(Krylov, WhatCannotBeSolvedIsTold) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_outcomes(stream);
}

TEST(Krylov, WhatLooksAlikeIsSolved) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_solved(stream);
}

TEST(Krylov, Preconditioned) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_preconditioned(stream);
}

TEST(Krylov, ScalesAndStarts) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_scales_and_starts(stream);
}

TEST(Krylov, TogetherAsAlone) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_together<double>(stream);
  test::expect_together<float>(stream);
  test::expect_ends_together(stream);
}

TEST(Krylov, PreconditionedTogetherAsAlone) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_preconditioned_together<double>(stream);
  test::expect_preconditioned_together<float>(stream);
}

/// A product for all in the place of one for each; those that have come to an end are left out.
TEST(Krylov, ProductsAreForAllThatRun) {
  Stream stream(Device::open(Backend::cpu));
  constexpr std::int64_t n = 50;
  auto a = test::operator_of(stream, test::second_differences<double>(n));
  std::vector<std::int64_t> vectors;
  a.apply = [&, product = a.apply](Stream& s, std::span<double const> x, std::span<double> y) {
    vectors.push_back(static_cast<std::int64_t>(x.size()) / n);
    product(s, x, y);
  };
  // Eigenvectors take an iteration, sums of two of them two.
  std::vector<double> b, x(5 * n);
  for (auto const& numbers : {std::vector{3}, {5, 9}, {4}, {8}, {6}}) {
    auto const one = test::sum_of_eigenvectors<double>(n, numbers);
    b.insert(b.end(), one.begin(), one.end());
  }
  auto const results =
      solve_together<double>(stream, Method::cg, a, {}, std::span(b), std::span(x), 5);
  EXPECT_EQ(results[0].iterations, 1);
  EXPECT_EQ(results[1].iterations, 2);
  // The first residuals, two iterations, the last residuals.
  EXPECT_EQ(vectors, (std::vector<std::int64_t>{5, 5, 1, 5}));
}

/// Steps that are as long as is best make x·A·x/2 − b·x less each time, whatever the preconditioner is;
/// and one that is symmetric makes the same of both forms, but for rounding.
TEST(Krylov, FlexibleStepsGoDownWithAnyPreconditioner) {
  Stream stream(Device::open(Backend::cpu));
  auto const matrix = sparse::stencil_matrix<double>(sparse::Neighbours::axes, {9, 8, 1});
  auto const n = static_cast<std::size_t>(matrix.rows);
  auto const b = test::random_vector<double>(matrix.rows, 6);
  auto const a = test::operator_of(stream, matrix);
  auto const mixed = [n](double across) {
    return Preconditioner<double>(
        [n, across](Stream&, std::span<double const> r, std::span<double> z) {
          for (std::size_t i = 0; i < n; ++i) z[i] = r[i] + (i + 1 < n ? across * r[i + 1] : 0);
        });
  };
  double least = 0;
  for (int k = 1; k <= 20; ++k) {
    auto const found = test::solve_krylov<double>(
        stream, Method::cg, a, b, {.tolerance = 1e-12, .iterations = k, .flexible = true},
        mixed(0.6));
    std::vector<double> product(n);
    a.apply(stream, found.x, product);
    double energy = 0;
    for (std::size_t i = 0; i < n; ++i) energy += found.x[i] * (product[i] / 2 - b[i]);
    EXPECT_LT(energy, least) << k;
    least = energy;
  }
  Options options{.tolerance = 1e-10};
  auto const plain = test::solve_krylov<double>(stream, Method::cg, a, b, options, mixed(0));
  options.flexible = true;
  auto const flexible = test::solve_krylov<double>(stream, Method::cg, a, b, options, mixed(0));
  EXPECT_TRUE(flexible.result.converged());
  EXPECT_NEAR(static_cast<double>(flexible.result.iterations),
              static_cast<double>(plain.result.iterations), 1);
  EXPECT_FALSE(std::isnan(plain.result.condition));
  EXPECT_TRUE(std::isnan(flexible.result.condition));
}

/// Several tiles, and iterations enough for residuals to be computed anew.
TEST(Krylov, TheSameBitsOnAnyNumberOfThreads) {
  Stream stream(Device::open(Backend::cpu));
  auto const matrix = sparse::stencil_matrix<double>(sparse::Neighbours::axes, {70, 60, 1});
  auto const b = test::random_vector<double>(matrix.rows, 6);
  auto const a = test::operator_of(stream, matrix);
  int const before = host_threads();
  for (auto const method : test::all_methods) {
    Options const options{.tolerance = 1e-6, .iterations = 4000, .restart = 40};
    set_host_threads(1);
    auto const one = test::solve_krylov(stream, method, a, b, options);
    EXPECT_TRUE(one.result.converged()) << name_of(method) << one.result.advice;
    EXPECT_GT(one.result.iterations, 50);
    set_host_threads(3);
    auto const three = test::solve_krylov(stream, method, a, b, options);
    EXPECT_EQ(three.x, one.x) << name_of(method);
    EXPECT_EQ(three.result.history, one.result.history) << name_of(method);
  }
  set_host_threads(before);
}

/// Second differences that take whole steps: the textbook's form comes to the same.
TEST(Krylov, StepsThatAnOperatorTakes) {
  Stream stream(Device::open(Backend::cpu));
  constexpr std::int64_t n = 200;
  auto const difference = [](auto const& at, std::int64_t i) {
    return 2 * at(i) - (i > 0 ? at(i - 1) : 0) - (i + 1 < n ? at(i + 1) : 0);
  };
  auto plain = test::operator_of(stream, test::second_differences<double>(n));
  auto fused = plain;
  int calls = 0;
  fused.fused = {
      .partials = n,
      .direct =
          [&](Stream&, int const* stop, double const* beta, std::span<double const> r,
              std::span<double const> p, std::span<double> q, std::span<double> sums) {
            if (*stop != 0) return;
            ++calls;
            auto const at = [&](std::int64_t i) {
              return r[static_cast<std::size_t>(i)] + *beta * p[static_cast<std::size_t>(i)];
            };
            for (std::int64_t i = 0; i < n; ++i) {
              q[static_cast<std::size_t>(i)] = at(i);
              sums[static_cast<std::size_t>(i)] = at(i) * difference(at, i);
            }
          },
      .descend =
          [&](Stream&, int const* stop, double const* alpha, std::span<double const> q,
              std::span<double> x, std::span<double> r, std::span<double> sums) {
            if (*stop != 0) return;
            auto const at = [&](std::int64_t i) { return q[static_cast<std::size_t>(i)]; };
            for (std::int64_t i = 0; i < n; ++i) {
              auto const k = static_cast<std::size_t>(i);
              x[k] += *alpha * q[k];
              r[k] -= *alpha * difference(at, i);
              sums[k] = r[k] * r[k];
            }
          }};
  auto const b = test::random_vector<double>(n, 2);
  auto const expected = test::solve_krylov(stream, Method::cg, plain, b, {.tolerance = 1e-10});
  auto const found = test::solve_krylov(stream, Method::cg, fused, b, {.tolerance = 1e-10});
  EXPECT_TRUE(found.result.converged());
  EXPECT_GE(calls, found.result.iterations);
  EXPECT_NEAR(static_cast<double>(found.result.iterations),
              static_cast<double>(expected.result.iterations), 5);
  EXPECT_LE(test::residual_of(test::second_differences<double>(n), found.x, b), 1.001e-10);
  // Of an indefinite one these steps tell it by p·A·p itself.
  auto const negative = fused.fused.direct;
  fused.fused.direct = [=](Stream& s, int const* stop, double const* beta, auto r, auto p, auto q,
                           std::span<double> sums) {
    negative(s, stop, beta, r, p, q, sums);
    for (double& sum : sums) sum = -sum;
  };
  auto const wrong = test::solve_krylov(stream, Method::cg, fused, b);
  EXPECT_EQ(static_cast<int>(wrong.result.outcome), static_cast<int>(Outcome::indefinite));
}

TEST(Krylov, ProgressIsTold) {
  Stream stream(Device::open(Backend::cpu));
  auto const a = test::operator_of(stream, test::second_differences<double>(90));
  auto const b = test::random_vector<double>(90, 1);
  std::vector<Progress> told;
  Options options;
  options.progress = [&](Progress const& progress) { told.push_back(progress); };
  auto const result = test::solve_krylov(stream, Method::cg, a, b, options).result;
  ASSERT_EQ(static_cast<std::int64_t>(told.size()), result.iterations);
  EXPECT_EQ(told.back().iteration, result.iterations);
  EXPECT_EQ(told.back().residual_norm, result.history.back());
  options.progress = [](Progress const&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(test::solve_krylov(stream, Method::gmres, a, b, options), std::runtime_error);
}

TEST(Krylov, Refusals) {
  Stream stream(Device::open(Backend::cpu));
  auto const a = test::operator_of(stream, test::second_differences<double>(5));
  std::vector<double> b(5), x(5);
  auto const refused = [&](Options const& options, std::size_t size = 5) {
    return gridstride::test::refusal([&] {
      solve<double>(stream, Method::cg, a, {}, std::span(b).first(size), std::span(x), options);
    });
  };
  EXPECT_EQ(refused({}, 4), "krylov: right has 4 elements, it needs 5");
  EXPECT_EQ(refused({.tolerance = 0}), "krylov: a tolerance of 0 (it lies between 0 and 1)");
  EXPECT_EQ(refused({.tolerance = std::numeric_limits<double>::quiet_NaN()}),
            "krylov: a tolerance of nan (it lies between 0 and 1)");
  EXPECT_EQ(refused({.iterations = 0}), "krylov: there has to be one iteration at least");
  EXPECT_EQ(refused({.restart = 1001}), "krylov: a restart of 1001 (it lies between 1 and 1000)");
  EXPECT_EQ(refused({.replace_every = 0}),
            "krylov: the residual is computed anew after 1 iteration at least");
  EXPECT_EQ(gridstride::test::refusal(
                [&] { solve<double>(stream, Method::cg, a, {}, std::span(x), std::span(x)); }),
            "krylov: right (5 elements) and solution (5 elements) overlap");
  b = {1, 2, 0, 4, 5};
  EXPECT_EQ(gridstride::test::refusal([&] { jacobi<double>(stream, b); }),
            "krylov: element 2 of the diagonal is 0 (Jacobi's preconditioner divides by it)");
  b = {1, 2, -3, 4, 5};
  EXPECT_EQ(
      gridstride::test::refusal([&] { chebyshev<double>(stream, a, b, 4); }),
      "krylov: element 2 of the diagonal is -3 (Chebyshev's preconditioner takes positive ones)");
  EXPECT_EQ(gridstride::test::refusal([&] { chebyshev<double>(stream, a, b, 0); }),
            "krylov: 3 products for eigenvalues in [0/30, 0]");
  auto const together = [&](Method method, std::int64_t count, Operator<double> const& of) {
    return gridstride::test::refusal(
        [&] { solve_together<double>(stream, method, of, {}, std::span(b), std::span(x), count); });
  };
  EXPECT_EQ(together(Method::cg, 0, a), "krylov: 0 right-hand sides (1 to 64 go together)");
  EXPECT_EQ(together(Method::cg, 65, a), "krylov: 65 right-hand sides (1 to 64 go together)");
  EXPECT_EQ(together(Method::cg, 2, a), "krylov: right has 5 elements, it needs 10");
  std::string const by_products =
      "krylov: right-hand sides go together by products alone, and not by gmres";
  EXPECT_EQ(together(Method::gmres, 1, a), by_products);
  auto planes = a;
  planes.plane = 5;
  EXPECT_EQ(together(Method::cg, 1, planes), by_products);
  auto const nothing = solve<double>(stream, Method::gmres, {.size = 0, .apply = {}}, {},
                                     std::span<double>(), std::span<double>());
  EXPECT_TRUE(nothing.converged());
}

}  // namespace
}  // namespace gridstride::krylov
