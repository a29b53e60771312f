#include "simulations/pde_evaluations.hpp"

#include <cstddef>

#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

template <class T>
Evaluations<T>::Evaluations(Stream const& stream, config::RunConfig const& run,
                            equations::Stencil const& stencil, State<T>& state, bool has_whole)
    : stream_(stream),
      run_(run),
      side_values_(stream, run, state),
      globals_(stream, run.grid, wraps_of(run), stencil.terms, stencil.operands),
      program_(equations::program_of(stencil.terms, stencil.rates, run.grid.dims)),
      all_rates_(program_) {
  if (has_whole)
    names_.emplace(stream, run.grid, name_programs(stencil, run.grid.dims),
                   system_of(run).component_count());
  if (has_whole && GlobalFinder<T>::needs_scratch(stencil.terms, stencil.operands))
    operand_ = Buffer<T>(stream, MemorySpace::device, static_cast<std::size_t>(run.grid.size()));
  if (!is_leapfrog(run)) return;
  auto const all = equations::discretise(system_of(run), run.grid, space_of(run));
  all_rates_ = equations::program_of(all.terms, all.rates, run.grid.dims);
}

template <class T>
std::vector<T*> Evaluations<T>::arrays_of(equations::Unknown const& name) {
  std::vector<T*> arrays;
  for (int c = 0; c < name.components; ++c)
    arrays.push_back(names_ ? names_->values(name.first + c) : nullptr);
  return arrays;
}

template <class T>
void Evaluations<T>::fill_sides(system::Step<T> const& step) {
  side_values_.fill(step, evaluating_variant(run_));
}

template <class T>
void Evaluations<T>::fill_sides_and_names(system::Step<T> const& step) {
  fill_sides(step);
  names_->fill(step, evaluating_variant(run_));
}

template <class T>
void Evaluations<T>::find_globals(system::Step<T> const& step) {
  globals_.find(step.inputs, step.clock, step.fraction, operand_.span(), evaluating_variant(run_));
}

template <class T>
void Evaluations<T>::complete(system::Step<T>& step) {
  fill_sides_and_names(step);
  find_globals(step);
  step.found = globals_.values();
  step.program = &program_;
}

template <class T>
void Evaluations<T>::hold_sides(system::Step<T> const& step, std::span<T* const> state) {
  side_values_.hold(step, state, evaluating_variant(run_));
}

template <class T>
void Evaluations<T>::queue(system::Step<T>& step, Stage const* stage) {
  step.prepared = &prepared_[stage];
  system::advance(stream_, step, evaluating_variant(run_));
}

template class Evaluations<float>;
template class Evaluations<double>;

}  // namespace gridstride::pde
