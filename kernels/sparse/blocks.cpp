#include "kernels/sparse/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/support/arguments.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

namespace {

constexpr auto most = static_cast<std::size_t>(most_block_rows);

/// A block of up to `most` rows, row by row, on its way to its inverse.
class Block {
 public:
  template <class T>
  Block(Csr<T> const& matrix, std::int64_t first, std::int64_t rows)
      : rows_(static_cast<std::size_t>(rows)) {
    std::fill_n(values_.begin(), rows_ * rows_, 0.0);
    for (std::size_t i = 0; i < rows_; ++i) {
      auto const row = static_cast<std::size_t>(first) + i;
      auto const begin = matrix.column_indices.begin() + matrix.offsets[row];
      auto const end = matrix.column_indices.begin() + matrix.offsets[row + 1];
      for (auto at = std::lower_bound(begin, end, first); at != end && *at < first + rows; ++at)
        (*this)(i, static_cast<std::size_t>(*at - first)) = static_cast<double>(
            matrix.values[static_cast<std::size_t>(at - matrix.column_indices.begin())]);
    }
  }

  double operator()(std::size_t i, std::size_t j) const { return values_[i * rows_ + j]; }
  double& operator()(std::size_t i, std::size_t j) { return values_[i * rows_ + j]; }

  /// Returns whether there is one, up to roundings of `epsilon` in what is given.
  bool invert(Blocks kind, double epsilon);

 private:
  std::size_t pivot_row(std::size_t k) const;
  void exchange_rows(std::size_t a, std::size_t b) {
    if (a != b) std::swap_ranges(&(*this)(a, 0), &(*this)(a, 0) + rows_, &(*this)(b, 0));
  }
  void eliminate(std::size_t k);
  void exchange_columns(std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < rows_ && a != b; ++i) std::swap((*this)(i, a), (*this)(i, b));
  }
  void symmetrise();

  std::size_t rows_;
  std::array<double, most * most> values_;
};

std::size_t Block::pivot_row(std::size_t k) const {
  std::size_t found = k;
  for (std::size_t i = k + 1; i < rows_; ++i)
    if (std::abs((*this)(i, k)) > std::abs((*this)(found, k))) found = i;
  return found;
}

/// Unknown k goes to the right side, and its equation to the left.
void Block::eliminate(std::size_t k) {
  double const pivot = (*this)(k, k);
  (*this)(k, k) = 1;
  for (std::size_t j = 0; j < rows_; ++j) (*this)(k, j) /= pivot;
  for (std::size_t i = 0; i < rows_; ++i) {
    if (i == k) continue;
    double const factor = std::exchange((*this)(i, k), 0.0);
    if (factor == 0) continue;
    for (std::size_t j = 0; j < rows_; ++j) (*this)(i, j) -= factor * (*this)(k, j);
  }
}

void Block::symmetrise() {
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t j = 0; j < i; ++j)
      (*this)(i, j) = (*this)(j, i) = ((*this)(i, j) + (*this)(j, i)) / 2;
}

bool Block::invert(Blocks kind, double epsilon) {
  bool const definite = kind == Blocks::definite;
  // What elimination may leave of a pivot that is 0: some ε for each step, of the row's largest.
  std::array<double, most> least{};
  for (std::size_t i = 0; i < rows_; ++i) {
    for (std::size_t j = 0; j < rows_; ++j) least[i] = std::max(least[i], std::abs((*this)(i, j)));
    least[i] *= 8 * epsilon * static_cast<double>(rows_);
  }
  std::array<std::size_t, most> from{};
  for (std::size_t k = 0; k < rows_; ++k) {
    from[k] = definite ? k : pivot_row(k);
    exchange_rows(k, from[k]);
    std::swap(least[k], least[from[k]]);
    double const pivot = definite ? (*this)(k, k) : std::abs((*this)(k, k));
    if (!(pivot > least[k])) return false;
    eliminate(k);
  }
  for (std::size_t k = rows_; k-- > 0;) exchange_columns(k, from[k]);
  if (definite) symmetrise();
  return true;
}

