#include "simulations/pde_lasting.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "core/error.hpp"
#include "simulations/pde_names.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

namespace {

constexpr std::string_view row_name = "formulas of space",
                           beyond_name = "formulas of space beyond sides";

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

/// How far beyond sides that do not wrap the arrays are read.
std::array<int, 3> margin_of(config::RunConfig const& run, equations::Stencil const& stencil) {
  std::array<int, 3> margin = {};
  Wraps const wraps = wraps_of(run);
  for (auto const& node : reads(run, equations::whole_program(stencil, run.grid.dims)))
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!wraps[axis]) margin[axis] = std::max(margin[axis], std::abs(int{node.orders[axis]}));
  return margin;
}

/// What lies beyond the sides of a grid, in the order of memory.
std::vector<system::MarginSlab> slabs_beyond(std::array<std::int64_t, 3> const& points,
                                             std::array<int, 3> const& margin) {
  long long of_grid[3];
  int wide[3];
  std::ranges::copy(points, of_grid);
  std::ranges::copy(margin, wide);
  std::vector<system::MarginSlab> all;
  for (int axis = 2; axis >= 0; --axis)
    for (int side = 0; side < 2; ++side) {
      auto const slab = system::margin_slab(of_grid, wide, axis, side);
      if (slab.size() > 0) all.push_back(slab);
    }
  return all;
}

std::int64_t values_beyond(std::array<std::int64_t, 3> const& points,
                           std::array<int, 3> const& margin) {
  std::int64_t size = 0;
  for (auto const& slab : slabs_beyond(points, margin)) size += slab.size();
  return size;
}

}  // namespace

void add_lasting(std::vector<Row>& rows, config::RunConfig const& run,
                 equations::Stencil const& stencil) {
  auto const count = static_cast<int>(stencil.lasting.size());
  if (count == 0) return;
  rows.push_back(scratch(run, row_name, count));
  Row beyond = scratch(run, beyond_name, count);
  beyond.grid = {.dims = 1,
                 .points = {values_beyond(run.grid.points, margin_of(run, stencil)), 1, 1},
                 .origin = {},
                 .spacing = {1, 1, 1}};
  if (beyond.grid.size() > 0) rows.push_back(std::move(beyond));
}

bool is_lasting_row(Row const& row) { return row.name == row_name || row.name == beyond_name; }

std::size_t lasting_read(config::RunConfig const& run, equations::StencilProgram const& program) {
  std::set<std::int32_t> arrays;
  for (auto const& node : reads(run, program)) arrays.insert(node.index);
  return arrays.size();
}

bool names_read_lasting(config::RunConfig const& run, equations::Stencil const& stencil) {
  return std::ranges::any_of(name_programs(stencil, run.grid.dims),
                             [&](auto const& program) { return lasting_read(run, program) > 0; });
}

template <class T>
LastingArrays<T>::LastingArrays(Stream const& stream, config::RunConfig const& run,
                                equations::Stencil const& stencil, Grid const& piece,
                                std::array<std::int64_t, 3> const& first)
    : stream_(stream),
      making_(stream.device()),
      piece_(piece),
      first_(first),
      whole_(run.grid.points),
      around_(wraps_of(run)),
      variant_(evaluating_variant(run)) {
  if (stencil.lasting.empty()) return;
  program_ = equations::program_of(stencil.terms, stencil.lasting, run.grid.dims);
  margin_ = margin_of(run, stencil);
  for (std::size_t n = 0; n < stencil.lasting.size(); ++n)
    arrays_.emplace_back(making_, MemorySpace::device, static_cast<std::size_t>(piece.size()));
  long long points[3];
  std::ranges::copy(piece.points, points);
  make(points, {0, 0, 0}, arrays_, 0);
  making_.synchronize();
  inputs();  // no graph of steps can make them
}

/// What evaluations have queued goes first.
template <class T>
LastingArrays<T>::~LastingArrays() {
  try {
    Event queued(stream_.device());
    stream_.record(queued);
    making_.wait(queued);
  } catch (Error const&) {  // a device that has failed does no more
  }
}

template <class T>
void LastingArrays<T>::wrap(system::Sides<T>& sides) const {
  for (int axis = 0; axis < piece_.dims; ++axis)
    for (auto& side : sides[axis]) side.wraps = around_[static_cast<std::size_t>(axis)];
}

/// Queues the values of all at points of the piece, into arrays from a place on.
template <class T>
void LastingArrays<T>::make(long long const (&points)[3], long long const (&at)[3],
                            std::vector<Buffer<T>>& arrays, std::int64_t place) {
  system::Step<T> step;
  step.program = &program_;
  step.grid = piece_;
  std::ranges::copy(points, step.grid.points.begin());
  step.is_stage = false;
  step.piece.emplace();
  for (std::size_t axis = 0; axis < 3; ++axis) step.piece->first[axis] = first_[axis] + at[axis];
  step.piece->whole = whole_;
  // Formulas read no array, but kernels may load one.
  Buffer<T> const unread(making_, MemorySpace::device, static_cast<std::size_t>(step.grid.size()));
  wrap(step.inputs.emplace_back(system::Input<T>{.values = unread.data()}).sides);
  for (auto& array : arrays) step.outputs.push_back({.values = array.data() + place});
  system::advance(making_, step, variant_);
}

template <class T>
std::vector<system::Input<T>> const& LastingArrays<T>::inputs_on(Planes const& planes) {
  auto const [found, is_new] = parts_.try_emplace({planes.lower, planes.count()});
  Part& part = found->second;
  if (!is_new) return part.inputs;
  auto const slowest = static_cast<std::size_t>(piece_.dims - 1);
  auto points = piece_.points;
  points[slowest] = planes.count();
  auto const slabs = slabs_beyond(points, margin_);
  auto const size = static_cast<std::size_t>(values_beyond(points, margin_));
  for (std::size_t n = 0; n < arrays_.size(); ++n) {
    system::Input<T>& input = part.inputs.emplace_back();
    input.values = arrays_[n].data() + planes.lower * (piece_.size() / piece_.points[slowest]);
    wrap(input.sides);
    std::ranges::copy(margin_, input.margin);
    if (size == 0) continue;
    part.beyond.emplace_back(making_, MemorySpace::device, size);
    input.beyond = part.beyond.back().data();
  }
  std::int64_t place = 0;
  for (system::MarginSlab const& slab : slabs) {
    if (part.beyond.empty()) break;
    long long at[3];
    std::ranges::copy(slab.first, at);
    at[slowest] += planes.lower;
    make(slab.points, at, part.beyond, place);
    place += slab.size();
  }
  making_.synchronize();
  return part.inputs;
}

template class LastingArrays<float>;
template class LastingArrays<double>;

}  // namespace gridstride::pde
