#include "simulations/pde_stability.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/error.hpp"

namespace gridstride::pde {

template <class T>
StabilityFinder<T>::StabilityFinder(Stream const& stream, Grid const& grid, Wraps const& wraps,
                                    equations::Stencil stencil, Scheme const& scheme)
    : stream_(stream),
      grid_(grid),
      linearisation_(std::move(stencil)),
      scheme_(scheme),
      globals_(stream, grid, wraps, linearisation_.terms(), linearisation_.operands()) {
  for (equations::Term const coefficient : linearisation_.coefficients())
    programs_.push_back(
        equations::program_of(linearisation_.terms(), std::array{coefficient}, grid.dims));
  if (!varies()) return;
  values_ = Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(grid.size()));
  moments_ = Buffer<reduce::Moments<T>>(stream_, MemorySpace::device, programs_.size());
}

template <class T>
equations::StepLimit StabilityFinder<T>::find(std::vector<system::Input<T>> const& inputs,
                                              evaluate::DeviceClock const* clock) {
  system::Step<T> step;
  step.grid = grid_;
  step.inputs = inputs;
  step.outputs = {{.values = values_.data()}};
  step.is_stage = false;
  step.clock = clock;
  if (varies()) globals_.find(inputs, clock, 0, values_.span());
  step.found = globals_.values();
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    step.program = &programs_[i];
    system::advance(stream_, step);
    reduce::moments<T>(stream_, std::as_const(values_).span(), moments_.span().subspan(i, 1));
  }
  std::vector<reduce::Moments<T>> found(programs_.size());
  if (varies()) copy_async(std::span(found), moments_.span(), stream_);
  stream_.synchronize();
  std::vector<equations::Range> ranges;
  for (auto const& one : found) {
    if (one.first_non_finite >= 0)
      throw NumericalError(fmt::format(
          "how the rates change with the fields is not finite at {}, so that no step is stable",
          format_place(grid_, one.first_non_finite)));
    ranges.push_back({static_cast<double>(one.minimum), static_cast<double>(one.maximum)});
  }
  return linearisation_.limit(ranges, static_cast<int>(scheme_.stages.size()));
}

template class StabilityFinder<float>;
template class StabilityFinder<double>;

}  // namespace gridstride::pde
