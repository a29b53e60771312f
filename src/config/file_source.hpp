#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "config/run_config.hpp"
#include "config/visitor.hpp"

/// The files that a config names. Their paths are relative to the config's folder.
namespace gridstride::config {

/// Declares the text of a path. What a shell would expand (`~/data`, `$HOME/data`) is a fault.
void declare_path(Visitor& visitor, Spec const& spec, Presence presence, std::string& text);

/// Declares a path, which is kept as `folder / text`.
void declare_input_path(Visitor& visitor, Spec const& spec, Presence presence,
                        std::filesystem::path const& folder, std::filesystem::path& path);

/// Declares the keys of a file of numbers, as the mapping of a form: `file`, and `dataset` of an
/// HDF5 file, or what a file of bare numbers holds. `shape` tells the shape that it has to have, in
/// words.
void declare_dataset(Visitor& visitor, std::filesystem::path const& folder, std::string_view shape,
                     FieldSource& source);

/// The same for values on the grid, where a field of another run's result may stand: the keys
/// `time` and `step`, either of which tells a moment of it, and `dataset`, which is then that
/// field's name; when left out, it is the name that `spec` has.
void declare_field(Visitor& visitor, std::filesystem::path const& folder, Spec const& spec,
                   FieldSource& source);

/// Declares values on the grid as a formula of space, or of the variables of `spec`, within the limits of `spec`, or as such a file.
void declare_formula_or_field(Visitor& visitor, Spec const& spec, Presence presence,
                              std::filesystem::path const& folder, FieldSource& source);

}  // namespace gridstride::config
