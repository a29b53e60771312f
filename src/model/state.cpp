#include "model/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "config/run_fields.hpp"
#include "core/ranks.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "model/bricks.hpp"
#include "model/hand_out.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"

namespace gridstride {

bool has_values(SideKind kind) {
  return kind == SideKind::dirichlet || kind == SideKind::neumann || kind == SideKind::robin;
}

namespace {

std::string side_name(std::string_view field, int axis, int side) {
  return fmt::format("{}.{}.{}", field, axis_names[static_cast<std::size_t>(axis)],
                     side == 0 ? "lower" : "upper");
}

std::string factor_name(std::string_view field, int axis, int side) {
  return side_name(field, axis, side) + ".factor";
}

}  // namespace

Row evolved(config::RunConfig const& run, std::string_view field, int buffers) {
  auto const info = std::ranges::find(run.fields, field, &config::FieldInfo::name);
  bool const is_field = info != run.fields.end();
  return {.name = std::string(field),
          .grid = run.grid,
          .arrays = buffers,
          .written = is_field,
          .saved = true,
          .unit = is_field ? info->unit : "1"};
}

Row coefficient(config::RunConfig const& run, std::string_view name,
                config::FieldSource const& source) {
  return {.name = std::string(name),
          .role = Role::coefficient,
          .grid = run.grid,
          .arrays = is_constant(source) ? 0 : 1,
          .source = source};
}

Row term(config::RunConfig const& run, std::string_view name, config::FieldSource const& source) {
  Row row = coefficient(run, name, source);
  row.arrays = is_zero(source) ? 0 : 1;
  return row;
}

Row scratch(config::RunConfig const& run, std::string_view name, int arrays) {
  return {.name = std::string(name), .role = Role::scratch, .grid = run.grid, .arrays = arrays};
}

void add_sides(std::vector<Row>& rows, config::RunConfig const& run, std::string_view field,
               Scheme const& scheme, std::optional<std::size_t> component) {
  bool const evolves = std::ranges::count(run.fields, field, &config::FieldInfo::name) > 0;
  auto const& infos = evolves ? run.fields : run.names;
  auto const info = std::ranges::find(infos, field, &config::FieldInfo::name);
  auto const name = component ? config::component_variable(field, info->components[*component])
                              : std::string(field);
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int side = 0; side < 2; ++side) {
      auto const& condition = run.sides_of(field)[axis][static_cast<std::size_t>(side)];
      SideKind const kind = condition.kind;
      if (!has_values(kind)) continue;
      auto const source = source_of(component ? condition.components[*component] : condition.value);
      bool const held = kind == SideKind::dirichlet && evolves;
      bool const mixes = held && depends_on_time(source) && scheme.mixes_sides();
      rows.push_back({.name = side_name(name, axis, side),
                      .role = Role::side,
                      .grid = face_of(run.grid, axis, side),
                      .arrays = mixes ? 2 : 1,
                      .source = source,
                      .held = held});
      if (kind == SideKind::robin)
        rows.push_back({.name = factor_name(name, axis, side),
                        .role = Role::side,
                        .grid = face_of(run.grid, axis, side),
                        .source = source_of(condition.factors[component.value_or(0)])});
    }
}

bool depends_on_time(std::span<Row const> rows) {
  return std::ranges::any_of(rows, [](Row const& row) { return depends_on_time(row.source); });
}

bool has_array(std::span<Row const> rows, std::string_view name) {
  auto const row = std::ranges::find(rows, name, &Row::name);
  return row != rows.end() && row->arrays > 0;
}

namespace {

/// The formula with numbers of points in the place of coordinates of axes that are cut.
expression::Expression by_indices(expression::Expression const& formula, Grid const& grid,
                                  OfStripAxes<Planes> const& strips) {
  auto by_index = evaluate::by_index(formula, grid, grid.dims - 1);
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (strips[which].count() > 0)
      by_index = evaluate::by_index(by_index, grid, axis_of_strips(grid.dims, which));
  return by_index;
}

/// Block by block, where the values of one lie together, and else by way of memory where they do.
template <class T>
void evaluate_brick(Stream& stream, evaluate::Program const& program, Grid const& grid,
                    Brick const& brick, evaluate::DeviceClock const* clock, double fraction,
                    T* target) {
  auto const points = points_of(grid, brick);
  for_each_block(grid, brick, [&](Block const& block) {
    Grid part = grid;
    auto const cut = [&](int axis) {
      auto const a = static_cast<std::size_t>(axis);
      part.points[a] = block.points[a];
      part.origin[a] = static_cast<double>(block.at[a]);
      part.spacing[a] = 1;
    };
    cut(part.dims - 1);
    for (std::size_t which = 0; which < strip_axes; ++which)
      if (brick.strips[which].count() > 0) cut(axis_of_strips(part.dims, which));
    auto const size = static_cast<std::size_t>(part.size());
    T* const own = target + place_in(points, block.place);
    auto const rows = block_rows(block.points, block.points, points);
    if (rows.rows == 1)
      return evaluate::evaluate(stream, program, part, clock, fraction, std::span<T>(own, size));
    Buffer<T> apart(stream, MemorySpace::device, size);
    evaluate::evaluate(stream, program, part, clock, fraction, apart.span());
    copy_own_rows(stream, copied_rows(rows, apart.data(), own, false));
  });
}

}  // namespace

