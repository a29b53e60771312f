#include "simulations/pde_stability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.hpp"

namespace gridstride::pde {

template <class T>
StabilityFinder<T>::StabilityFinder(Stream const& stream, Grid const& grid, Wraps const& wraps,
                                    equations::Stencil stencil, int degree, bool factors_change)
    : stream_(stream),
      grid_(grid),
      linearisation_(std::move(stencil)),
      degree_(degree),
      factors_change_(factors_change),
      extremes_(stream, grid, linearisation_.terms(), linearisation_.coefficients()),
      globals_(stream, grid, wraps, linearisation_.terms(), linearisation_.operands()) {
  if (extremes_.size() > 0)
    scratch_ = Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(grid.size()));
}

namespace {

/// Sides with a factor; their a is not known yet.
template <class T>
struct Factors {
  std::vector<equations::RobinSide> sides = {};
  std::vector<std::span<T const>> values = {};

  Factors(Grid const& grid, std::vector<system::Input<T>> const& inputs) {
    for (std::size_t c = 0; c < inputs.size(); ++c)
      for (int axis = 0; axis < grid.dims; ++axis)
        for (int end = 0; end < 2; ++end)
          if (T const* const a = inputs[c].sides[axis][end].a) {
            sides.push_back({c, axis, end, grid.spacing[static_cast<std::size_t>(axis)], {}, c});
            values.emplace_back(a, static_cast<std::size_t>(grid.face_size(axis)));
          }
  }
};

template <class T>
equations::Range range_of(reduce::Moments<T> const& found) {
  return {static_cast<double>(found.minimum), static_cast<double>(found.maximum)};
}

}  // namespace

/// Whether no coefficient changes with the fields or in time.
template <class T>
bool StabilityFinder<T>::follows_space_alone() const {
  using equations::Kind;
  return !factors_change_ && linearisation_.operands().empty() &&
         std::ranges::none_of(linearisation_.coefficients(), [this](equations::Term term) {
           auto const contains = [&](Kind kind) {
             return linearisation_.terms().contains(term, kind);
           };
           return contains(Kind::unknown) || contains(Kind::time) || contains(Kind::noise);
         });
}

template <class T>
equations::StepLimit StabilityFinder<T>::find(std::vector<system::Input<T>> const& inputs,
                                              evaluate::DeviceClock const* clock) {
  if (lasting_) return *lasting_;
  system::Step<T> step;
  step.inputs = inputs;
  step.clock = clock;
  if (extremes_.size() > 0) globals_.find(inputs, clock, 0, scratch_.span());
  step.found = globals_.values();
  std::vector<equations::Range> ranges;
  for (auto const& [least, greatest, first_non_finite] :
       extremes_.find(std::move(step), scratch_.span())) {
    if (first_non_finite >= 0)
      throw NumericalError(fmt::format(
          "how the rates change with the fields is not finite at {}, so that no step is stable",
          format_place(grid_, first_non_finite)));
    ranges.push_back({least, greatest});
  }
  auto const sides = find_factors(inputs);
  auto const limit = linearisation_.limit(ranges, degree_, sides);
  if (follows_space_alone()) lasting_ = limit;
  return limit;
}

/// The sides with a factor, and its range on each.
template <class T>
std::vector<equations::RobinSide> StabilityFinder<T>::find_factors(
    std::vector<system::Input<T>> const& inputs) {
  Factors<T> factors(grid_, inputs);
  std::size_t const count = factors.sides.size();
  if (moments_.size() < count)
    moments_ = Buffer<reduce::Moments<T>>(stream_, MemorySpace::device, count);
  for (std::size_t i = 0; i < count; ++i)
    reduce::moments<T>(stream_, factors.values[i], moments_.span().subspan(i, 1));
  std::vector<reduce::Moments<T>> found(count);
  if (count == 0) return {};
  copy_async(std::span(found), std::as_const(moments_).span().first(count), stream_);
  stream_.synchronize();
  for (std::size_t i = 0; i < count; ++i) {
    auto& [component, axis, end, spacing, a, of] = factors.sides[i];
    if (found[i].first_non_finite >= 0)
      throw NumericalError(fmt::format("a of 'robin: [a, g]' is not finite on the {} side of {}",
                                       end == 0 ? "lower" : "upper",
                                       axis_names[static_cast<std::size_t>(axis)]));
    a = range_of(found[i]);
  }
  return std::move(factors.sides);
}

template class StabilityFinder<float>;
template class StabilityFinder<double>;

}  // namespace gridstride::pde
