#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field_info.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"

/// Fields number by number: what has one at each point is a field, a component of a vector, or the
/// magnitude of one.
namespace gridstride {

/// `component` of a vector from 0 on, or this.
inline constexpr int magnitude_of_vector = -1;

struct FieldNumber {
  Field field;
  int component = 0;
};

/// `u`, `velocity.x`, `velocity.magnitude`; the number of a component that has no name.
std::string number_name(std::span<config::FieldInfo const> infos, Field const& field,
                        int component);

/// What `name` means: a field, or a component as `velocity.x`. Throws `std::invalid_argument` for
/// others.
FieldNumber find_number(std::span<config::FieldInfo const> infos, std::span<Field const> fields,
                        std::string_view name);

/// What diagnostics look at in a field: itself, or of a vector each component and the magnitude,
/// which is left out where a component is called so. Each is a field of one number by its name, on
/// the grid of the field; its data are those of the field. Throws `std::invalid_argument` for a
/// vector with other components than `infos` tell.
std::vector<FieldNumber> numbers_of(std::span<config::FieldInfo const> infos, Field const& field);

/// The same of some fields, one after the other.
std::vector<Field> numbers_of_all(std::span<config::FieldInfo const> infos,
                                  std::span<Field const> fields);

/// What the files may call them.
std::vector<config::FieldInfo> diagnosed_numbers(std::span<config::FieldInfo const> infos);

/// Queues the way of one component of some vectors, or of their magnitudes, to a place of its own.
template <class T>
void extract(Stream& stream, std::span<T const> vectors, int components, int component,
             std::span<T> target);

}  // namespace gridstride
