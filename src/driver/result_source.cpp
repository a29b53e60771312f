#include "driver/result_source.hpp"

#include <fmt/format.h>

#include <span>

#include "core/error.hpp"
#include "core/nearly_equal.hpp"
#include "core/text.hpp"
#include "io/result.hpp"

namespace gridstride {

namespace {

std::size_t index_of(io::ResultFile const& result, config::Moment const& moment) {
  if (moment.step) return result.index_of_step(static_cast<std::int64_t>(*moment.step));
  return moment.time ? result.index_of_time(*moment.time) : result.index_of_end();
}

void check_unit(io::ResultFile const& result, config::FieldSource const& source) {
  io::FieldInfo const& field = result.field(source.dataset);
  if (field.unit != source.unit && field.unit != "1" && source.unit != "1")
    throw IoError(result.path(), fmt::format("field '{}' is in '{}', '{}' is needed", field.name,
                                             field.unit, source.unit));
}

void check_place(io::ResultFile const& result, Grid const& grid, Grid const& wanted) {
  if (grid.dims != wanted.dims || grid.points != wanted.points) return;  // the shape tells it
  for (int axis = 0; axis < grid.dims; ++axis)
    if (!nearly_equal(grid.origin[axis], wanted.origin[axis]) ||
        !nearly_equal(grid.spacing[axis], wanted.spacing[axis]))
      throw IoError(result.path(),
                    fmt::format("its points along {} lie elsewhere (from {} with spacing {}, here "
                                "from {} with spacing {})",
                                axis_names[axis], format_exact(grid.origin[axis]),
                                format_exact(grid.spacing[axis]), format_exact(wanted.origin[axis]),
                                format_exact(wanted.spacing[axis])));
}

}  // namespace

std::vector<std::int64_t> result_shape(config::RunOptions const& run,
                                       config::FieldSource const& source) {
  io::ResultFile const result(source.file);
  index_of(result, *source.moment);
  check_unit(result, source);
  io::FieldInfo const& field = result.field(source.dataset);
  Grid const& grid = result.grid_of(field);
  check_place(result, grid, run.grid);
  auto const used = std::span(grid.points).first(static_cast<std::size_t>(grid.dims));
  std::vector<std::int64_t> shape(used.rbegin(), used.rend());
  if (field.components > 1) shape.push_back(field.components);
  return shape;
}

std::vector<std::optional<AxisPlaces>> result_places(config::FieldSource const& source) {
  io::ResultFile const result(source.file);
  io::FieldInfo const& field = result.field(source.dataset);
  Grid const& grid = result.grid_of(field);
  std::vector<std::optional<AxisPlaces>> places;
  if (field.components > 1) places.emplace_back();
  for (int axis = 0; axis < grid.dims; ++axis)
    places.push_back(AxisPlaces{grid.origin[axis], grid.spacing[axis]});
  return places;
}

std::unique_ptr<NumberSource> open_result(config::FieldSource const& source) {
  io::ResultFile const result(source.file);
  return result.open(source.dataset, index_of(result, *source.moment));
}

}  // namespace gridstride
