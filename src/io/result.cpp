#include "io/result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/nearly_equal.hpp"
#include "core/text.hpp"
#include "io/dataset_numbers.hpp"
#include "io/hdf5.hpp"
#include "io/layout.hpp"
#include "io/list.hpp"
#include "io/storage.hpp"
#include "io/stored_table.hpp"

namespace gridstride::io {

namespace {

using hdf5::Object;
using hdf5::Shape;

[[noreturn]] void reject(Object const& file, std::string_view why) {
  throw IoError(file.path(), fmt::format("is no gridstride result ({})", why));
}

template <class T>
std::vector<T> read_exactly(Object const& where, std::string const& attribute, std::size_t size) {
  auto values = where.read_attribute<T>(attribute);
  if (values.size() != size)
    reject(where, fmt::format("'{}' has {} values, not {}", attribute, values.size(), size));
  return values;
}

/// A grid of these points, whose place and dimensions are attributes of two objects.
Grid make_grid(std::vector<std::int64_t> const& points, std::vector<double> const& origin,
               std::vector<double> const& spacing, Object const& with_dims) {
  Grid grid;
  std::int64_t size = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (points[axis] < 1 || __builtin_mul_overflow(size, points[axis], &size))
      reject(with_dims, "its extent is impossible");
    grid.points[axis] = points[axis];
    grid.origin[axis] = origin[axis];
    grid.spacing[axis] = spacing[axis];
  }
  if (size > std::numeric_limits<std::int64_t>::max() / 8)
    reject(with_dims, "its extent is impossible");
  auto const dims = read_exactly<std::int64_t>(with_dims, "dims", 1).front();
  if (dims < 1 || dims > 3) reject(with_dims, "its dimensions are impossible");
  grid.dims = static_cast<int>(dims);
  return grid;
}

Grid read_grid(Object const& root, Object const& home) {
  auto const extent = read_exactly<std::int64_t>(root, "WholeExtent", 6);
  std::vector<std::int64_t> points(3);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (extent[2 * axis] != 0 || __builtin_add_overflow(extent[2 * axis + 1], 1, &points[axis]))
      reject(root, "its extent is impossible");
  return make_grid(points, read_exactly<double>(root, "Origin", 3),
                   read_exactly<double>(root, "Spacing", 3), home);
}

/// The grid of a field on one of its own.
Grid read_own_grid(Object const& field) {
  return make_grid(read_exactly<std::int64_t>(field, "points", 3),
                   read_exactly<double>(field, "origin", 3),
                   read_exactly<double>(field, "spacing", 3), field);
}

FieldInfo read_field_info(Object const& dataset, std::string const& name, int components) {
  auto const type = dataset.type();
  std::size_t const bytes = H5Tget_size(type.id());
  if (H5Tget_class(type.id()) != H5T_FLOAT || (bytes != sizeof(float) && bytes != sizeof(double)))
    reject(dataset, fmt::format("field '{}' is neither float32 nor float64", name));
  return {name, dataset.read_text_attribute("unit"),
          bytes == sizeof(float) ? Precision::float32 : Precision::float64, components};
}

/// How many components a field of that shape has; 0 when it is not one of the grid.
int components_of(Shape const& stored, Grid const& grid) {
  for (int components = 1; components <= 3; ++components) {
    Shape const shape = layout::shape_of(grid, components);
    if (!stored.empty() && std::equal(shape.begin(), shape.end(), ++stored.begin(), stored.end()))
      return components;
  }
  return 0;
}

/// The part of a histogram with `width` values at each step; the list may be longer.
Object open_rows(Object const& histogram, std::string const& part, std::size_t width,
                 std::size_t steps) {
  Object rows = histogram.open_dataset(part);
  Shape const shape = rows.shape();
  if (shape.size() != 2 || shape[0] < steps || shape[1] != width)
    reject(histogram,
           fmt::format("the {} of a histogram have shape [{}]", part, fmt::join(shape, "][")));
  return rows;
}

std::vector<std::string> read_texts(Object const& group, std::string const& name) {
  Object const list = group.open_dataset(name);
  auto const type = list.type();
  Shape const shape = list.shape();
  if (shape.size() != 1 || H5Tget_class(type.id()) != H5T_STRING ||
      H5Tget_size(type.id()) != layout::fallback_bytes || shape[0] > 1'000'000)
    reject(group, fmt::format("'{}' is no list of texts", name));
  std::string all(shape[0] * layout::fallback_bytes, '\0');
  if (!all.empty()) list.read(all.data(), type.id());
  std::vector<std::string> texts;
  for (std::size_t start = 0; start < all.size(); start += layout::fallback_bytes)
    texts.emplace_back(all.substr(start, layout::fallback_bytes).c_str());
  return texts;
}

/// Where the field or histogram of that name stands in the list of them.
template <class Info>
std::size_t find_named(std::filesystem::path const& path, std::string_view kind,
                       std::vector<Info> const& infos, std::string_view name) {
  std::vector<std::string_view> names;
  for (auto const& info : infos) {
    if (info.name == name) return names.size();
    names.push_back(info.name);
  }
  throw IoError(path,
                fmt::format("there is no {} '{}' ({})", kind, name,
                            names.empty() ? "it has none" : "there is " + format_choices(names)));
}

/// The values nearest to `wanted`, for messages.
template <class T>
std::string nearest_of(std::vector<T> const& values, double wanted) {
  constexpr std::size_t most_told = 4;
  std::vector<T> sorted = values;
  std::stable_sort(sorted.begin(), sorted.end(), [&](T a, T b) {
    return std::abs(static_cast<double>(a) - wanted) < std::abs(static_cast<double>(b) - wanted);
  });
  sorted.resize(std::min(sorted.size(), most_told));
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty()
             ? "it holds none"
             : fmt::format("of its {} the nearest are {}", values.size(), fmt::join(sorted, ", "));
}

void require_step(std::filesystem::path const& path, std::size_t index, std::size_t steps) {
  if (index >= steps)
    throw IoError(path, fmt::format("there is no step {} (there are {})", index, steps));
}

}  // namespace

