#include "simulations/pde_lasting.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "simulations/pde_globals.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

namespace {

/// The number of the first array among all that evaluations read.
int first_array(config::RunConfig const& run) {
  return system_of(run).component_count() + system_of(run).name_count();
}

/// What a program reads of the arrays.
std::vector<equations::Node> reads(config::RunConfig const& run,
                                   equations::StencilProgram const& program) {
  std::vector<equations::Node> found;
  std::ranges::copy_if(program.code, std::back_inserter(found), [&](equations::Node const& node) {
    return node.kind == equations::Kind::unknown && node.index >= first_array(run);
  });
  return found;
}

/// The points of a grid, and how far beyond sides that do not wrap the arrays are read.
struct Margins {
  long long points[3];
  int margin[3] = {};

  Margins(config::RunConfig const& run, equations::Stencil const& stencil) {
    Wraps const wraps = wraps_of(run);
    std::ranges::copy(run.grid.points, points);
    for (auto const& node : reads(run, equations::whole_program(stencil, run.grid.dims)))
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (!wraps[axis]) margin[axis] = std::max(margin[axis], std::abs(int{node.orders[axis]}));
  }
  /// In the order of memory.
  std::vector<system::MarginSlab> slabs() const {
    std::vector<system::MarginSlab> all;
    for (int axis = 2; axis >= 0; --axis)
      for (int side = 0; side < 2; ++side)
        all.push_back(system::margin_slab(points, margin, axis, side));
    return all;
  }
  std::int64_t size() const {
    std::int64_t size = 0;
    for (auto const& slab : slabs()) size += slab.size();
    return size;
  }
};

}  // namespace

void add_lasting(std::vector<Row>& rows, config::RunConfig const& run,
                 equations::Stencil const& stencil) {
  auto const count = static_cast<int>(stencil.lasting.size());
  if (count == 0) return;
  rows.push_back(scratch(run, "formulas of space", count));
  Row beyond = scratch(run, "formulas of space beyond sides", count);
  beyond.grid = {.dims = 1,
                 .points = {Margins(run, stencil).size(), 1, 1},
                 .origin = {},
                 .spacing = {1, 1, 1}};
  if (beyond.grid.size() > 0) rows.push_back(std::move(beyond));
}

std::size_t lasting_read(config::RunConfig const& run, equations::StencilProgram const& program) {
  std::set<std::int32_t> arrays;
  for (auto const& node : reads(run, program)) arrays.insert(node.index);
  return arrays.size();
}

template <class T>
LastingArrays<T>::LastingArrays(Stream const& stream, config::RunConfig const& run,
                                equations::Stencil const& stencil, T const* other)
    : stream_(stream) {
  if (stencil.lasting.empty()) return;
  auto const program = equations::program_of(stencil.terms, stencil.lasting, run.grid.dims);
  Margins const margins(run, stencil);
  auto const around = wraps_of(run);
  for (std::size_t n = 0; n < stencil.lasting.size(); ++n) {
    system::Input<T>& input = inputs_.emplace_back();
    arrays_.emplace_back(stream_, MemorySpace::device, static_cast<std::size_t>(run.grid.size()));
    input.values = arrays_.back().data();
    for (int axis = 0; axis < run.grid.dims; ++axis)
      for (auto& side : input.sides[axis]) side.wraps = around[static_cast<std::size_t>(axis)];
    std::ranges::copy(margins.margin, input.margin);
    if (margins.size() == 0) continue;
    beyond_.emplace_back(stream_, MemorySpace::device, static_cast<std::size_t>(margins.size()));
    input.beyond = beyond_.back().data();
  }
  auto const variant = evaluating_variant(run);
  system::Step<T> step;
  step.program = &program;
  step.grid = run.grid;
  step.is_stage = false;
  step.inputs = {inputs_.front()};  // for its sides
  step.inputs.front().values = other;
  for (auto& array : arrays_) step.outputs.push_back({.values = array.data()});
  system::advance(stream_, step, variant);
  std::int64_t place = 0;
  for (system::MarginSlab const& slab : margins.slabs()) {
    if (slab.size() == 0) continue;
    step.piece.emplace();
    std::ranges::copy(slab.first, step.piece->first.begin());
    std::ranges::copy(slab.points, step.grid.points.begin());
    step.piece->whole = run.grid.points;
    for (std::size_t n = 0; n < beyond_.size(); ++n)
      step.outputs[n].values = beyond_[n].data() + place;
    system::advance(stream_, step, variant);
    place += slab.size();
  }
}

template class LastingArrays<float>;
template class LastingArrays<double>;

}  // namespace gridstride::pde