/// Of strips some planes at a time, for which memory is taken beside them.
template <class T>
void fill_planes(Stream& stream, expression::Expression const& formula, Grid const& grid,
                 Brick const& brick, T* target, std::string_view variant) {
  evaluate::Program const program(stream, by_indices(formula, grid, brick.strips), variant);
  std::int64_t const plane = plane_values(grid, brick.strips);
  bool const has_strips = brick.strips[0].count() > 0 || brick.strips[1].count() > 0;
  std::int64_t const some = has_strips ? std::max<std::int64_t>((std::int64_t{1} << 20) / plane, 1)
                                       : std::max<std::int64_t>(brick.planes.count(), 1);
  for (std::int64_t at = brick.planes.lower; at < brick.planes.upper; at += some)
    evaluate_brick(stream, program, grid,
                   {{at, std::min(at + some, brick.planes.upper)}, brick.strips}, nullptr, 0,
                   target + (at - brick.planes.lower) * plane);
}

MemoryForecast forecast(config::RunConfig const& run, std::span<Row const> rows) {
  std::size_t const bytes = static_cast<std::size_t>(run.grid.size()) * size_of(run.precision);
  MemoryForecast result{bytes, 0, rows.front().name, "grid.points", bytes};
  for (Row const& row : rows) {
    auto const values = static_cast<std::size_t>(row.grid.size());
    bool const has_whole = row.whole || !row.source.file.empty();
    if (row.planes && has_whole) result.host_bytes += values * size_of(run.precision);
    if (row.planes)
      result.other_bytes += static_cast<std::size_t>(row.arrays * row.planes->count() *
                                                     plane_values(row.grid, row.strips)) *
                            size_of(run.precision);
    else if (row.on_host)
      result.host_bytes += static_cast<std::size_t>(row.arrays) * values * size_of(run.precision);
    else if (row.grid == run.grid)
      result.arrays += row.arrays;
    else
      result.other_bytes += static_cast<std::size_t>(row.arrays) * values * size_of(run.precision);
    if (row.saved) result.saved_bytes += values * size_of(run.precision);
    if (row.saved) ++result.saved_arrays;
    note_reading(result, row.source, values);
    if (row.role == Role::coefficient && row.arrays > 0 && row.source.file.empty())
      result.looking_bytes = evaluate::slab_size(row.grid) * sizeof(double);
  }
  for (auto const& [field, source] : run.initial)
    note_reading(result, source, static_cast<std::size_t>(run.grid.size() * source.numbers));
  return result;
}

template <class T>
Array<T>::Array(Stream& stream, Row row, config::RunConfig const& run, Inputs const& inputs,
                evaluate::DeviceClock const* clock)
    : row_(std::move(row)) {
  if (row_.role == Role::scratch) return;
  auto const space = row_.on_host ? MemorySpace::pinned : MemorySpace::device;
  for (int i = 0; i < row_.arrays; ++i) buffers_.emplace_back(stream, space, size());
  if (!buffers_.empty()) values_ = buffers_.front().data();
  auto const& source = row_.source;
  if (row_.role == Role::evolved) return;
  if (values_ == nullptr)
    constant_ = source.formula.expression.evaluate(0);
  else
    fill_first(stream, run, inputs, clock);
}

template <class T>
std::int64_t Array<T>::plane() const {
  return plane_values(row_.grid, row_.strips);
}

template <class T>
std::size_t Array<T>::size() const {
  return static_cast<std::size_t>(row_.planes ? row_.planes->count() * plane() : row_.grid.size());
}

template <class T>
T const* Array<T>::at(std::int64_t first) const {
  if (values_ == nullptr) return nullptr;
  return values_ + (first - (row_.planes ? row_.planes->lower : 0)) * plane();
}

/// Of several ranks, each evaluates the planes that it has. A file the first one reads as a whole, which
/// it has for a while.
template <class T>
void Array<T>::fill_first(Stream& stream, config::RunConfig const& run, Inputs const& inputs,
                          evaluate::DeviceClock const* clock) {
  auto const& source = row_.source;
  auto const& variant = run.kernels.at("evaluate");
  bool const reads = !source.file.empty() && ranks().is_first();
  if (row_.planes && (row_.whole || reads)) {
    whole_ = Buffer<T>(stream, MemorySpace::pinned, static_cast<std::size_t>(row_.grid.size()));
    fill(stream, source, row_.grid, inputs, whole_.span(), nullptr, variant);
  }
  if (source.file.empty()) {
    auto const& formula = source.formula.expression;
    program_.emplace(stream, row_.planes ? by_indices(formula, row_.grid, row_.strips) : formula,
                     variant);
    evaluate(stream, clock, 0, values_);
  } else if (row_.planes) {
    hand_out<T>(stream, ranks(), row_.grid, std::as_const(whole_).span(),
                {*row_.planes, row_.strips}, span());
    if (!row_.whole) whole_ = {};
  } else {
    fill(stream, source, row_.grid, inputs, span());
  }
}