struct ResultFile::State {
  Object file;
  Grid grid;
  std::vector<FieldInfo> fields;
  std::vector<Object> datasets;                    ///< of the fields
  std::vector<std::vector<std::int64_t>> offsets;  ///< of the fields: where each step lies
  std::vector<double> times;
  std::vector<std::int64_t> steps;
  std::vector<NamedSeries> diagnostics;
  std::vector<HistogramInfo> histograms;
  std::vector<Object> counts, edges;  ///< of the histograms
  std::vector<TableInfo> tables;
  std::vector<StoredTable> stored_tables;
  std::vector<NamedValue> wall_times;
  Provenance provenance;
  bool complete = false;
  std::string ended;

  void read_steps(Object const& root, Object const& home);
  void read_fields(Object const& root);
  void read_own_fields(Object const& home);
  void add_field(Object dataset, std::string const& name, std::optional<Grid> const& own_grid,
                 std::vector<std::int64_t> where);
  void read_home(Object const& home);
  void open_histogram(Object const& histogram, std::string const& name);
};

ResultFile::ResultFile(std::filesystem::path const& path) : state_(std::make_unique<State>()) {
  auto& state = *state_;
  state.file = hdf5::open_file(find_result_file(path));
  for (auto const* name : {layout::root, layout::home})
    if (!state.file.contains(name)) reject(state.file, fmt::format("it has no group '{}'", name));
  Object const root = state.file.open_group(layout::root);
  Object const home = state.file.open_group(layout::home);
  if (root.read_text_attribute("Type") != "ImageData") reject(root, "it holds no ImageData");
  state.grid = read_grid(root, home);
  state.read_steps(root, home);
  state.read_fields(root);
  state.read_own_fields(home);
  state.read_home(home);
  state.stored_tables = open_tables(home, state.times.size());
  for (auto const& table : state.stored_tables) state.tables.push_back(table.info());
}

