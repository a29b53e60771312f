#include "kernels/eigen/basis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/eigen/rows.hpp"

namespace gridstride::eigen {

namespace {

/// Of what is found from a Gram matrix, a square: below it roundings are all that there is.
constexpr double nothing = 1e-14;
constexpr int most_rounds = 6;

/// Rows of factors that make vectors with the Gram matrix `g` orthonormal; `norms` are the squares of
/// what they were before something was taken off them.
struct Whitening {
  Small factors;
  bool is_near = true;  ///< the vectors were nearly orthonormal before, but for their norms
};

Whitening whiten(Small const& g, std::vector<double> const& norms) {
  int const n = g.rows;
  std::vector<double> scale(static_cast<std::size_t>(n), 0.0);
  Whitening result;
  for (int i = 0; i < n; ++i) {
    auto const at = static_cast<std::size_t>(i);
    if (g(i, i) > nothing * norms[at] && std::isfinite(g(i, i))) scale[at] = 1 / std::sqrt(g(i, i));
    if (g(i, i) < 0.5 * norms[at]) result.is_near = false;
  }
  Small scaled(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      scaled(i, j) = (g(i, j) + g(j, i)) / 2 * scale[static_cast<std::size_t>(i)] *
                     scale[static_cast<std::size_t>(j)];
  auto const values = decompose_small(scaled);
  double const largest = values.empty() ? 0 : values.back();
  std::vector<int> kept;
  for (int i = n - 1; i >= 0; --i)
    if (values[static_cast<std::size_t>(i)] > nothing * largest && largest > 0) kept.push_back(i);
  result.factors = Small(static_cast<int>(kept.size()), n);
  for (int i = 0; i < result.factors.rows; ++i) {
    int const from = kept[static_cast<std::size_t>(i)];
    double const value = values[static_cast<std::size_t>(from)];
    if (value < 0.5 || value > 2) result.is_near = false;
    for (int j = 0; j < n; ++j)
      result.factors(i, j) =
          scaled(from, j) * scale[static_cast<std::size_t>(j)] / std::sqrt(value);
  }
  if (result.factors.rows < n) result.is_near = false;
  return result;
}

/// Of `rows`, those of `used` without their parts along `against`, whitened: the factors of both, from
/// the products of all with the rows.
struct Round {
  Small factors;
  bool is_near;
};

Round round_of(Small const& products, int against, std::vector<int> const& used) {
  int const n = static_cast<int>(used.size()), rows = products.columns;
  Small along(n, against), g(n, n);
  std::vector<double> norms(used.size());
  for (int i = 0; i < n; ++i) {
    int const column = used[static_cast<std::size_t>(i)];
    for (int k = 0; k < against; ++k) along(i, k) = products(k, column);
    for (int j = 0; j < n; ++j)
      g(i, j) = products(against + column, used[static_cast<std::size_t>(j)]);
    norms[static_cast<std::size_t>(i)] = g(i, i);
  }
  Small const taken = product_transposed(along, along);
  for (std::size_t i = 0; i < g.values.size(); ++i) g.values[i] -= taken.values[i];
  auto const whitening = whiten(g, norms);
  Small const off = product(whitening.factors, along);
  Round round{Small(whitening.factors.rows, against + rows), whitening.is_near};
  for (int i = 0; i < round.factors.rows; ++i) {
    for (int k = 0; k < against; ++k) round.factors(i, k) = -off(i, k);
    for (int j = 0; j < n; ++j)
      round.factors(i, against + used[static_cast<std::size_t>(j)]) = whitening.factors(i, j);
  }
  return round;
}

}  // namespace

std::vector<int> all_of(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

int orthonormalise(Stream& stream, Space const& space, Rows const& against, Rows::Piece const& rows,
                   std::vector<int> used) {
  Rows::Piece piece = rows;
  if (used.empty()) return 0;
  for (int rounds = 0; rounds < most_rounds && !used.empty(); ++rounds) {
    Rows const own{{piece, {}, {}}};
    Rows const all{{against.pieces[0], against.pieces[1], piece}};
    auto const round = round_of(gram(stream, space, all, own), against.count(), used);
    piece.rows = round.factors.rows;
    combine(stream, space, all, round.factors, {{piece, {}, {}}});
    used = all_of(piece.rows);
    if (round.is_near) break;
  }
  return piece.rows;
}

Small orthonormal_part(Small const& against, Small rows) {
  for (int rounds = 0; rounds < most_rounds && rows.rows > 0; ++rounds) {
    Small all(against.rows + rows.rows, rows.columns);
    std::copy(against.values.begin(), against.values.end(), all.values.begin());
    std::copy(rows.values.begin(), rows.values.end(),
              all.values.begin() + std::ssize(against.values));
    auto const round = round_of(product_transposed(all, rows), against.rows, all_of(rows.rows));
    rows = product(round.factors, all);
    if (round.is_near) break;
  }
  return rows;
}

}  // namespace gridstride::eigen
