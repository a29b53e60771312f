#include "simulations/pde_names.hpp"

#include <algorithm>
#include <utility>

namespace gridstride::pde {

std::vector<equations::StencilProgram> name_programs(equations::Stencil const& stencil, int dims) {
  std::vector<equations::StencilProgram> programs;
  for (auto const& components : stencil.names)
    programs.push_back(equations::program_of(stencil.terms, components, dims));
  return programs;
}

template <class T>
SidedNames<T>::SidedNames(Stream const& stream, Grid const& grid,
                          std::vector<equations::StencilProgram> programs, int components)
    : stream_(stream),
      programs_(std::move(programs)),
      prepared_(programs_.size()),
      components_(components) {
  for (auto const& program : programs_)
    for (std::size_t i = 0; i < program.results.size(); ++i)
      arrays_.emplace_back(stream_, MemorySpace::device, static_cast<std::size_t>(grid.size()));
}

template <class T>
bool SidedNames<T>::depends_on_time() const {
  return std::ranges::any_of(programs_, &equations::StencilProgram::depends_on_time);
}

template <class T>
void SidedNames<T>::fill(system::Step<T> step, std::string_view variant) {
  if (programs_.empty()) return;
  auto const inputs = step.inputs;
  auto first = inputs.begin() + components_;  // of the present name
  // No name is made of itself or of those after it, and nothing is an input of what makes it.
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    step.inputs[static_cast<std::size_t>(components_) + i].values = inputs.front().values;
  step.is_stage = false;
  std::size_t array = 0;
  for (std::size_t name = 0; name < programs_.size(); ++name) {
    step.program = &programs_[name];
    step.outputs.clear();
    auto const components = static_cast<std::ptrdiff_t>(programs_[name].results.size());
    for (std::ptrdiff_t c = 0; c < components; ++c)
      step.outputs.push_back({.values = arrays_[array++].data()});
    step.prepared = &prepared_[name];
    system::advance(stream_, step, variant);
    for (std::ptrdiff_t c = 0; c < components; ++c, ++first) {
      step.inputs[static_cast<std::size_t>(first - inputs.begin())].values = first->values;
      if (std::ranges::any_of(first->sides,
                              [](auto const& ends) { return ends[0].given || ends[1].given; }))
        system::impose_sides<T>(stream_, step.grid, first->sides,
                                step.outputs[static_cast<std::size_t>(c)].values);
    }
  }
}

template class SidedNames<float>;
template class SidedNames<double>;

}  // namespace gridstride::pde
