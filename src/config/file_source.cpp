#include "config/file_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "core/number_type.hpp"
#include "core/text.hpp"

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

bool is_bare(Visitor const& visitor, FieldSource const& source) {
  return visitor.given("type") || !source.raw.type.empty();
}

/// What to do with a file whose ending is that of a format that is not read; empty for others.
std::string_view advice_for(std::filesystem::path const& file) {
  std::string const ending = to_lower(file.extension().string());
  constexpr std::string_view unpack = "it has to be unpacked before";
  constexpr std::string_view save = "numpy.save makes a .npy of what numpy.loadtxt reads of text";
  constexpr std::string_view bare = "'type' says of bare numbers what they are";
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {".csv", save},
      {".tsv", save},
      {".txt", save},
      {".gz", unpack},
      {".bz2", unpack},
      {".xz", unpack},
      {".zst", unpack},
      {".zip", unpack},
      {".bin", bare},
      {".raw", bare},
      {".dat", bare},
      {".npy", "the ending has to be .npy, in small letters"},
      {".mtx", "the ending has to be .mtx, in small letters"},
      {".npz", "numpy.save writes one array as .npy, scipy.io.mmwrite a sparse matrix as .mtx"}};
  auto const* const found =
      std::ranges::find(known, ending, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(known) ? "" : found->second;
}

/// The same where nothing says that the file is HDF5's all the same.
std::string_view advice_for(Visitor const& visitor, FieldSource const& source) {
  bool const is_told = is_bare(visitor, source) || source.moment || !source.dataset.empty() ||
                       visitor.given("dataset") || visitor.given("time") || visitor.given("step");
  return is_told || source.format() != FileFormat::hdf5 ? "" : advice_for(source.file);
}

void declare_file(Visitor& visitor, std::filesystem::path const& folder,
                  std::string_view documentation, FieldSource& source) {
  declare_input_path(visitor, {.name = "file", .documentation = documentation}, Presence::required,
                     folder, source.file);
  std::error_code error;
  if (source.file.empty()) return;
  if (std::filesystem::is_regular_file(source.file, error)) {
    if (auto const advice = advice_for(visitor, source); !advice.empty())
      visitor.fault("file", fmt::format("of what format '{}' is does not show (.npy and .mtx do by "
                                        "their endings, HDF5 has a 'dataset', bare numbers a "
                                        "'type'; {})",
                                        source.file.string(), advice));
    return;
  }
  bool const exists = std::filesystem::exists(source.file, error);
  visitor.fault("file", exists ? fmt::format("'{}' is not a file", source.file.string())
                               : fmt::format("no such file '{}' (paths are relative to the "
                                             "config's folder)",
                                             source.file.string()));
}

/// What a file is that holds one array and has no datasets; empty for HDF5's.
std::string_view whole_file(Visitor const& visitor, FieldSource const& source) {
  if (source.file.empty()) return "";
  if (source.format() == FileFormat::matrix_market) return "a Matrix Market file holds one matrix";
  if (source.format() == FileFormat::npy) return "a .npy file holds one array";
  return is_bare(visitor, source) ? "a file of bare numbers, as 'type' says, holds one array" : "";
}

constexpr std::string_view bare_keys[] = {"type", "shape", "byte_order", "offset", "rest"};

/// The keys of a file of bare numbers.
void declare_bare(Visitor& visitor, FieldSource& source) {
  RawOptions& raw = source.raw;
  bool const known = !source.file.empty(), bare = is_bare(visitor, source);
  bool const tells =
      source.format() == FileFormat::npy || source.format() == FileFormat::matrix_market;
  if (known && (tells || !bare)) {
    for (auto const key : bare_keys)
      visitor.refuse(key, tells ? fmt::format("{} and says what it is", whole_file(visitor, source))
                                : "is for files of bare numbers (which 'type' makes a file)");
    return;
  }
  visitor.text({.name = "type",
                .documentation = "The file holds bare numbers of this type, one after the other."},
               {.meaning = "int8 to int64, uint8 to uint64, or float16 to float64",
                .words = number_type_names()},
               raw.type);
  visitor.list({.name = "shape",
                .documentation = "Of bare numbers: how many there are along each axis, the slowest "
                                 "axis first.",
                .minimum = 1},
               {1, 4, std::nullopt, bare ? Presence::required : Presence::optional}, raw.shape);
  static constexpr std::string_view orders[] = {"little", "big"};
  visitor.text({.name = "byte_order",
                .documentation = "Of bare numbers: which byte of each comes first, the least "
                                 "(`little`) or the greatest (`big`)."},
               {.meaning = "little or big", .words = orders}, raw.byte_order);
  visitor.visit({.name = "offset",
                 .documentation = "Of bare numbers: how many bytes come before them.",
                 .minimum = 0},
                raw.offset);
  visitor.visit({.name = "rest",
                 .documentation = "Of bare numbers: how many bytes come after them; together they "
                                  "have to be the whole file.",
                 .minimum = 0},
                raw.rest);
}

void declare_dataset_name(Visitor& visitor, std::string_view shape, FieldSource& source) {
  if (auto const why = whole_file(visitor, source); !why.empty())
    return visitor.refuse("dataset", fmt::format("{} (datasets are HDF5's)", why));
  std::string const documentation = fmt::format("The dataset of an HDF5 file, as `/u`; {}.", shape);
  visitor.text(
      {.name = "dataset", .documentation = documentation},
      {.presence = source.file.empty() || !advice_for(visitor, source).empty() ? Presence::optional
                                                                               : Presence::required,
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

/// A dataset of the grid's shape, or a field of a result.
void declare_stored_field(Visitor& visitor, Spec const& spec, FieldSource& source) {
  bool const plain = !source.file.empty() && !source.moment && !visitor.given("time") &&
                     !visitor.given("step") && advice_for(visitor, source).empty();
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
  declare_dataset_name(visitor, shape, source);
  declare_bare(visitor, source);
}

void declare_field(Visitor& visitor, std::filesystem::path const& folder, Spec const& spec,
                   FieldSource& source) {
  source.unit = spec.unit;
  declare_file(visitor, folder, data_file, source);
  if (auto const why = whole_file(visitor, source); !why.empty()) {
    visitor.refuse("dataset", fmt::format("{} (datasets are HDF5's)", why));
    for (auto const key : {"time", "step"})
      visitor.refuse(key, fmt::format("{} (results are HDF5's)", why));
  } else {
    declare_stored_field(visitor, spec, source);
  }
  declare_bare(visitor, source);
}

void declare_formula_or_field(Visitor& visitor, Spec const& spec, Presence presence,
                              std::filesystem::path const& folder, FieldSource& source) {
  auto const formula = [&](Visitor& v) {
    v.visit({.name = spec.name,
             .unit = spec.unit,
             .documentation = "A formula of space.",
             .minimum = spec.minimum,
             .exclusive_minimum = spec.exclusive_minimum,
             .variables = spec.variables.empty() ? "xyz" : spec.variables},
            source.formula);
  };
  auto const field = [&](Visitor& v) { declare_field(v, folder, spec, source); };
  Form const forms[] = {{.kind = Form::Kind::scalar, .body = formula},
                        {.kind = Form::Kind::mapping, .body = field}};
  int chosen = !source.file.empty() ? 1 : source.formula.text.empty() ? -1 : 0;
  visitor.forms(spec, presence, forms, chosen);
  visitor.locate(spec.name, source.location);
}

}  // namespace gridstride::config
