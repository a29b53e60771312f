#include "kernels/modes/modes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels/modes/functions.hpp"
#include "support/modes_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using namespace test;
using modes::Complex;
using modes::Matrix;
using modes::MatrixFunction;

using Long = std::complex<long double>;
using Square = std::vector<std::vector<Long>>;

struct Weights {
  double argument;
  std::array<double, 4> weights;
};
/// Those of etdrk4, and each φ by itself.
constexpr Weights functions[] = {
    {0.5, {1, 0, 0, 0}}, {0.5, {0, 0.5, 0, 0}}, {1, {1, 0, 0, 0}},
    {1, {0, 1, -3, 4}},  {1, {0, 0, 2, -4}},    {1, {0, 0, -1, 4}},
    {1, {0, 1, 0, 0}},   {1, {0, 0, 1, 0}},     {1, {0, 0, 0, 1}},
};
MatrixFunction made(Weights const& f) {
  auto const& w = f.weights;
  return modes::entire(f.argument, w[0], w[1], w[2], w[3]);
}

/// In extended precision: by the series of each φ near 0, else by what they are made of.
Long exact(Weights const& f, Long z) {
  z *= static_cast<long double>(f.argument);
  bool const is_near = std::abs(z) < 3;
  Long sum = 0;
  std::array<long double, 4> powers{};  // of 1/z, beside exp
  for (std::size_t l = 0; l < 4; ++l) {
    long double const weight = static_cast<long double>(f.weights[l]);
    if (!is_near) sum += weight * std::exp(z) / std::pow(z, static_cast<int>(l));
    Long term = weight;
    for (std::size_t i = 2; i <= l; ++i) term /= static_cast<long double>(i);
    for (int k = 0; is_near && k < 60; ++k) {
      sum += term;
      term *= z / static_cast<long double>(static_cast<std::size_t>(k) + 1 + l);
    }
    long double factorial = 1;  // of l − p
    for (std::size_t p = l; p > 0; --p) {
      powers[p] += weight / factorial;
      factorial *= static_cast<long double>(l - p + 1);
    }
  }
  for (int p = 1; !is_near && p < 4; ++p)
    sum -= powers[static_cast<std::size_t>(p)] / std::pow(z, p);
  return sum;
}

/// What rounding does to the sum that is the function there.
double condition(Weights const& f, Complex z) {
  auto const g = made(f);
  double const size = f.argument * std::hypot(z.re, z.im);
  double sum = 0;
  if (size <= 2) {
    for (int k = 0; k < MatrixFunction::series_terms; ++k)
      sum += std::abs(g.series[k]) * std::pow(size, k);
    return sum;
  }
  // The argument of exp is rounded, too.
  double const growth = std::exp(f.argument * z.re) * (1 + size);
  for (int l = 0; l < 4; ++l)
    sum += (growth * std::abs(g.weights[l]) + std::abs(g.tail[l])) / std::pow(size, l);
  return sum;
}

TEST(ModeFunctions, NumbersFromTinyToHuge) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  for (auto const& f : functions) {
    auto const g = made(f);
    for (double size = 1e-12; size < 2e6; size *= 1.7)
      for (Complex const way : {Complex{-1, 0}, Complex{0, 1}, Complex{-0.6, 0.8},
                                Complex{-0.999, -0.0447}, Complex{1, 0}}) {
        if (way.re > 0 && size > 100) continue;  // e^z is beyond what counts
        Complex const z = size * way, found = modes::value_at(g, z);
        Long const reference = exact(f, {z.re, z.im});
        double const error = static_cast<double>(std::abs(Long{found.re, found.im} - reference));
        EXPECT_LE(error, 8 * epsilon * condition(f, z)) << z.re << ' ' << z.im;
      }
  }
}

