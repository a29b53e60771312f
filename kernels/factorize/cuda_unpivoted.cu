// LU without exchanges of rows, blocked and right-looking. The rungs are those of LU: `blocked` on
// one stream, `look_ahead` on two. Of a panel of 256 rows and columns:
//
//   L₁₁·U₁₁ = A₁₁                    factor_square    128 rows at a time, one block
//   U₁₂ = L₁₁⁻¹·A₁₂, L₂₁ = A₂₁·U₁₁⁻¹  solve_strips     both in one launch
//   A₂₂ −= L₂₁·U₁₂                   matmul           8 bytes of A for 512 operations
//
// Without a search for pivots, a square is all that the next panel has to wait for: with look-ahead
// it is updated and factored first, beside the update of the rest, which leaves a few
// multiprocessors free for it.

#include <algorithm>

#include "core/buffer.hpp"
#include "kernels/factorize/panel.hpp"
#include "kernels/matmul/matmul.hpp"

namespace gridstride::factorize {

namespace {

/// Multiprocessors for the next square, beside the update.
constexpr int square_processors = 4;

template <class T>
class UnpivotedLu {
 public:
  UnpivotedLu(Stream& stream, Arguments<T> const& arguments, bool look_ahead)
      : stream_(stream),
        a_(arguments.a),
        n_(arguments.a.rows),
        status_(arguments.status),
        matmul_(arguments.matmul),
        go_on_(arguments.go_on),
        spared_(look_ahead ? square_processors : 0),
        square_stream_(look_ahead ? stream.urgent() : stream),
        panel_rows_(strip_rows<T>(stream.device())),
        inverses_(stream, MemorySpace::device, std::size_t{panel_limit} * 2 * inverse_rows) {}

  void factor();

 private:
  void factor_range(Stream& stream, std::int64_t begin, std::int64_t end, T* inverses);
  /// A −= L·U with the columns [panel, first) of L and the rows [panel, first) of U, for the rows
  /// [i0, i1) and columns [j0, j1).
  void subtract(Stream& stream, std::int64_t panel, std::int64_t first, std::int64_t i0,
                std::int64_t i1, std::int64_t j0, std::int64_t j1, int spared);
  Matrix<T> block(std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) const {
    return a_.block(i0, j0, i1 - i0, j1 - j0);
  }

  Stream& stream_;
  Matrix<T> a_;
  std::int64_t n_;
  std::int32_t* status_;
  std::string_view matmul_;
  std::function<bool(std::int64_t)> const& go_on_;
  int spared_;
  Stream square_stream_;
  std::int64_t panel_rows_;
  Buffer<T> inverses_;
};

template <class T>
void UnpivotedLu<T>::factor() {
  zero_async(std::span(status_, 1), stream_);
  auto const end_of = [&](std::int64_t begin) { return std::min(begin + panel_rows_, n_); };
  factor_range(stream_, 0, end_of(0), inverses_.data());
  for (std::int64_t begin = 0; end_of(begin) < n_; begin += panel_rows_) {
    std::int64_t const end = end_of(begin), next = end_of(end);
    solve_strips<T>(stream_, block(begin, n_, begin, n_), static_cast<int>(panel_rows_),
                    inverses_.data());
    if (begin == 0 && go_on_ && !go_on_(end)) return;
    follow(square_stream_, stream_);
    subtract(square_stream_, begin, end, end, next, end, next, 0);
    factor_range(square_stream_, end, next, inverses_.data());
    subtract(stream_, begin, end, end, next, next, n_, spared_);
    subtract(stream_, begin, end, next, n_, end, n_, spared_);
    follow(stream_, square_stream_);
  }
}

/// Factors the square with these rows and columns, by halves.
template <class T>
void UnpivotedLu<T>::factor_range(Stream& stream, std::int64_t begin, std::int64_t end,
                                  T* inverses) {
  std::int64_t const middle = std::min(begin + square_limit, end);
  factor_square(stream, block(begin, middle, begin, middle), inverses, begin, status_);
  if (middle == end) return;
  solve_strips<T>(stream, block(begin, end, begin, end), square_limit, inverses);
  subtract(stream, begin, middle, middle, end, middle, end, 0);
  factor_square(stream, block(middle, end, middle, end), inverses + square_limit * 2 * inverse_rows,
                middle, status_);
}

template <class T>
void UnpivotedLu<T>::subtract(Stream& stream, std::int64_t panel, std::int64_t first,
                              std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1,
                              int spared) {
  if (i0 == i1 || j0 == j1) return;
  matmul::multiply(stream, -1, block(i0, i1, panel, first), block(panel, first, j0, j1), 1,
                   block(i0, i1, j0, j1), matmul_, spared);
}

}  // namespace

template <class T>
void unpivoted_lu_on_gpu(Stream& stream, Arguments<T> const& arguments, bool look_ahead) {
  UnpivotedLu<T>(stream, arguments, look_ahead).factor();
}

template void unpivoted_lu_on_gpu(Stream&, Arguments<float> const&, bool);
template void unpivoted_lu_on_gpu(Stream&, Arguments<double> const&, bool);

}  // namespace gridstride::factorize