ResultFile::ResultFile(ResultFile&&) noexcept = default;
ResultFile& ResultFile::operator=(ResultFile&&) noexcept = default;
ResultFile::~ResultFile() = default;

namespace {

/// How many values the shortest list of a group has, of those that count steps.
std::size_t shortest_list(Object const& group) {
  std::size_t shortest = std::numeric_limits<std::size_t>::max();
  auto const look_at = [&](std::string const& list) {
    if (Shape const shape = group.open_dataset(list).shape(); !shape.empty())
      shortest = std::min<std::size_t>(shortest, shape.front());
  };
  for (auto const& name : group.names())
    if (group.contains(name + "/" + layout::counts)) {
      look_at(name + "/" + layout::counts);
      look_at(name + "/" + layout::edges);
    } else {
      look_at(name);
    }
  return shortest;
}

}  // namespace

/// `NSteps` may count the only step twice, `step` may be ahead of a step that never completed. A run
/// that was killed while the system wrote the last commit, page after page, leaves some lists with
/// that step and others without it.
void ResultFile::State::read_steps(Object const& root, Object const& home) {
  Object const group = root.open_group("Steps");
  auto const entries = read_exactly<std::int64_t>(group, "NSteps", 1).front();
  Shape const listed = home.open_dataset("step").shape();
  if (entries < 0 || listed.size() != 1) reject(file, "its steps cannot be counted");
  auto count = std::min<std::size_t>(static_cast<std::size_t>(entries), listed[0]);
  complete = read_exactly<std::int64_t>(home, "complete", 1).front() == 1;
  if (!complete) {
    if (Shape const shape = group.open_dataset("Values").shape(); !shape.empty())
      count = std::min<std::size_t>(count, shape.front());
    for (Object const& lists : {root.open_group("PointData"), group.open_group("PointDataOffsets"),
                                home.open_group("diagnostics")})
      count = std::min(count, shortest_list(lists));
  }
  times = read_list<double>(group, "Values", count);
  steps = read_list<std::int64_t>(home, "step", count);
}

void ResultFile::State::read_fields(Object const& root) {
  Object const data = root.open_group("PointData");
  Object const positions = root.open_group("Steps").open_group("PointDataOffsets");
  for (auto const& name : data.names())
    add_field(data.open_dataset(name), name, {},
              read_list<std::int64_t>(positions, name, times.size()));
}

/// None in files of earlier versions.
void ResultFile::State::read_own_fields(Object const& home) {
  if (!home.contains(layout::own_fields)) return;
  Object const group = home.open_group(layout::own_fields);
  std::vector<std::int64_t> in_order(times.size());
  std::iota(in_order.begin(), in_order.end(), std::int64_t{0});
  for (auto const& name : group.names()) {
    Object dataset = group.open_dataset(name);
    Grid const own_grid = read_own_grid(dataset);
    add_field(std::move(dataset), name, own_grid, in_order);
  }
}

/// `where` tells for each step where in the dataset it lies.
void ResultFile::State::add_field(Object dataset, std::string const& name,
                                  std::optional<Grid> const& own_grid,
                                  std::vector<std::int64_t> where) {
  hdf5::require_sources(dataset, name);
  if (std::ranges::count(fields, name, &FieldInfo::name) > 0)
    reject(file, fmt::format("it has two fields '{}'", name));
  Shape const stored = dataset.shape();
  int const components = components_of(stored, own_grid.value_or(grid));
  if (components == 0)
    reject(file, fmt::format("field '{}' has shape [{}]", name, fmt::join(stored, "][")));
  for (auto const offset : where)
    if (offset < 0 || static_cast<hsize_t>(offset) >= stored.front())
      reject(file, fmt::format("a step of field '{}' is missing", name));
  fields.push_back(read_field_info(dataset, name, components));
  fields.back().own_grid = own_grid;
  datasets.push_back(std::move(dataset));
  offsets.push_back(std::move(where));
}

