#include "simulations/linear_system_right.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"

namespace gridstride::linear_system {

template <class T>
void fill_right(Stream& stream, config::RunConfig const& run, Inputs const& inputs,
                std::span<T> target, PhaseTimes* times) {
  auto const all = extents_of(run, inputs);
  auto const& sides = parameters_of(run).rhs;
  if (sides.size() == 1)
    return fill(stream, sides.front().source, all.formula_grid(), inputs, target, times);
  zero_async(target, stream);
  std::int64_t first = 0;
  for (RightHandSides const& some : sides) {
    Extents const own = {all.rows, columns_of(some, inputs, all.rows).first};
    Buffer<T> part(stream, MemorySpace::device, static_cast<std::size_t>(own.size()));
    fill(stream, some.source, own.formula_grid(), inputs, part.span(), times);
    elementwise::Matrix<T> const to = {target.data() + first, all.rows, own.columns, all.columns};
    elementwise::matrix_add<T>(stream, {part.data(), own.rows, own.columns, own.columns},
                               {to.data, to.rows, to.columns, to.stride}, to);
    first += own.columns;
  }
  stream.synchronize();
}

Csr<double>::Array<double> columns_of_right(Stream& stream, config::RunConfig const& run,
                                            Inputs const& inputs, PhaseTimes* times) {
  auto const all = extents_of(run, inputs);
  Buffer<double> there(stream, MemorySpace::device, static_cast<std::size_t>(all.size()));
  fill_right(stream, run, inputs, there.span(), times);
  if (auto const place = first_non_finite<double>(stream, std::as_const(there).span(), "auto");
      place >= 0)
    throw ConfigError({not_finite(run, inputs, place)});
  auto const n = static_cast<std::size_t>(all.rows);
  Csr<double>::Array<double> values(there.size());
  Buffer<double> column(stream, MemorySpace::device, n);
  auto const columns = static_cast<int>(all.columns);
  for (int j = 0; j < columns; ++j) {
    elementwise::component<double>(stream, std::as_const(there).span(), columns, j, column.span());
    copy_async(std::span(values).subspan(static_cast<std::size_t>(j) * n, n),
               std::as_const(column).span(), stream);
  }
  stream.synchronize();
  return values;
}

template <class T>
void require_solvable_rows(Csr<T> const& rows, std::int64_t first_empty,
                           std::span<double const> columns_of_right) {
  if (first_empty < 0) return;
  auto const n = static_cast<std::size_t>(rows.rows);
  for (auto row = static_cast<std::size_t>(first_empty); row < n; ++row) {
    auto const begin = rows.values.begin() + rows.offsets[row];
    auto const end = rows.values.begin() + rows.offsets[row + 1];
    if (std::any_of(begin, end, [](T value) { return value != T{0}; })) continue;
    for (std::size_t at = row; at < columns_of_right.size(); at += n)
      if (double const value = columns_of_right[at]; value != 0)
        throw NumericalError(fmt::format(
            "linear_system: row {} of the matrix, counted from 0, has no element but 0, "
            "and the right-hand side is {} there: no x solves it",
            row, value));
  }
}

void note_right(MemoryForecast& forecast, config::RunConfig const& run, Inputs const& inputs) {
  auto const all = extents_of(run, inputs);
  auto const& sides = parameters_of(run).rhs;
  std::size_t most = 0;
  for (RightHandSides const& some : sides) {
    auto const columns = columns_of(some, inputs, all.rows).first;
    auto const values = static_cast<std::size_t>(all.rows * columns);
    note_reading(forecast, some.source, values);
    most = std::max(most, values);
  }
  if (sides.size() > 1) forecast.other_bytes += most * sizeof(double);
}

config::Location const& location_of_right(config::RunConfig const& run, Inputs const& inputs,
                                          std::int64_t column) {
  auto const& sides = parameters_of(run).rhs;
  auto const n = extents_of(run, inputs).rows;
  auto side = sides.begin();
  for (; std::next(side) != sides.end(); ++side) {
    column -= columns_of(*side, inputs, n).first;
    if (column < 0) break;
  }
  return side->source.location;
}

Problem not_finite(config::RunConfig const& run, Inputs const& inputs, std::int64_t place) {
  auto const columns = extents_of(run, inputs).columns;
  return run.problem(location_of_right(run, inputs, place % columns),
                     fmt::format("is not finite at i = {}, j = {} (all values have to be finite)",
                                 place / columns, place % columns));
}

template void require_solvable_rows(Csr<float> const&, std::int64_t, std::span<double const>);
template void require_solvable_rows(Csr<double> const&, std::int64_t, std::span<double const>);
template void fill_right(Stream&, config::RunConfig const&, Inputs const&, std::span<float>,
                         PhaseTimes*);
template void fill_right(Stream&, config::RunConfig const&, Inputs const&, std::span<double>,
                         PhaseTimes*);

}  // namespace gridstride::linear_system
