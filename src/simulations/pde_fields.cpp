#include "simulations/pde_fields.hpp"

#include <algorithm>
#include <utility>

#include "config/run_fields.hpp"
#include "model/values.hpp"
#include "simulations/pde_initial.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

using equations::Unknown;

namespace {
constexpr int no_component = -1;  // of a scalar
}  // namespace

template <class T>
SystemFields<T>::SystemFields(Stream const& stream, config::RunConfig const& run, State<T>& state,
                              std::span<Array<T>* const> evolved)
    : stream_(stream), run_(run), grid_(run.grid), state_(state), evolved_(evolved) {
  for (Unknown const& unknown : system_of(run).unknowns) {
    auto const& info = *std::ranges::find(run.fields, unknown.name, &config::FieldInfo::name);
    auto const components = evolved.subspan(static_cast<std::size_t>(unknown.first),
                                            static_cast<std::size_t>(unknown.components));
    Written& field = fields_.emplace_back(Written{unknown, info.unit, components});
    if (components.size() > 1)
      field.together = Buffer<T>(stream_, MemorySpace::device,
                                 components.front()->span().size() * components.size());
    for (std::size_t c = 0; c < components.size(); ++c)
      set_sides(inputs_.emplace_back(), run.sides_of(unknown.name), components[c]->row().name,
                unknown.is_vector ? static_cast<int>(c) : no_component);
  }
}

template <class T>
void SystemFields<T>::add_name(Unknown const& name, std::span<T* const> values) {
  auto const components = names_of(run_, name);
  for (std::size_t c = 0; c < values.size(); ++c) {
    inputs_.emplace_back().values = values[c];
    set_sides(inputs_.back(), run_.sides_of(name.name), components[c],
              name.is_vector ? static_cast<int>(c) : no_component);
  }
}

/// What holds on the sides for an array; of a vector for this one of its components.
template <class T>
void SystemFields<T>::set_sides(system::Input<T>& input, config::Sides const& sides,
                                std::string_view name, int component) {
  for (int axis = 0; axis < grid_.dims; ++axis)
    for (int side = 0; side < 2; ++side)
      input.sides[axis][side] = system::side_of<T>(
          sides[static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)].kind,
          grid_.spacing[static_cast<std::size_t>(axis)], state_.side(name, axis, side),
          state_.side_factor(name, axis, side), component == axis);
}

template <class T>
void SystemFields<T>::fill_given(Inputs const& inputs) {
  for (Written const& field : fields_)
    if (!is_read(run_, field.unknown.name)) fill_given(field, inputs);
}

template <class T>
void SystemFields<T>::fill_read(evaluate::DeviceClock const* clock) {
  auto const& initial = parameters_of(run_).initial;
  if (!initial) return;
  for (Unknown const& unknown : in_order(run_, *initial))
    fill_read(*std::ranges::find(fields_, unknown.name,
                                 [](Written const& field) { return field.unknown.name; }),
              *initial, clock);
}

/// Formulas of space for the components, or a file's values with the components side by side.
template <class T>
void SystemFields<T>::fill_given(Written const& field, Inputs const& inputs) {
  auto const& source = run_.initial.find(field.unknown.name)->second;
  auto const take = [&](config::FieldSource const& from, std::span<T> target) {
    gridstride::fill(stream_, from, grid_, inputs, target, nullptr, run_.kernels.at("evaluate"));
  };
  if (source.file.empty() && !source.components.empty()) {
    for (std::size_t c = 0; c < field.components.size(); ++c)
      take(source_of(source.components[c]), field.components[c]->span());
  } else if (field.components.size() == 1) {
    take(source, field.components.front()->span());
  } else {
    take(source, field.together.span());
    std::vector<T*> arrays;
    for (Array<T>* const component : field.components) arrays.push_back(component->data());
    system::separate<T>(stream_, std::as_const(field.together).span(), arrays);
  }
  impose_sides(field.unknown);
}

/// Values that are made of those of other fields, by way of arrays that are free yet.
template <class T>
void SystemFields<T>::fill_read(Written const& field, equations::System const& initial,
                                evaluate::DeviceClock const* clock) {
  auto present = inputs_;
  for (std::size_t c = 0; c < evolved_.size(); ++c) present[c].values = evolved_[c]->data();
  std::vector<T*> free;
  for (Array<T>* const component : field.components) free.push_back(component->buffer(1));
  fill_initial<T>(stream_, grid_, space_of_values(run_), wraps_of(run_), initial, field.unknown,
                  present, clock, free, evaluating_variant(run_));
  for (std::size_t c = 0; c < free.size(); ++c) {
    auto const target = field.components[c]->span();
    copy_async(target, std::span<T const>(free[c], target.size()), stream_);
  }
  impose_sides(field.unknown);
}

template <class T>
void SystemFields<T>::impose_sides(Unknown const& unknown) {
  for (int c = unknown.first; c < unknown.first + unknown.components; ++c)
    system::impose_sides<T>(stream_, grid_, inputs_[static_cast<std::size_t>(c)].sides,
                            evolved_[static_cast<std::size_t>(c)]->data());
}

template <class T>
std::vector<Field> SystemFields<T>::described() const {
  std::vector<Field> fields;
  for (Written const& field : fields_)
    fields.push_back({field.unknown.name, field.unit, grid_, precision_of<T>(), nullptr,
                      static_cast<int>(field.components.size())});
  return fields;
}

template <class T>
std::vector<OwnField> SystemFields<T>::own() const {
  std::vector<OwnField> fields;
  for (Written const& field : fields_)
    fields.push_back(
        own_field(*std::ranges::find(run_.fields, field.unknown.name, &config::FieldInfo::name)));
  return fields;
}

template <class T>
std::vector<Field> SystemFields<T>::written() const {
  auto fields = described();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    Written const& field = fields_[i];
    T const* data = std::as_const(*field.components.front()).data();
    if (field.components.size() > 1) {
      std::vector<T const*> arrays;
      for (Array<T> const* const component : field.components) arrays.push_back(component->data());
      system::interleave<T>(stream_, arrays, field.together.span());
      data = field.together.data();
    }
    fields[i].data = data;
  }
  return fields;
}

template class SystemFields<float>;
template class SystemFields<double>;

}  // namespace gridstride::pde
