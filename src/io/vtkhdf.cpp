#include "io/vtkhdf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/chunked_places.hpp"
#include "io/layout.hpp"
#include "io/list.hpp"
#include "io/stored_table.hpp"
#include "io/transaction.hpp"

namespace gridstride::io {

namespace {

using hdf5::Handle;
using hdf5::Object;
using hdf5::Shape;

void write_grid(Object const& dataset, Grid const& grid) {
  dataset.write_attribute("dims", grid.dims);
  dataset.write_list_attribute<std::int64_t>("points", grid.points);
  dataset.write_list_attribute<double>("origin", grid.origin);
  dataset.write_list_attribute<double>("spacing", grid.spacing);
}

Object create_field(Object const& group, FieldInfo const& field, Shape const& shape,
                    int compression) {
  auto const type = layout::type_of(field.precision);
  Handle const creation = hdf5::properties(H5P_DATASET_CREATE);
  Shape const chunk = with_time(1, chunk_shape(shape, field.precision, compression));
  group.check(H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data()),
              "choosing chunks");
  group.check(H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER), "choosing chunks");
  if (compression > 0) {
    group.check(H5Pset_shuffle(creation.id()), "choosing compression");
    group.check(H5Pset_deflate(creation.id(), static_cast<unsigned>(compression)),
                "choosing compression");
  }
  Object dataset = group.create_dataset(field.name, type, hdf5::growing_space(with_time(0, shape)),
                                        creation.id());
  dataset.write_text_attribute("unit", field.unit);
  return dataset;
}

void append_text(Object const& list, std::string text) {
  Handle const type = list.type();
  text.resize(H5Tget_size(type.id()), '\0');
  hsize_t const length = list.shape().at(0) + 1;
  list.resize({length});
  list.write(text.data(), type.id(), {length - 1}, {1});
}

void require_plain_name(std::string_view kind, std::string const& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    throw std::invalid_argument(fmt::format("ResultWriter: '{}' cannot name a {}", name, kind));
}

/// Names of tables and columns are written beside each other, and as those of variables elsewhere.
void require_word(std::string_view kind, std::string const& name) {
  if (name.empty() ||
      !std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; }))
    throw std::invalid_argument(fmt::format("ResultWriter: '{}' cannot name a {}", name, kind));
}

void require_columns(TableInfo const& table) {
  require_word("table", table.name);
  for (auto column = table.columns.begin(); column != table.columns.end(); ++column) {
    require_word("column", column->name);
    if (std::any_of(table.columns.begin(), column,
                    [&](auto const& other) { return other.name == column->name; }))
      throw std::invalid_argument(fmt::format("ResultWriter: two columns '{}'", column->name));
  }
  if (table.columns.empty())
    throw std::invalid_argument(fmt::format("ResultWriter: '{}' has no column", table.name));
}

}  // namespace

struct ResultWriter::State {
  ResultContents contents;
  Object file;
  Object home;   ///< the group /gridstride
  Object steps;  ///< the group /VTKHDF/Steps
  std::vector<Object> fields;
  std::vector<Object> offsets;  ///< of the fields on the result's grid
  Object times;
  Object step_numbers;
  std::vector<Object> diagnostics;
  std::vector<Object> counts, edges;  ///< of the histograms
  std::vector<StoredTable> tables;
  hsize_t count = 0;  ///< complete steps on disk
  std::optional<hdf5::RawSpace> space;
  std::vector<std::unique_ptr<FieldSink>> places;  ///< of the step that is being written
  bool in_step = false;
  bool failed = false;

  void create_vtkhdf();
  void create_home();
  void create_own_fields();
  void check_fields(std::span<Field const> host_fields) const;
  void check_histograms(std::span<Histogram const> histograms) const;
  void check_tables(std::span<Table const> given) const;
  void reserve_step();
  void write_diagnostics(std::span<NamedValue const> values);
  void write_histograms(std::span<Histogram const> histograms);
  void drop_repeated_entry();
  void write_index(std::int64_t step, double time);

  /// Does `work` unless an earlier one failed.
  template <class Work>
  void attempt(Work const& work) {
    if (failed || in_step) throw IoError(file.path(), "takes no more after a write that failed");
    failed = true;
    auto const alone = hdf5::exclusive();
    hdf5::silence();  // the writer may be used by another thread than made it
    work();
    failed = false;
  }
};

ResultWriter::ResultWriter(std::filesystem::path path, ResultContents contents)
    : state_(std::make_unique<State>()) {
  for (auto const& field : contents.fields) require_plain_name("field", field.name);
  for (auto const& name : contents.diagnostics) require_plain_name("diagnostic", name);
  for (auto const& histogram : contents.histograms) require_plain_name("histogram", histogram.name);
  for (auto const& table : contents.tables) require_columns(table);
  state_->contents = std::move(contents);
  AtomicFile target(path);
  state_->file = hdf5::create_transaction_file(target.temporary(), path);
  state_->create_vtkhdf();
  state_->create_home();
  hdf5::commit(state_->file);
  target.commit();
}

