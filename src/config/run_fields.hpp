#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"

/// The fields of a run, and what a file says of their values.
namespace gridstride::config {

constexpr int most_axes = 3;

/// Makes these the fields of a run, with what holds where the file says nothing: all are written,
/// and their sides are of their first kind.
void take_fields(RunOptions& run, std::vector<FieldInfo> fields);

/// Takes the fields that the parameters give. Of a grid with axes, none may be called as an axis.
void declare_fields(Visitor& visitor, RunOptions& run, ParameterSet const& parameters);

/// What formulas of fields call a component: `velocity_x`.
std::string component_variable(std::string_view vector, std::string_view component);

/// What has one number at each point: fields without components, and each component of the others
/// as `velocity.x`.
std::vector<FieldInfo> numbers_of(std::span<FieldInfo const> fields);

/// What the length of a vector is called beside its components.
inline constexpr std::string_view magnitude_word = "magnitude";
/// The name of its length among these: `velocity.magnitude`; empty for fields without components, and where
/// one of them is called so.
std::string magnitude_name(FieldInfo const& field);

/// What may be said of a field whose name and components nobody knows: what `one` declares, by itself or by
/// component. For visitors that describe; no other meets such fields.
void describe_any_value(Visitor& visitor, Spec const& spec,
                        std::function<void(Visitor&, Spec const&, bool is_component)> const& one);

/// A formula, or for a vector a mapping with one for each component.
void declare_value(Visitor& visitor, Spec const& spec, std::vector<std::string> const& components,
                   Formula& value, std::vector<Formula>& values);

}  // namespace gridstride::config
