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

template void fill_right(Stream&, config::RunConfig const&, Inputs const&, std::span<float>,
                         PhaseTimes*);
template void fill_right(Stream&, config::RunConfig const&, Inputs const&, std::span<double>,
                         PhaseTimes*);

}  // namespace gridstride::linear_system