void ResultFile::State::read_home(Object const& home) {
  for (auto const& [name, member] : layout::attributes)
    provenance.*member = home.read_text_attribute(std::string(name));
  for (auto const& [name, member] : layout::texts)
    provenance.*member = home.read_text(std::string(name));
  provenance.fallbacks = read_texts(home, "fallbacks");
  if (home.contains(layout::ended)) ended = home.read_text(layout::ended);
  Object const series = home.open_group("diagnostics");
  for (auto const& name : series.names()) {
    if (series.contains(name + "/" + layout::counts))
      open_histogram(series.open_group(name), name);
    else
      diagnostics.push_back({name, read_list<double>(series, name, times.size())});
  }
  if (home.contains("chosen")) {
    Object const chosen = home.open_group("chosen");
    for (auto const& name : chosen.names())
      provenance.chosen.push_back({name, chosen.read_text(name)});
  }
  if (!home.contains("wall_times")) return;
  Object const group = home.open_group("wall_times");
  for (auto const& name : group.names()) {
    Object const dataset = group.open_dataset(name);
    if (!dataset.shape().empty()) reject(file, fmt::format("wall time '{}' is a list", name));
    double seconds = 0;
    dataset.read(&seconds, H5T_NATIVE_DOUBLE);
    wall_times.push_back({name, seconds});
  }
}

void ResultFile::State::open_histogram(Object const& histogram, std::string const& name) {
  constexpr hsize_t most_bins = 1'000'000;
  Shape const shape = histogram.open_dataset(layout::counts).shape();
  if (shape.empty() || shape.back() == 0 || shape.back() > most_bins)
    reject(histogram, fmt::format("histogram '{}' has an impossible number of bins", name));
  auto const width = static_cast<std::size_t>(shape.back());
  counts.push_back(open_rows(histogram, layout::counts, width, times.size()));
  edges.push_back(open_rows(histogram, layout::edges, width + 1, times.size()));
  histograms.push_back({name, static_cast<std::int64_t>(width)});
}

std::filesystem::path const& ResultFile::path() const { return state_->file.path(); }
Grid const& ResultFile::grid() const { return state_->grid; }
std::vector<FieldInfo> const& ResultFile::fields() const { return state_->fields; }
FieldInfo const& ResultFile::field(std::string_view name) const {
  return fields()[find_named(path(), "field", fields(), name)];
}
std::size_t ResultFile::values_of(FieldInfo const& field) const {
  return static_cast<std::size_t>(grid_of(field).size() * field.components);
}
Grid const& ResultFile::grid_of(FieldInfo const& field) const {
  return field.own_grid ? *field.own_grid : grid();
}
std::vector<double> const& ResultFile::times() const { return state_->times; }
std::vector<std::int64_t> const& ResultFile::steps() const { return state_->steps; }
std::vector<NamedSeries> const& ResultFile::diagnostics() const { return state_->diagnostics; }
std::vector<HistogramInfo> const& ResultFile::histograms() const { return state_->histograms; }
std::vector<TableInfo> const& ResultFile::tables() const { return state_->tables; }
std::vector<NamedValue> const& ResultFile::wall_times() const { return state_->wall_times; }
Provenance const& ResultFile::provenance() const { return state_->provenance; }
bool ResultFile::complete() const { return state_->complete; }
std::string const& ResultFile::ended() const { return state_->ended; }

std::size_t ResultFile::index_of_time(double time) const {
  auto const& all = times();
  auto const found = std::min_element(all.begin(), all.end(), [time](double a, double b) {
    return std::abs(a - time) < std::abs(b - time);
  });
  if (found == all.end() || !nearly_equal(*found, time))
    throw IoError(path(),
                  fmt::format("holds nothing of time {} ({})", time, nearest_of(all, time)));
  return static_cast<std::size_t>(found - all.begin());
}