// What decays as 1/z² keeps its digits there: φ_1 − 3φ_2 + 4φ_3 is −1/z² − 4/z³.
TEST(ModeFunctions, DecayKeepsItsDigits) {
  auto const f = modes::entire(1, 0, 1, -3, 4);
  for (double z = -50; z > -2e6; z *= 3) {
    double const expected = -1 / (z * z) - 4 / (z * z * z);
    EXPECT_NEAR(modes::value_at(f, {z, 0}).re / expected, 1, 1e-15) << z;
  }
}

Square times(Square const& a, Square const& b) {
  Square c(a.size(), std::vector<Long>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j)
      for (std::size_t k = 0; k < a.size(); ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}

/// exp in extended precision, by its series for a part of the matrix, and squares of that.
Square exponential(Square a) {
  constexpr int halvings = 12, terms = 30;
  for (auto& row : a)
    for (Long& value : row) value = std::ldexp(1.0L, -halvings) * value;
  Square sum(a.size(), std::vector<Long>(a.size())), term = sum;
  for (std::size_t i = 0; i < a.size(); ++i) term[i][i] = 1;
  for (int k = 1; k <= terms; ++k) {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j) sum[i][j] += term[i][j];
    term = times(term, a);
    for (auto& row : term)
      for (Long& value : row) value /= static_cast<long double>(k);
  }
  for (int i = 0; i < halvings; ++i) sum = times(sum, sum);
  return sum;
}

/// Σ w_l·φ_l(argument·A): the φ_l stand in the first rows of exp of A beside a chain of ones
/// (Y. Saad, SIAM J. Numer. Anal. 29 (1992)).
template <int m>
Square exact_function(Weights const& f, Matrix<m> const& a) {
  Square chain(4 * m, std::vector<Long>(4 * m));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j)
      chain[i][j] = Long{a.at[i][j].re, a.at[i][j].im} * static_cast<long double>(f.argument);
    for (std::size_t l = 0; l < 3; ++l) chain[l * m + i][(l + 1) * m + i] = 1;
  }
  auto const all = exponential(chain);
  Square sum(m, std::vector<Long>(m));
  for (std::size_t l = 0; l < 4; ++l)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < m; ++j)
        sum[i][j] += static_cast<long double>(f.weights[l]) * all[i][l * m + j];
  return sum;
}

/// The largest error of an entry, beside the largest entry or 1.
template <int m>
double largest_error(Weights const& f, Matrix<m> const& a) {
  auto const found = modes::function_of(made(f), a, modes::schur(a));
  auto const reference = exact_function(f, a);
  double most = 0, largest = 1;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      double const error = static_cast<double>(
          std::abs(Long{found.at[i][j].re, found.at[i][j].im} - reference[i][j]));
      most = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(most, error);
      largest = std::max(largest, static_cast<double>(std::abs(reference[i][j])));
    }
  return most / largest;
}

/// Numbers between −1 and 1 that are always the same.
class Random {
 public:
  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
  }

 private:
  std::uint64_t state_ = 7;
};

template <int m>
void check_random_matrices() {
  Random random;
  for (double const size : {1e-9, 0.1, 1.0, 5.0, 30.0})
    for (bool const real : {true, false})
      for (int times = 0; times < 2; ++times) {
        Matrix<m> a;
        for (auto& row : a.at)
          for (Complex& value : row)
            value = {size * random.next(), real ? 0 : size * random.next()};
        // Nothing that grows, as of what spreads; the rest of the row is no larger.
        for (int i = 0; i < m; ++i) a.at[i][i].re = -size * m * std::abs(random.next());
        for (std::size_t f = static_cast<std::size_t>(times); f < std::size(functions); f += 2)
          EXPECT_LE(largest_error(functions[f], a), 1e-14 * (1 + size * m)) << m << ' ' << size;
      }
}

TEST(ModeFunctions, MatricesThatAreFull) {
  check_random_matrices<1>();
  check_random_matrices<2>();
  check_random_matrices<3>();
  check_random_matrices<4>();
}

