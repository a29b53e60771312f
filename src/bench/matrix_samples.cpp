#include "bench/matrix_samples.hpp"

#include <algorithm>

#include "core/buffer.hpp"

namespace gridstride::bench {

namespace {

constexpr std::int64_t most_places = 64;

/// Elements that are brought over at a time to take columns from.
constexpr std::int64_t piece_elements = std::int64_t{1} << 23;

template <class T>
std::span<T const> rows_of(Matrix<T const> const& matrix, std::int64_t first, std::int64_t count) {
  return {matrix.data + first * matrix.columns, static_cast<std::size_t>(count * matrix.columns)};
}

}  // namespace

std::vector<std::int64_t> spread(std::int64_t size) {
  std::int64_t const count = std::min(size, most_places);
  std::vector<std::int64_t> chosen;
  for (std::int64_t s = 0; s < count; ++s)
    chosen.push_back(count == 1 ? 0 : s * (size - 1) / (count - 1));
  return chosen;
}

template <class T>
std::vector<T> sampled_rows(Stream& stream, Matrix<T const> matrix,
                            std::span<std::int64_t const> chosen) {
  auto const columns = static_cast<std::size_t>(matrix.columns);
  std::vector<T> rows(chosen.size() * columns);
  for (std::size_t s = 0; s < chosen.size(); ++s)
    copy_async(std::span(rows).subspan(s * columns, columns), rows_of(matrix, chosen[s], 1),
               stream);
  stream.synchronize();
  return rows;
}

template <class T>
std::vector<T> sampled_columns(Stream& stream, Matrix<T const> matrix,
                               std::span<std::int64_t const> chosen) {
  std::int64_t const at_once =
      std::clamp<std::int64_t>(piece_elements / matrix.columns, 1, matrix.rows);
  std::vector<T> piece(static_cast<std::size_t>(at_once * matrix.columns));
  std::vector<T> columns(chosen.size() * static_cast<std::size_t>(matrix.rows));
  for (std::int64_t first = 0; first < matrix.rows; first += at_once) {
    std::int64_t const count = std::min(at_once, matrix.rows - first);
    auto const source = rows_of(matrix, first, count);
    copy_async(std::span(piece).first(source.size()), source, stream);
    stream.synchronize();
    for (std::size_t s = 0; s < chosen.size(); ++s)
      for (std::int64_t i = 0; i < count; ++i)
        columns[s * matrix.rows + first + i] = piece[i * matrix.columns + chosen[s]];
  }
  return columns;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                \
  template std::vector<T> sampled_rows(Stream&, Matrix<T const>, std::span<std::int64_t const>); \
  template std::vector<T> sampled_columns(Stream&, Matrix<T const>, std::span<std::int64_t const>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::bench
