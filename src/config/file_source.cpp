#include "config/file_source.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <system_error>

#include "core/number_type.hpp"

namespace gridstride::config {
FileFormat FieldSource::format() const {
  if (moment) return FileFormat::result;
  if (file.extension() == ".npy") return FileFormat::npy;
  if (file.extension() == ".mtx") return FileFormat::matrix_market;
  return raw.type.empty() ? FileFormat::hdf5 : FileFormat::raw;
}

namespace {

constexpr std::string_view data_file =
    "An HDF5 file, a NumPy file (`.npy`), a Matrix Market file (`.mtx`), or with `type` any file "
    "of "
    "bare numbers, relative to the config's folder.";

void declare_file(Visitor& visitor, std::filesystem::path const& folder,
                  std::string_view documentation, FieldSource& source) {
  declare_input_path(visitor, {.name = "file", .documentation = documentation}, Presence::required,
                     folder, source.file);
  std::error_code error;
  if (source.file.empty() || std::filesystem::is_regular_file(source.file, error)) return;
  bool const exists = std::filesystem::exists(source.file, error);
  visitor.fault("file", exists ? fmt::format("'{}' is not a file", source.file.string())
                               : fmt::format("no such file '{}' (paths are relative to the "
                                             "config's folder)",
                                             source.file.string()));
}

/// A file that is none of HDF5's says itself what it holds, or its keys do.
std::string_view whole_file(FieldSource const& source) {
  switch (source.format()) {
    case FileFormat::matrix_market:
      return "a Matrix Market file holds one matrix";
    case FileFormat::npy:
      return "a .npy file holds one array";
    case FileFormat::raw:
      return "a file of bare numbers, which 'type' makes it, holds one array";
    default:
      return "";
  }
}

/// The keys of a file of bare numbers. Where there is no such file, only `type` may stand.
void declare_raw(Visitor& visitor, FieldSource& source) {
  RawOptions& raw = source.raw;
  if (!source.file.empty() &&
      (source.format() == FileFormat::npy || source.format() == FileFormat::matrix_market)) {
    for (auto const key : {"type", "shape", "byte_order", "offset", "rest"})
      visitor.refuse(key, fmt::format("{}, and says what it is", whole_file(source)));
    return;
  }
  visitor.text({.name = "type",
                .documentation = "The file holds bare numbers of this type, one after the other."},
               {.meaning = "a type of numbers", .words = number_type_names()}, raw.type);
  if (!source.file.empty() && raw.type.empty()) {
    for (auto const key : {"shape", "byte_order", "offset", "rest"})
      visitor.refuse(key, "is for files of bare numbers, which 'type' makes a file");
    return;
  }
  visitor.list({.name = "shape",
                .documentation = "Of bare numbers: how many there are along each axis, the slowest "
                                 "axis first.",
                .minimum = 1},
               {1, 3, std::nullopt, source.file.empty() ? Presence::optional : Presence::required},
               raw.shape);
  static constexpr std::string_view orders[] = {"little", "big"};
  visitor.text({.name = "byte_order",
                .documentation = "Of bare numbers: the byte of each that comes first, the least "
                                 "(`little`) or the greatest (`big`)."},
               {.meaning = "an order of bytes", .words = orders}, raw.byte_order);
  visitor.visit({.name = "offset",
                 .documentation = "Of bare numbers: how many bytes come before them.",
                 .minimum = 0},
                raw.offset);
  visitor.visit(
      {.name = "rest",
       .documentation = "Of bare numbers: how many bytes come after them. All of the file "
                        "has to be told.",
       .minimum = 0},
      raw.rest);
}

void declare_dataset_name(Visitor& visitor, std::string_view shape, FieldSource& source) {
  if (auto const why = whole_file(source); !source.file.empty() && !why.empty())
    return visitor.refuse("dataset", fmt::format("{} (datasets are HDF5's)", why));
  std::string const documentation = fmt::format("The dataset of an HDF5 file, as `/u`; {}.", shape);
  visitor.text({.name = "dataset", .documentation = documentation},
               {.presence = source.file.empty() ? Presence::optional : Presence::required,
                .meaning = "a path in the file"},
               source.dataset);
}

/// The keys that tell a moment of another run's result.
void declare_moment(Visitor& visitor, std::optional<Moment>& moment) {
  enum { none = -1, last, time };
  double at = required_number;
  std::optional<double> step;
  int chosen = none;
  if (moment) {
    at = moment->time.value_or(required_number);
    step = moment->step;
    chosen = step ? none : moment->time ? time : last;
  }
  Form const forms[] = {
      {.word = "last", .documentation = "The end of that run."},
      {.kind = Form::Kind::scalar, .body = [&](Visitor& v) {
         v.visit({.name = "time", .unit = "s", .documentation = "A time that was written."}, at);
       }}};
  visitor.forms({.name = "time",
                 .unit = "s",
                 .documentation = "The file is the result of another run (NAME.h5), and this the "
                                  "time at which its field is taken."},
                Presence::optional, forms, chosen);
  visitor.visit({.name = "step",
                 .documentation = "The same, by the number of the time step.",
                 .minimum = 0,
                 .maximum = 9e15},
                step, "");
  if (step && *step != std::floor(*step))
    visitor.fault("step", fmt::format("{} is not a whole number", *step));
  if (step && chosen != none)
    visitor.fault("step", "cannot stand beside 'time' (either tells the moment)");
  moment.reset();
  if (step) moment = Moment{{}, step};
  if (chosen == last) moment = Moment{};
  if (chosen == time) moment = Moment{at, {}};
}

}  // namespace

void declare_path(Visitor& visitor, Spec const& spec, Presence presence, std::string& text) {
  visitor.text(spec, {.presence = presence, .meaning = "a path"}, text);
  if (text == "~" || text.starts_with("~/") || text.starts_with('$'))
    visitor.fault(spec.name, fmt::format("'{0}' is not expanded as in a shell (write the path in "
                                         "full, or './{0}' if it is called so)",
                                         text));
}

void declare_input_path(Visitor& visitor, Spec const& spec, Presence presence,
                        std::filesystem::path const& folder, std::filesystem::path& path) {
  std::filesystem::path const relative = path.lexically_relative(folder);
  std::string text = path.empty() || relative.empty() ? path.string() : relative.string();
  declare_path(visitor, spec, presence, text);
  path = text.empty() ? std::filesystem::path() : folder / text;
}

void declare_dataset(Visitor& visitor, std::filesystem::path const& folder, std::string_view shape,
                     FieldSource& source) {
  declare_file(visitor, folder, data_file, source);
  declare_raw(visitor, source);
  declare_dataset_name(visitor, shape, source);
}

void declare_field(Visitor& visitor, std::filesystem::path const& folder, Spec const& spec,
                   FieldSource& source) {
  source.unit = spec.unit;
  declare_file(visitor, folder, data_file, source);
  declare_raw(visitor, source);
  if (auto const why = whole_file(source); !source.file.empty() && !why.empty()) {
    for (auto const key : {"dataset", "time", "step"})
      visitor.refuse(
          key, fmt::format("{} ({} HDF5's)", why,
                           key == std::string_view("dataset") ? "datasets are" : "results are"));
    return;
  }
  bool const plain =
      !source.file.empty() && !source.moment && !visitor.given("time") && !visitor.given("step");
  visitor.text(
      {.name = "dataset",
       .documentation = "The dataset of an HDF5 file, as `/u`; its shape is that of the grid, x "
                        "last. With `time` or `step` the field's name, as `u`; when left out, it "
                        "has the same name here."},
      {.presence = plain ? Presence::required : Presence::optional,
       .meaning = "a path in the file, or a field's name"},
      source.dataset);
  declare_moment(visitor, source.moment);
  if (source.moment && source.dataset.empty()) source.dataset = spec.name;
}

}  // namespace gridstride::config