// Eigenvalues that are equal, or nearly so, with and without a full set of eigenvectors.
TEST(ModeFunctions, MatricesWithEqualEigenvalues) {
  for (double const apart : {0.0, 1e-14, 1e-9, 1e-4, 0.3, 0.999, 1.001})
    for (double const value : {-1e-8, -7.0})
      for (auto const& f : functions) {
        Matrix<2> two;
        two.at[0][0] = {value, 0};
        two.at[1][1] = {value - apart, 0};
        two.at[0][1] = {1, 0};
        EXPECT_LE(largest_error(f, two), 1e-14) << apart << ' ' << value;
        Matrix<4> four;
        for (int i = 0; i < 4; ++i) {
          four.at[i][i] = {value - i * apart, 0};
          for (int j = i + 1; j < 4; ++j) four.at[i][j] = {1, 0.5};
        }
        EXPECT_LE(largest_error(f, four), 1e-13) << apart << ' ' << value;
      }
  // Full, with a double eigenvalue and one eigenvector: [1 1; −1 −1]·2.
  Matrix<2> full;
  full.at[0][0] = full.at[0][1] = {2, 0};
  full.at[1][0] = full.at[1][1] = {-2, 0};
  for (auto const& f : functions) EXPECT_LE(largest_error(f, full), 1e-14);
}

// One field that decays within 1e-10 of a step, and one that hardly does: what is slow stays right.
TEST(ModeFunctions, StiffBesideSlow) {
  Matrix<2> a;
  a.at[0][0] = {-1e10, 0};
  a.at[0][1] = {1, 0};
  a.at[1][0] = {2, 0};
  a.at[1][1] = {-0.25, 0};
  auto const f = modes::entire(1, 1, 0, 0, 0);
  auto const found = modes::function_of(f, a, modes::schur(a));
  // The slow eigenvalue is −1/4 + 2/1e10, but for 1e-20.
  EXPECT_NEAR(found.at[1][1].re, std::exp(-0.25 + 2e-10), 1e-15);
  EXPECT_NEAR(found.at[0][0].re, 0, 1e-15);
  EXPECT_NEAR(found.at[0][1].re, std::exp(-0.25 + 2e-10) / (1e10 - 0.25), 1e-25);
}

TEST(ModeFunctions, Solves) {
  // (2 − 0.5·A)⁻¹·(1 + 3·A) for A = [0 1; −1 0], with which 1 is turned: as of the number i.
  Matrix<2> a;
  a.at[0][1] = {1, 0};
  a.at[1][0] = {-1, 0};
  auto const found = modes::function_of(modes::rational(1, 3, 2, -0.5), a, modes::schur(a));
  auto const expected = std::complex<double>(1, 3) / std::complex<double>(2, -0.5);
  EXPECT_NEAR(found.at[0][0].re, expected.real(), 1e-15);
  EXPECT_NEAR(found.at[0][1].re, expected.imag(), 1e-15);
  EXPECT_NEAR(found.at[1][0].re, -expected.imag(), 1e-15);
  EXPECT_NEAR(found.at[1][1].re, expected.real(), 1e-15);
}

TEST(Modes, RowsAgree) {
  Stream stream(Device::open(Backend::cpu));
  check_rows<double>(stream, "reference", "threads");
  check_rows<float>(stream, "reference", "threads");
}

TEST(Modes, Refusals) {
  Stream stream(Device::open(Backend::cpu));
  modes::Combination<float> sums;
  sums.layout.kept[0] = 2;
  EXPECT_EQ(refusal([&] { modes::run<float>(stream, sums); }),
            "modes: a layout keeps other modes than there are");
  modes::Update<float> update;
  update.outputs = 1;
  EXPECT_EQ(refusal([&] { modes::run<float>(stream, update); }),
            "modes: a result of an update is missing");
  EXPECT_EQ(refusal([&] { modes::run<float>(stream, modes::Update<float>{}, "each"); }),
            "modes: cpu has no variant 'each'");
}

}  // namespace
}  // namespace gridstride
