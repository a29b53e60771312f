#include "driver/diagnostics/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "config/run_fields.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace gridstride {

namespace {

config::FieldInfo const* find_info(std::span<config::FieldInfo const> infos,
                                   std::string_view name) {
  auto const found = std::ranges::find(infos, name, &config::FieldInfo::name);
  return found == infos.end() ? nullptr : &*found;
}

/// A vector in one dimension has one component.
bool is_vector(Field const& field, config::FieldInfo const* info) {
  return field.components > 1 || (info != nullptr && info->components.size() == 1);
}

}  // namespace

std::string number_name(std::span<config::FieldInfo const> infos, Field const& field,
                        int component) {
  auto const* info = find_info(infos, field.name);
  if (!is_vector(field, info)) return field.name;
  if (component == magnitude_of_vector)
    return fmt::format("{}.{}", field.name, config::magnitude_word);
  auto const place = static_cast<std::size_t>(component);
  if (info == nullptr || place >= info->components.size())
    return fmt::format("{}.{}", field.name, component);
  return fmt::format("{}.{}", field.name, info->components[place]);
}

FieldNumber find_number(std::span<config::FieldInfo const> infos, std::span<Field const> fields,
                        std::string_view name) {
  for (Field const& field : fields)
    for (int component = 0; component < field.components; ++component)
      if (number_name(infos, field, component) == name) return {field, component};
  throw std::invalid_argument(fmt::format("there is no field '{}'", name));
}

std::vector<FieldNumber> numbers_of(std::span<config::FieldInfo const> infos, Field const& field) {
  auto const* info = find_info(infos, field.name);
  if (!is_vector(field, info)) return {{field, 0}};
  if (info == nullptr || std::ssize(info->components) != field.components)
    throw std::invalid_argument(fmt::format(
        "'{}' has {} components, of which the run knows nothing", field.name, field.components));
  std::vector<int> components(info->components.size());
  std::iota(components.begin(), components.end(), 0);
  if (!config::magnitude_name(*info).empty()) components.push_back(magnitude_of_vector);
  std::vector<FieldNumber> numbers;
  for (int const component : components) {
    FieldNumber number{field, component};
    number.field.name = number_name(infos, field, component);
    number.field.components = 1;
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<Field> numbers_of_all(std::span<config::FieldInfo const> infos,
                                  std::span<Field const> fields) {
  std::vector<Field> all;
  for (Field const& field : fields)
    for (auto& number : numbers_of(infos, field)) all.push_back(std::move(number.field));
  return all;
}

std::vector<config::FieldInfo> diagnosed_numbers(std::span<config::FieldInfo const> infos) {
  std::vector<config::FieldInfo> all;
  for (config::FieldInfo const& info : infos) {
    for (auto& number : config::numbers_of(std::span(&info, 1))) all.push_back(std::move(number));
    config::FieldInfo length = info;
    length.name = config::magnitude_name(info);
    if (length.name.empty()) continue;
    length.components.clear();
    all.push_back(std::move(length));
  }
  return all;
}

template <class T>
void extract(Stream& stream, std::span<T const> vectors, int components, int component,
             std::span<T> target) {
  if (component == magnitude_of_vector)
    elementwise::magnitude<T>(stream, vectors, components, target);
  else
    elementwise::component<T>(stream, vectors, components, component, target);
}

template void extract(Stream&, std::span<float const>, int, int, std::span<float>);
template void extract(Stream&, std::span<double const>, int, int, std::span<double>);

}  // namespace gridstride