std::size_t ResultFile::index_of_step(std::int64_t step) const {
  auto const& all = steps();
  auto const found = std::find(all.begin(), all.end(), step);
  if (found == all.end())
    throw IoError(path(), fmt::format("holds nothing of step {} ({})", step,
                                      nearest_of(all, static_cast<double>(step))));
  return static_cast<std::size_t>(found - all.begin());
}

std::size_t ResultFile::index_of_end() const {
  if (times().empty()) throw IoError(path(), "holds no step yet");
  if (!complete())
    throw IoError(path(),
                  fmt::format("the run did not come to its end; the last that it wrote is of time "
                              "{} (step {})",
                              times().back(), steps().back()));
  return times().size() - 1;
}

std::vector<double> ResultFile::read(std::string_view field, std::size_t time_index) const {
  std::vector<double> values(values_of(this->field(field)));
  read(field, time_index, values);
  return values;
}

void ResultFile::read(std::string_view field, std::size_t time_index, std::span<double> out) const {
  auto const index = find_named(path(), "field", state_->fields, field);
  require_step(path(), time_index, times().size());
  FieldInfo const& info = fields()[index];
  if (out.size() != values_of(info))
    throw IoError(path(), fmt::format("field '{}' has {} values, not {}", field, values_of(info),
                                      out.size()));
  Shape count = layout::shape_of(grid_of(info), info.components);
  count.insert(count.begin(), 1);
  Shape start(count.size(), 0);
  start.front() = static_cast<hsize_t>(state_->offsets[index][time_index]);
  state_->datasets[index].read(out.data(), H5T_NATIVE_DOUBLE, start, count);
}

std::unique_ptr<NumberSource> ResultFile::open(std::string_view field,
                                               std::size_t time_index) const {
  auto const index = find_named(path(), "field", state_->fields, field);
  require_step(path(), time_index, times().size());
  auto const layer = static_cast<hsize_t>(state_->offsets[index][time_index]);
  return numbers_of(state_->datasets[index], std::string(field), layer);
}

Histogram ResultFile::read_histogram(std::string_view name, std::size_t time_index) const {
  auto const index = find_named(path(), "histogram", histograms(), name);
  require_step(path(), time_index, times().size());
  auto const width = static_cast<std::size_t>(histograms()[index].bins);
  Histogram histogram{std::string(name), std::vector<std::int64_t>(width),
                      std::vector<double>(width + 1)};
  state_->counts[index].read(histogram.counts.data(), H5T_NATIVE_INT64, {time_index, 0},
                             {1, width});
  state_->edges[index].read(histogram.edges.data(), H5T_NATIVE_DOUBLE, {time_index, 0},
                            {1, width + 1});
  return histogram;
}

std::int64_t ResultFile::rows(std::string_view table, std::size_t time_index) const {
  auto const index = find_named(path(), "table", tables(), table);
  require_step(path(), time_index, times().size());
  return state_->stored_tables[index].rows(time_index);
}

Table ResultFile::read_table(std::string_view table, std::size_t time_index) const {
  auto const index = find_named(path(), "table", tables(), table);
  require_step(path(), time_index, times().size());
  return state_->stored_tables[index].read(time_index);
}

std::filesystem::path find_result_file(std::filesystem::path const& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return path;
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".h5") found.push_back(entry->path());
  if (error) throw IoError(path, fmt::format("cannot be listed ({})", error.message()));
  if (found.empty()) throw IoError(path, "the folder holds no .h5 file");
  if (found.size() == 1) return found.front();
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto const& file : found) names.push_back(file.filename().string());
  throw IoError(path, fmt::format("the folder holds {} .h5 files ({}); name one of them",
                                  found.size(), fmt::join(names, ", ")));
}

}  // namespace gridstride::io
