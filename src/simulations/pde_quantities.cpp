#include "simulations/pde_quantities.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "simulations/pde_set_up.hpp"
#include "simulations/pde_values.hpp"

namespace gridstride::pde {
namespace {

/// How many numbers a quantity has at each point.
int numbers_of(Quantity const& quantity, int dims) { return quantity.value.rank == 1 ? dims : 1; }

/// How many arrays the largest of the vectors is found in, component by component.
int component_arrays(config::RunConfig const& run) {
  int most = 0;
  for (Quantity const& quantity : parameters_of(run).quantities)
    if (int const numbers = numbers_of(quantity, run.grid.dims); numbers > 1)
      most = std::max(most, numbers);
  return most;
}

}  // namespace

std::vector<equations::Term> terms_of(Quantity const& quantity, int dims) {
  auto const& terms = quantity.value.terms;
  return {terms.begin(), terms.begin() + numbers_of(quantity, dims)};
}

equations::Stencil stencil_of(config::RunConfig const& run, Quantity const& quantity) {
  return value_stencil(run, terms_of(quantity, run.grid.dims));
}

void add_quantities(std::vector<Row>& rows, config::RunConfig const& run) {
  for (Quantity const& quantity : parameters_of(run).quantities)
    rows.push_back(scratch(run, quantity.name(), numbers_of(quantity, run.grid.dims)));
  if (int const arrays = component_arrays(run); arrays > 0)
    rows.push_back(scratch(run, "components", arrays));
  if (std::ranges::any_of(parameters_of(run).quantities, [&](Quantity const& quantity) {
        auto const stencil = stencil_of(run, quantity);
        return GlobalFinder<float>::needs_scratch(stencil.terms, stencil.operands);
      }))
    rows.push_back(scratch(run, "operand of quantities", 1));
}

bool finds_quantities_in_parts(config::RunConfig const& run) {
  return std::ranges::all_of(parameters_of(run).quantities, [&](Quantity const& quantity) {
    return stencil_of(run, quantity).operands.empty();
  });
}

int quantity_numbers(config::RunConfig const& run) {
  int numbers = 0;
  for (Quantity const& quantity : parameters_of(run).quantities)
    numbers += numbers_of(quantity, run.grid.dims);
  return numbers;
}

int reach_of_quantities(config::RunConfig const& run, int axis) {
  int most = 0;
  for (Quantity const& quantity : parameters_of(run).quantities) {
    auto const program = equations::whole_program(stencil_of(run, quantity), run.grid.dims);
    most = std::max<int>(most, program.reach[static_cast<std::size_t>(axis)]);
  }
  return most;
}

template <class T>
QuantityFinder<T>::QuantityFinder(config::RunConfig const& run, Stream const& stream)
    : stream_(stream), grid_(run.grid), variant_(evaluating_variant(run)) {
  auto const size = static_cast<std::size_t>(grid_.size());
  for (Quantity const& quantity : parameters_of(run).quantities) {
    auto const stencil = stencil_of(run, quantity);
    Task task = {&quantity, equations::program_of(stencil.terms, stencil.rates, run.grid.dims)};
    task.globals = std::make_unique<GlobalFinder<T>>(stream, run.grid, wraps_of(run), stencil.terms,
                                                     stencil.operands);
    task.values = Buffer<T>(stream_, MemorySpace::device, size * task.program.results.size());
    if (operand_.size() == 0 && GlobalFinder<T>::needs_scratch(stencil.terms, stencil.operands))
      operand_ = Buffer<T>(stream_, MemorySpace::device, size);
    tasks_.push_back(std::move(task));
  }
  for (int i = 0; i < component_arrays(run); ++i)
    components_.emplace_back(stream_, MemorySpace::device, size);
  if (!tasks_.empty()) clock_ = Buffer<evaluate::DeviceClock>(stream_, MemorySpace::device, 1);
}

template <class T>
bool QuantityFinder<T>::has(bool written) const {
  return std::ranges::any_of(tasks_,
                             [&](Task const& task) { return task.quantity->written == written; });
}

template <class T>
std::vector<Field> QuantityFinder<T>::find(bool written,
                                           std::vector<system::Input<T>> const& inputs,
                                           double time) {
  evaluate::set_clock(stream_, clock_.data(), {time, 0, 0});
  std::vector<Field> fields;
  for (Task& task : tasks_) {
    if (task.quantity->written != written) continue;
    queue(task, inputs);
    fields.push_back({task.quantity->name(), "1", grid_, precision_of<T>(), task.values.data(),
                      static_cast<int>(task.program.results.size())});
  }
  return fields;
}

template <class T>
void QuantityFinder<T>::queue(Task& task, std::vector<system::Input<T>> const& inputs) {
  system::Step<T> step;
  step.program = &task.program;
  step.grid = grid_;
  step.inputs = inputs;
  step.is_stage = false;
  step.clock = clock_.data();
  task.globals->find(inputs, clock_.data(), 0, operand_.span(), variant_);
  step.found = task.globals->values();
  bool const is_vector = task.program.results.size() > 1;
  for (std::size_t c = 0; c < task.program.results.size(); ++c)
    step.outputs.push_back({.values = (is_vector ? components_[c] : task.values).data()});
  step.prepared = &task.prepared;
  system::advance(stream_, step, variant_);
  if (!is_vector) return;
  std::vector<T const*> components;
  for (std::size_t c = 0; c < task.program.results.size(); ++c)
    components.push_back(std::as_const(components_[c]).data());
  system::interleave<T>(stream_, components, task.values.span());
}

template <class T>
QuantityPlanes<T>::QuantityPlanes(config::RunConfig const& run, Stream const& stream)
    : stream_(stream), run_(run) {
  for (bool const written : {true, false})
    for (Quantity const& quantity : parameters_of(run).quantities) {
      if (quantity.written != written) continue;
      auto const stencil = stencil_of(run, quantity);
      tasks_.push_back(
          {&quantity, equations::program_of(stencil.terms, stencil.rates, run.grid.dims)});
    }
  if (!tasks_.empty()) clock_ = Buffer<evaluate::DeviceClock>(stream_, MemorySpace::device, 1);
}

template <class T>
std::vector<Field> QuantityPlanes<T>::described(bool written) const {
  std::vector<Field> fields;
  for (Task const& task : tasks_)
    if (task.quantity->written == written)
      fields.push_back({task.quantity->name(), "1", run_.grid, precision_of<T>(), nullptr,
                        static_cast<int>(task.program.results.size())});
  return fields;
}

template <class T>
void QuantityPlanes<T>::find(system::Step<T> step, double time) {
  evaluate::set_clock(stream_, clock_.data(), {time, 0, 0});
  step.is_stage = false;
  step.clock = clock_.data();
  auto const size = static_cast<std::size_t>(step.grid.size());
  for (Task& task : tasks_) {
    step.program = &task.program;
    step.outputs.clear();
    task.values.resize(task.program.results.size());
    for (auto& values : task.values) {
      if (values.size() != size) values = Buffer<T>(stream_, MemorySpace::device, size);
      step.outputs.push_back({.values = values.data()});
    }
    step.prepared = &task.prepared;
    system::advance(stream_, step, evaluating_variant(run_));
  }
}

template <class T>
std::vector<T const*> QuantityPlanes<T>::arrays() const {
  std::vector<T const*> arrays;
  for (Task const& task : tasks_)
    for (auto const& values : task.values) arrays.push_back(values.data());
  return arrays;
}

template class QuantityFinder<float>;
template class QuantityFinder<double>;
template class QuantityPlanes<float>;
template class QuantityPlanes<double>;

}  // namespace gridstride::pde