/// Rounds an inverse to T; returns whether T holds it.
template <class T>
bool store(Block const& block, std::size_t rows, std::size_t stride, T* target) {
  bool holds = true;
  for (std::size_t j = 0; j < rows; ++j)
    for (std::size_t i = 0; i < rows; ++i) {
      target[j * stride + i] = static_cast<T>(block(i, j));
      holds = holds && std::isfinite(target[j * stride + i]);
    }
  return holds;
}

}  // namespace

template <class T>
BlockInverses<T> invert_blocks(Csr<T> const& matrix, std::int64_t block_rows, Blocks kind) {
  if (matrix.rows != matrix.columns)
    throw std::invalid_argument(
        fmt::format("sparse: a matrix of {} x {} is not square", matrix.rows, matrix.columns));
  if (block_rows < 1 || block_rows > most_block_rows)
    throw std::invalid_argument(
        fmt::format("sparse: a block has 1 to {} rows, not {}", most_block_rows, block_rows));
  BlockInverses<T> result{matrix.rows, block_rows, {}};
  std::int64_t const blocks = (matrix.rows + block_rows - 1) / block_rows;
  result.values.resize(static_cast<std::size_t>(blocks * block_rows * block_rows));
  std::atomic<std::int64_t> failed = blocks;
  std::int64_t const work = block_rows * block_rows * block_rows + 64;
  parallel_for(blocks, work, [&](std::int64_t k) {
    std::int64_t const first = k * block_rows, rows = std::min(block_rows, matrix.rows - first);
    Block block(matrix, first, rows);
    T* const target = result.values.data() + first * block_rows;
    if (block.invert(kind, std::numeric_limits<T>::epsilon()) &&
        store(block, static_cast<std::size_t>(rows), static_cast<std::size_t>(block_rows), target))
      return;
    for (auto known = failed.load(); k < known;)
      if (failed.compare_exchange_weak(known, k)) break;
  });
  if (failed < blocks) result.failed = failed;
  return result;
}

template <class T>
BlockJacobi<T>::BlockJacobi(Stream& stream, BlockInverses<T> const& inverses)
    : rows_(inverses.rows),
      block_rows_(inverses.block_rows),
      values_(stream, MemorySpace::device, inverses.values.size()) {
  if (inverses.failed >= 0)
    throw std::invalid_argument(fmt::format("sparse: block {} has no inverse", inverses.failed));
  copy_async(values_.span(), std::span(inverses.values), stream);
  stream.synchronize();
}

template <class T>
void BlockJacobi<T>::solve(Stream& stream, std::span<T const> r, std::span<T> z) const {
  auto const rows_of_vector = static_cast<std::size_t>(rows_);
  std::size_t const vectors = rows_ > 0 ? std::max<std::size_t>(1, r.size() / rows_of_vector) : 1;
  require_size("sparse", named("r", r), vectors * rows_of_vector);
  require_size("sparse", named("z", z), vectors * rows_of_vector);
  require_disjoint("sparse", named("r", r), named("z", z));
  if (rows_ == 0) return;
  if (stream.backend() != Backend::cpu) {
#ifdef GRIDSTRIDE_WITH_CUDA
    cuda_multiply_blocks(stream, rows_, block_rows_, values_.data(), r.data(), z.data(),
                         static_cast<std::int64_t>(vectors));
#endif
    return;
  }
  std::int64_t const blocks = (rows_ + block_rows_ - 1) / block_rows_;
  auto const all = static_cast<std::int64_t>(vectors);
  parallel_for(blocks, 2 * block_rows_ * block_rows_ * all, [&](std::int64_t k) {
    std::int64_t const first = k * block_rows_, rows = std::min(block_rows_, rows_ - first);
    T const* const block = values_.data() + first * block_rows_;
    for (std::int64_t v = 0; v < all; ++v) {
      T* const own = z.data() + v * rows_ + first;
      T const* const from = r.data() + v * rows_ + first;
      std::fill_n(own, rows, T{0});
      for (std::int64_t j = 0; j < rows; ++j)
        for (std::int64_t i = 0; i < rows; ++i) own[i] += block[j * block_rows_ + i] * from[j];
    }
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                    \
  template BlockInverses<T> invert_blocks(Csr<T> const&, std::int64_t, Blocks kind); \
  template class BlockJacobi<T>;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse
