#include "config/file_source.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <system_error>

namespace gridstride::config {
namespace {

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

void declare_dataset_name(Visitor& visitor, std::string_view shape, Presence presence,
                          FieldSource& source) {
  std::string const documentation = fmt::format("The dataset in it, as `/u`; {}.", shape);
  visitor.text({.name = "dataset", .documentation = documentation},
               {.presence = presence, .meaning = "a path in the file"}, source.dataset);
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
  declare_file(visitor, folder, "An HDF5 file, relative to the config's folder.", source);
  declare_dataset_name(visitor, shape, Presence::required, source);
}

void declare_field(Visitor& visitor, std::filesystem::path const& folder, Spec const& spec,
                   FieldSource& source) {
  source.unit = spec.unit;
  declare_file(visitor, folder, "An HDF5 file, relative to the config's folder.", source);
  bool const plain =
      !source.file.empty() && !source.moment && !visitor.given("time") && !visitor.given("step");
  visitor.text(
      {.name = "dataset",
       .documentation = "The dataset in it, as `/u`; its shape is that of the grid, x last. "
                        "With `time` or `step` the field's name, as `u`; when left out, it "
                        "has the same name here."},
      {.presence = plain ? Presence::required : Presence::optional,
       .meaning = "a path in the file, or a field's name"},
      source.dataset);
  declare_moment(visitor, source.moment);
  if (source.moment && source.dataset.empty()) source.dataset = spec.name;
}

void declare_matrix_file(Visitor& visitor, std::filesystem::path const& folder,
                         std::string_view shape, FieldSource& source) {
  declare_file(visitor, folder,
               "An HDF5 file, or a Matrix Market file (`.mtx`), relative to the config's folder.",
               source);
  if (source.file.extension() == ".mtx")
    visitor.refuse("dataset", "a Matrix Market file holds one matrix (datasets are HDF5's)");
  else
    declare_dataset_name(visitor, shape,
                         source.file.empty() ? Presence::optional : Presence::required, source);
}

}  // namespace gridstride::config