ResultWriter::ResultWriter(ResultWriter&&) noexcept = default;
ResultWriter& ResultWriter::operator=(ResultWriter&&) noexcept = default;
ResultWriter::~ResultWriter() = default;

void ResultWriter::State::create_vtkhdf() {
  auto const& grid = contents.grid;
  Object const root = file.create_group(layout::root);
  root.write_list_attribute<std::int64_t>("Version", std::array<std::int64_t, 2>{2, 0});
  root.write_text_attribute("Type", "ImageData");
  std::array<std::int64_t, 6> const extent = {0, grid.points[0] - 1, 0, grid.points[1] - 1,
                                              0, grid.points[2] - 1};
  root.write_list_attribute<std::int64_t>("WholeExtent", extent);
  root.write_list_attribute<double>("Origin", grid.origin);
  root.write_list_attribute<double>("Spacing", grid.spacing);
  root.write_list_attribute<double>("Direction", std::array<double, 9>{1, 0, 0, 0, 1, 0, 0, 0, 1});

  steps = root.create_group("Steps");
  steps.write_attribute("NSteps", 0);
  times = create_list(steps, "Values", H5T_IEEE_F64LE);
  Object const offset_group = steps.create_group("PointDataOffsets");
  Object const data_group = root.create_group("PointData");
  fields.resize(contents.fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto const& field = contents.fields[i];
    if (field.own_grid) continue;
    offsets.push_back(create_list(offset_group, field.name, H5T_STD_I64LE));
    fields[i] = create_field(data_group, field, layout::shape_of(grid, field.components),
                             contents.compression);
  }
}

void ResultWriter::State::create_home() {
  auto& provenance = contents.provenance;
  if (provenance.created.empty()) provenance.created = format_now();
  home = file.create_group(layout::home);
  for (auto const& [name, member] : layout::attributes)
    home.write_text_attribute(std::string(name), provenance.*member);
  for (auto const& [name, member] : layout::texts)
    home.write_text(std::string(name), provenance.*member);
  home.write_attribute("dims", contents.grid.dims);
  home.write_attribute("complete", 0);
  step_numbers = create_list(home, "step", H5T_STD_I64LE);
  Object const fallbacks =
      create_list(home, "fallbacks", hdf5::text_type(layout::fallback_bytes).id());
  for (auto const& text : provenance.fallbacks) append_text(fallbacks, text);
  Object const group = home.create_group("diagnostics");
  for (auto const& name : contents.diagnostics)
    diagnostics.push_back(create_list(group, name, H5T_IEEE_F64LE));
  for (auto const& [name, bins] : contents.histograms) {
    Object const parts = group.create_group(name);
    auto const width = static_cast<hsize_t>(bins);
    counts.push_back(create_list(parts, layout::counts, H5T_STD_I64LE, {width}));
    edges.push_back(create_list(parts, layout::edges, H5T_IEEE_F64LE, {width + 1}));
  }
  create_own_fields();
  if (!contents.tables.empty()) home.create_group(layout::tables);
  for (auto const& table : contents.tables) tables.emplace_back(home, table);
}

void ResultWriter::State::create_own_fields() {
  std::optional<Object> group;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto const& field = contents.fields[i];
    if (!field.own_grid) continue;
    if (!group) group = home.create_group(layout::own_fields);
    fields[i] = create_field(*group, field, layout::shape_of(*field.own_grid, field.components),
                             contents.compression);
    write_grid(fields[i], *field.own_grid);
  }
}

std::vector<FieldSink*> ResultWriter::begin_step() {
  state_->attempt([&] {
    hdf5::require_whole(state_->file);
    state_->reserve_step();
  });
  state_->in_step = true;
  std::vector<FieldSink*> sinks;
  for (auto const& place : state_->places) sinks.push_back(place.get());
  return sinks;
}

void ResultWriter::commit_step(std::int64_t step, double time,
                               std::span<NamedValue const> diagnostics,
                               std::span<Histogram const> histograms,
                               std::span<Table const> tables) {
  if (!state_->in_step) throw std::logic_error("ResultWriter::commit_step: no step was begun");
  state_->check_histograms(histograms);
  state_->check_tables(tables);
  for (auto const& place : state_->places) place->require_whole();
  state_->in_step = false;
  state_->attempt([&] {
    for (std::size_t i = 0; i < tables.size(); ++i) state_->tables[i].write_rows(tables[i]);
    hdf5::commit(state_->file);
    state_->drop_repeated_entry();
    state_->write_diagnostics(diagnostics);
    state_->write_histograms(histograms);
    state_->write_index(step, time);
  });
}

void ResultWriter::append(std::int64_t step, double time, std::span<Field const> host_fields,
                          std::span<NamedValue const> diagnostics,
                          std::span<Histogram const> histograms, std::span<Table const> tables) {
  state_->check_fields(host_fields);
  state_->check_histograms(histograms);
  state_->check_tables(tables);
  auto const sinks = begin_step();
  for (std::size_t i = 0; i < sinks.size(); ++i)
    sinks[i]->write(0,
                    {static_cast<std::byte const*>(host_fields[i].data), host_fields[i].bytes()});
  commit_step(step, time, diagnostics, histograms, tables);
}

void ResultWriter::State::check_fields(std::span<Field const> host_fields) const {
  if (host_fields.size() != contents.fields.size())
    throw std::invalid_argument("ResultWriter::append: not the fields that were announced");
  for (std::size_t i = 0; i < host_fields.size(); ++i) {
    auto const& field = host_fields[i];
    if (info_of(field, contents.grid) != contents.fields[i])
      throw std::invalid_argument("ResultWriter::append: '" + field.name +
                                  "' is not the field that was announced");
  }
}

void ResultWriter::State::check_histograms(std::span<Histogram const> histograms) const {
  for (auto const& [name, counts_given, edges_given] : histograms)
    for (auto const& info : contents.histograms)
      if (info.name == name &&
          (std::ssize(counts_given) != info.bins || std::ssize(edges_given) != info.bins + 1))
        throw std::invalid_argument(fmt::format(
            "ResultWriter::append: histogram '{}' does not have {} bins", name, info.bins));
}

void ResultWriter::State::check_tables(std::span<Table const> given) const {
  if (given.size() != contents.tables.size())
    throw std::invalid_argument("ResultWriter::append: not the tables that were announced");
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto const has_all_rows = [&](Column const& column) {
      return column.rows() == given[i].rows();
    };
    if (info_of(given[i]) != contents.tables[i] ||
        !std::ranges::all_of(given[i].columns, has_all_rows))
      throw std::invalid_argument("ResultWriter::append: '" + given[i].name +
                                  "' is not the table that was announced, or lacks rows");
  }
}

void ResultWriter::State::reserve_step() {
  if (!space) space.emplace(file);
  places.clear();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    FieldInfo const& field = contents.fields[i];
    Shape const shape = layout::shape_of(field.own_grid.value_or(contents.grid), field.components);
    fields[i].resize(with_time(count + 1, shape));
    places.push_back(
        chunked_place(*space, fields[i], {count, shape, field.precision}, contents.compression));
  }
  space->open();
}

void ResultWriter::State::write_diagnostics(std::span<NamedValue const> values) {
  for (std::size_t i = 0; i < diagnostics.size(); ++i) {
    auto const given = std::find_if(values.begin(), values.end(), [&](auto const& value) {
      return value.name == contents.diagnostics[i];
    });
    write_last(diagnostics[i], count + 1,
               given == values.end() ? std::numeric_limits<double>::quiet_NaN() : given->value);
  }
}

void ResultWriter::State::write_histograms(std::span<Histogram const> histograms) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    auto const& [name, bins] = contents.histograms[i];
    auto const width = static_cast<std::size_t>(bins);
    Histogram row{name, std::vector<std::int64_t>(width),
                  std::vector<double>(width + 1, std::numeric_limits<double>::quiet_NaN())};
    for (auto const& histogram : histograms)
      if (histogram.name == name) row = histogram;
    write_last_row(counts[i], count + 1, row.counts);
    write_last_row(edges[i], count + 1, row.edges);
  }
}

/// The second entry, which so far repeats the first, goes before it changes.
void ResultWriter::State::drop_repeated_entry() {
  if (count != 1) return;
  steps.update_attribute("NSteps", 1);
  times.resize({1});
  hdf5::commit(file);
}

/// The fields are on disk; now the step becomes visible, with all lists that count steps: the
/// commit writes their headers together.
void ResultWriter::State::write_index(std::int64_t step, double time) {
  hsize_t const entries = std::max<hsize_t>(2, count + 1);
  for (hsize_t entry = count; entry < entries; ++entry) {
    write_last(times, entry + 1, time);
    for (auto const& list : offsets) write_last(list, entry + 1, static_cast<std::int64_t>(count));
  }
  for (StoredTable& table : tables) table.write_end(count);
  write_last(step_numbers, count + 1, step);
  steps.update_attribute("NSteps", static_cast<std::int64_t>(entries));
  hdf5::commit(file);
  ++count;
}

void ResultWriter::finish(Ending const& ending) {
  for (auto const& wall_time : ending.wall_times) require_plain_name("wall time", wall_time.name);
  for (auto const& choice : ending.chosen) require_plain_name("choice", choice.name);
  state_->attempt([&] {
    hdf5::require_whole(state_->file);
    Object const wall_times = state_->home.create_group("wall_times");
    for (auto const& wall_time : ending.wall_times)
      wall_times.create_dataset(wall_time.name, H5T_IEEE_F64LE, hdf5::scalar_space())
          .write(&wall_time.value, H5T_NATIVE_DOUBLE);
    Object const chosen = state_->home.create_group("chosen");
    for (auto const& [name, text] : ending.chosen) chosen.write_text(name, text);
    for (auto const& text : ending.fallbacks)
      append_text(state_->home.open_dataset("fallbacks"), text);
    state_->home.update_attribute("complete", 1);
    hdf5::commit(state_->file);
  });
}

void ResultWriter::stop(std::string_view why) {
  state_->in_step = false;  // its space stays, but nothing refers to it
  state_->attempt([&] {
    state_->home.write_text(layout::ended, why);
    hdf5::commit(state_->file);
  });
}

}  // namespace gridstride::io