template <class T>
void Array<T>::refresh(Stream& stream, evaluate::DeviceClock const* clock, Stage const& stage) {
  if (row_.held && !stage.sides_at_time)
    mix(stream, clock, stage.sides);
  else
    evaluate(stream, clock, stage.time, values_);
}

template <class T>
void Array<T>::evaluate(Stream& stream, evaluate::DeviceClock const* clock, double fraction,
                        T* target) {
  if (!row_.planes)
    return evaluate::evaluate(stream, *program_, row_.grid, clock, fraction,
                              std::span<T>(target, size()));
  gridstride::evaluate_brick(stream, *program_, row_.grid, {*row_.planes, row_.strips}, clock,
                             fraction, target);
}

/// The weighted sum of the values at the start, the middle and the end of the step.
template <class T>
void Array<T>::mix(Stream& stream, evaluate::DeviceClock const* clock,
                   std::array<double, 3> const& weights) {
  bool empty = true;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto const weight = static_cast<T>(weights[i]);
    if (weight == 0) continue;
    T* const target = empty ? values_ : buffer(1);
    evaluate(stream, clock, 0.5 * static_cast<double>(i), target);
    if (!empty)
      elementwise::axpy<T>(stream, weight, std::span<T const>(target, size()), span());
    else if (weight != 1)
      elementwise::scale(stream, weight, span());
    empty = false;
  }
}

template <class T>
State<T>::State(Stream const& stream, std::vector<Row> rows, config::RunConfig const& run,
                Inputs const& inputs, evaluate::DeviceClock const* clock)
    : stream_(stream), clock_(clock) {
  for (Row& row : rows)
    arrays_.push_back(std::make_unique<Array<T>>(stream_, std::move(row), run, inputs, clock));
}

template <class T>
Array<T>& State<T>::operator[](std::string_view name) {
  for (auto const& array : arrays_)
    if (array->row().name == name) return *array;
  throw std::out_of_range(fmt::format("no array is called '{}'", name));
}

template <class T>
T* State<T>::side(std::string_view field, int axis, int side) {
  return find(side_name(field, axis, side));
}

template <class T>
T* State<T>::side_factor(std::string_view field, int axis, int side) {
  return find(factor_name(field, axis, side));
}

template <class T>
T* State<T>::find(std::string_view name) {
  for (auto const& array : arrays_)
    if (array->row().name == name) return array->data();
  return nullptr;
}

template <class T>
bool State<T>::changes() const {
  return std::ranges::any_of(arrays_, [](auto const& array) { return array->changes(); });
}

template <class T>
void State<T>::refresh(Stage const& stage) {
  for (auto const& array : arrays_)
    if (array->changes()) array->refresh(stream_, clock_, stage);
}

template <class T>
void State<T>::refresh(double part, double part_of_held) {
  for (auto const& array : arrays_)
    if (array->changes())
      array->refresh(stream_, clock_,
                     {.time = array->row().held ? part_of_held : part, .sides_at_time = true});
}

template <class T>
std::vector<Field> State<T>::fields() const {
  std::vector<Field> fields;
  for (auto const& array : arrays_) {
    Row const& row = array->row();
    if (row.written)
      fields.push_back({row.name, row.unit, row.grid, precision_of<T>(), array->data()});
  }
  return fields;
}

template <class T>
std::vector<T*> State<T>::swept() const {
  std::vector<T*> arrays;
  for (auto const& array : arrays_)
    if (array->row().on_host) arrays.push_back(array->data());
  return arrays;
}

template <class T>
std::vector<std::string> State<T>::names_of_swept() const {
  std::vector<std::string> names;
  for (auto const& array : arrays_)
    if (array->row().on_host) names.push_back(array->row().name);
  return names;
}

template <class T>
std::vector<std::string> State<T>::fallbacks() const {
  std::vector<std::string> all;
  for (auto const& array : arrays_)
    if (auto const text = array->fallback();
        !text.empty() && std::ranges::find(all, text) == all.end())
      all.push_back(text);
  return all;
}

template <class T>
int State<T>::coefficient_arrays() const {
  return static_cast<int>(std::ranges::count_if(arrays_, [](auto const& array) {
    return array->row().role == Role::coefficient && array->data() != nullptr;
  }));
}

template <class T>
void State<T>::save(CheckpointSink& sink) const {
  for (auto const& array : arrays_)
    if (array->row().saved)
      sink.put_array(array->row().name, std::as_const(*array).span(), stream_);
}

template <class T>
void State<T>::load(CheckpointSource const& source) {
  for (auto const& array : arrays_)
    if (array->row().saved) source.get_array(array->row().name, array->span(), stream_);
}

template void fill_planes(Stream&, expression::Expression const&, Grid const&, Brick const&, float*,
                          std::string_view);
template void fill_planes(Stream&, expression::Expression const&, Grid const&, Brick const&,
                          double*, std::string_view);
template class Array<float>;
template class Array<double>;
template class State<float>;
template class State<double>;

}  // namespace gridstride
