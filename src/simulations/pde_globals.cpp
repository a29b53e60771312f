#include "simulations/pde_globals.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "expression/operations.hpp"

namespace gridstride::pde {

using equations::Kind;
using equations::Node;
using equations::Term;
using equations::Terms;

static_assert(sizeof(reduce::FieldNumbers) == equations::numbers_of_operand * sizeof(double));

namespace {

/// The component whose values at the points a term is; −1: it is something else.
int component_of(Terms const& terms, Term term) {
  Node const& node = terms[term];
  return node.kind == Kind::unknown && node.orders == std::array<std::int8_t, 3>{} ? node.index
                                                                                   : -1;
}

template <class T>
reduce::FieldOperation<T> operation_of(Grid const& grid, Wraps const& wraps) {
  reduce::FieldOperation<T> operation{.dims = grid.dims, .wraps = wraps};
  std::ranges::copy(grid.points, operation.points.begin());
  std::ranges::copy(grid.spacing, operation.spacing.begin());
  return operation;
}

}  // namespace

Wraps wraps_of(config::RunConfig const& run) {
  Wraps wraps = {true, true, true};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis)
    wraps[axis] = gridstride::wraps(run.boundary.front()[axis][0].kind);
  return wraps;
}

template <class T>
GlobalFinder<T>::GlobalFinder(Stream const& stream, Grid const& grid, Wraps const& wraps,
                              Terms const& terms, std::span<Term const> operands)
    : stream_(stream), grid_(grid), values_(stream, MemorySpace::device, operands.size()) {
  if (!operands.empty()) reduction_.emplace(stream, operation_of<T>(grid, wraps));
  for (Term const& operand : operands)
    operands_.push_back({equations::program_of(terms, std::span(&operand, 1), grid.dims),
                         component_of(terms, operand)});
}

template <class T>
std::size_t GlobalFinder<T>::bytes(Backend backend, Grid const& grid, std::size_t operands) {
  if (operands == 0) return 0;
  return operands * sizeof(reduce::FieldNumbers) +
         reduce::FieldReduction<T>::bytes(backend, operation_of<T>(grid, {}));
}

template <class T>
bool GlobalFinder<T>::needs_scratch(Terms const& terms, std::span<Term const> operands) {
  return std::ranges::any_of(operands,
                             [&](Term operand) { return component_of(terms, operand) < 0; });
}

template <class T>
std::size_t GlobalFinder<T>::shared_numbers(Backend backend, Grid const& grid) {
  reduce::FieldOperation<T> const operation = operation_of<T>(grid, {});
  return equations::numbers_of_operand *
         static_cast<std::size_t>(reduce::FieldReduction<T>::sums_of(backend, operation));
}

/// Those of an operand at the points of the step's grid; queues them where they are no array already.
template <class T>
T const* GlobalFinder<T>::values_of(Operand& one, system::Step<T>& step, std::span<T> scratch,
                                    std::string_view variant) {
  if (one.component >= 0) return step.inputs.at(static_cast<std::size_t>(one.component)).values;
  if (std::ssize(scratch) < step.grid.size())
    throw std::invalid_argument("GlobalFinder: the array for operands is missing");
  step.program = &one.program;
  step.outputs = {{.values = scratch.data()}};
  step.is_stage = false;
  step.found = values();
  step.prepared = &one.prepared;
  system::advance(stream_, step, variant);
  return scratch.data();
}

template <class T>
void GlobalFinder<T>::find(std::vector<system::Input<T>> const& inputs,
                           evaluate::DeviceClock const* clock, double fraction,
                           std::span<T> scratch, std::string_view variant) {
  system::Step<T> step;
  step.grid = grid_;
  step.inputs = inputs;
  step.clock = clock;
  step.fraction = fraction;
  auto const size = static_cast<std::size_t>(grid_.size());
  for (std::size_t i = 0; i < operands_.size(); ++i)
    reduction_->find(stream_, std::span(values_of(operands_[i], step, scratch, variant), size),
                     values_.span().subspan(i, 1));
}

template <class T>
void GlobalFinder<T>::find(system::Step<T> step, OwnPlanes const& planes, std::span<T> scratch,
                           std::string_view variant) {
  auto const line = grid_.face_size(grid_.dims - 1);
  auto const own = static_cast<std::size_t>(planes.own.count() * line);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    T const* const values = values_of(operands_[i], step, scratch, variant);
    reduction_->find_parts(stream_, planes.own.lower,
                           std::span(values + (planes.own.lower - planes.first) * line, own));
    auto const cuts = planes.ranks->cuts_of([this](std::int64_t plane) {
      return equations::numbers_of_operand * reduction_->sums_before(plane);
    });
    planes.ranks->share(stream_, reinterpret_cast<double*>(reduction_->sums().data()), 1, cuts);
    reduction_->finish(stream_, values_.span().subspan(i, 1));
  }
}

template <class T>
std::vector<double> GlobalFinder<T>::on_host() const {
  std::vector<double> found(equations::numbers_of_operand * operands_.size());
  copy_async(std::span(found), std::span(values(), found.size()), stream_);
  stream_.synchronize();
  return found;
}

template class GlobalFinder<float>;
template class GlobalFinder<double>;

double value_of(Terms const& terms, Term term, double time, std::span<double const> found) {
  if (!terms.is_uniform(term))
    throw std::invalid_argument("value_of: the term differs from point to point");
  auto const program = equations::program_of(terms, std::span(&term, 1), 1);
  std::vector<double> values;
  for (Node const& node : program.code) {
    auto const operand = [&](std::size_t i) {
      return node.operands[i] < 0 ? 0 : values[static_cast<std::size_t>(node.operands[i])];
    };
    values.push_back(node.kind == Kind::number ? node.value
                     : node.kind == Kind::time ? time
                     : node.kind == Kind::found
                         ? found[static_cast<std::size_t>(node.index)]
                         : expression::apply(node.operation, operand(0), operand(1), operand(2)));
  }
  return values.back();
}

}  // namespace gridstride::pde
