#include "kernels/reduce/field.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "kernels/reduce/running_rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::reduce {

namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

std::int64_t values_of_plane(int dims, std::array<std::int64_t, 3> const& points) {
  std::int64_t values = 1;
  for (int axis = 0; axis < dims - 1; ++axis) values *= points[static_cast<std::size_t>(axis)];
  return values;
}

bool by_columns(Backend backend, int dims) { return backend == Backend::cuda && dims == 2; }

/// Columns of all parts of a grid that are reduced by themselves, and the numbers that each has.
std::size_t columns_of(Backend backend, int dims, std::array<std::int64_t, 3> const& points) {
  if (!by_columns(backend, dims)) return 0;
  return static_cast<std::size_t>(parts_of_rows(points[1], points) * points[0]);
}
constexpr std::size_t numbers_of_column = 3;

/// Parts of more values than a tile may have are cut into tiles that are about as large as each other.
TileCuts cuts_of(int dims, std::array<std::int64_t, 3> const& points) {
  std::int64_t const part =
      planes_of_part(Backend::cpu, dims, points) * values_of_plane(dims, points);
  std::int64_t const tiles = (part + running_tile - 1) / running_tile;
  if (tiles == 1) return {part, part};
  return {part, rounded_up((part + tiles - 1) / tiles, 4)};
}

}  // namespace

/// Of a small grid 32 parts or more, that it may be cut into, of a larger one at least as many values
/// as are worth a part, and no more parts than are added quickly. Where that leaves enough of them,
/// each begins at a multiple of 16 bytes.
std::int64_t planes_of_part(Backend backend, int dims, std::array<std::int64_t, 3> const& points) {
  if (by_columns(backend, dims)) return rows_of_part(points);
  constexpr std::int64_t least_parts = 32, most_parts = 4096, most_worth = 4096, vector = 4;
  std::int64_t const planes = points[static_cast<std::size_t>(dims - 1)];
  std::int64_t const line = values_of_plane(dims, points);
  std::int64_t const worth = std::clamp<std::int64_t>(line * planes / least_parts, 1, most_worth);
  std::int64_t const of_part =
      std::max({std::int64_t{1}, (planes + most_parts - 1) / most_parts, worth / line});
  std::int64_t const together = vector / std::gcd(vector, line);
  return planes >= least_parts * together ? rounded_up(of_part, together) : of_part;
}

template <class T>
FieldReduction<T>::FieldReduction(Stream const& stream, FieldOperation<T> const& operation)
    : operation_(operation), cuts_(cuts_of(operation.dims, operation.points)) {
  auto const& [dims, points, spacing, wraps] = operation;
  if (by_columns(stream.backend(), dims)) {
    columns_.emplace(stream, FieldOperation<double>{dims, points, spacing, wraps}, 1);
    of_columns_ = Buffer<double>(stream, MemorySpace::device,
                                 numbers_of_column * columns_of(stream.backend(), dims, points));
    return;
  }
  sums_ = Buffer<FieldNumbers>(stream, MemorySpace::device,
                               static_cast<std::size_t>(sums_of(stream.backend(), operation)));
}

template <class T>
std::size_t FieldReduction<T>::bytes(Backend backend, FieldOperation<T> const& operation) {
  auto const& [dims, points, spacing, wraps] = operation;
  std::size_t const counter = by_columns(backend, dims) ? sizeof(unsigned) : 0;
  return static_cast<std::size_t>(sums_of(backend, operation)) * sizeof(FieldNumbers) + counter +
         numbers_of_column * columns_of(backend, dims, points) * sizeof(double);
}

template <class T>
std::int64_t FieldReduction<T>::sums_of(Backend backend, FieldOperation<T> const& operation) {
  auto const& [dims, points, spacing, wraps] = operation;
  if (by_columns(backend, dims)) return ColumnReduction::sums_of(points);
  return cuts_of(dims, points)
      .count(values_of_plane(dims, points) * points[static_cast<std::size_t>(dims - 1)]);
}

template <class T>
std::int64_t FieldReduction<T>::plane_values() const {
  return values_of_plane(operation_.dims, operation_.points);
}

template <class T>
void FieldReduction<T>::find(Stream& stream, std::span<T const> values,
                             std::span<FieldNumbers> result) {
  if (std::ssize(values) != planes() * plane_values())
    throw std::invalid_argument(fmt::format("field reduction: {} elements in place of {}",
                                            values.size(), planes() * plane_values()));
  find_parts(stream, 0, values);
  finish(stream, result);
}

template <class T>
void FieldReduction<T>::find_parts(Stream& stream, std::int64_t first_plane,
                                   std::span<T const> values) {
  std::int64_t const first = first_plane * plane_values(), last = first + std::ssize(values);
  std::int64_t const part =
      columns_ ? rows_of_part(operation_.points) * plane_values() : cuts_.part;
  if (first % part != 0 || (last % part != 0 && last != planes() * plane_values()))
    throw std::invalid_argument("field reduction: planes that cut a part");
  if (values.empty()) return;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (columns_) {
    std::int64_t const rows = std::ssize(values) / plane_values();
    std::int64_t const parts = parts_of_rows(rows, operation_.points);
    auto const all = of_columns_.size() / numbers_of_column;
    FieldColumns const columns = {of_columns_.data(), of_columns_.data() + all,
                                  of_columns_.data() + 2 * all};
    cuda_columns(stream, operation_, values.data(), first_plane, rows, columns);
    return columns_->find_parts(stream, first / part, parts, std::span(&columns, 1));
  }
#endif
  find_tiles<FieldOperation<T>>(stream,
                                {operation_, values.data(), nullptr, first, std::ssize(values),
                                 sums_.data() + cuts_.count(first), cuts_});
}

template <class T>
void FieldReduction<T>::finish(Stream& stream, std::span<FieldNumbers> result) {
  require_size("field reduction", named("result", result), 1);
  if (columns_) {
    FieldNumbers* const to = result.data();
    return columns_->finish(stream, std::span(&to, 1));
  }
  combine_tiles(stream, operation_, sums_.data(), std::ssize(sums_.span()), result.data());
}

template class FieldReduction<float>;
template class FieldReduction<double>;

}  // namespace gridstride::reduce
