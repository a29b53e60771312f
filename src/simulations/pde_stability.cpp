#include "simulations/pde_stability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "core/error.hpp"
#include "model/bricks.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

namespace {

/// The places of coefficients that depend on the time, by themselves or by what they are found from.
std::vector<std::size_t> timed_coefficients(equations::Linearisation const& linearisation) {
  auto const& terms = linearisation.terms();
  auto const has = [&](equations::Term term, equations::Kind kind) {
    return terms.contains(term, kind);
  };
  bool const timed_globals = std::ranges::any_of(
      linearisation.operands(), [&](auto term) { return has(term, equations::Kind::time); });
  std::vector<std::size_t> places;
  auto const coefficients = linearisation.coefficients();
  for (std::size_t i = 0; i < coefficients.size(); ++i)
    if (has(coefficients[i], equations::Kind::time) ||
        (timed_globals && has(coefficients[i], equations::Kind::found)))
      places.push_back(i);
  return places;
}

/// Whether a coefficient has something of these kinds in it.
bool contains(equations::Linearisation const& linearisation,
              std::initializer_list<equations::Kind> kinds) {
  return std::ranges::any_of(linearisation.coefficients(), [&](equations::Term term) {
    return std::ranges::any_of(
        kinds, [&](equations::Kind kind) { return linearisation.terms().contains(term, kind); });
  });
}

std::vector<equations::Term> at_places(std::span<equations::Term const> terms,
                                       std::vector<std::size_t> const& places) {
  std::vector<equations::Term> some;
  for (std::size_t const place : places) some.push_back(terms[place]);
  return some;
}

}  // namespace

template <class T>
StabilityFinder<T>::StabilityFinder(Stream const& stream, Grid const& grid, Wraps const& wraps,
                                    std::shared_ptr<equations::Linearisation const> linearisation,
                                    int degree, bool factors_change,
                                    std::vector<double> stage_times, std::string_view variant)
    : stream_(stream),
      grid_(grid),
      linearisation_(std::move(linearisation)),
      degree_(degree),
      factors_change_(factors_change),
      stage_times_(std::move(stage_times)),
      variant_(variant),
      extremes_(stream, grid, linearisation_->terms(), linearisation_->coefficients()),
      timed_(timed_coefficients(*linearisation_)),
      ahead_(stream, grid, linearisation_->terms(),
             at_places(linearisation_->coefficients(), timed_)),
      globals_(stream, grid, wraps, linearisation_->terms(), linearisation_->operands()) {
  if (!timed_.empty()) clock_ = Buffer<evaluate::DeviceClock>(stream_, MemorySpace::device, 1);
}

template <class T>
StabilityFinder<T>::StabilityFinder(Stream const& stream, config::RunConfig const& run,
                                    std::shared_ptr<equations::Linearisation const> linearisation)
    : StabilityFinder(stream, run.grid, wraps_of(run), std::move(linearisation), degree_of(run),
                      gridstride::pde::factors_change(run), pde::stage_times(run),
                      evaluating_variant(run)) {}

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

template <class T>
bool StabilityFinder<T>::follows_fields() const {
  return !linearisation_->operands().empty() ||
         contains(*linearisation_, {equations::Kind::unknown, equations::Kind::noise});
}

/// Whether no coefficient changes with the fields or in time.
template <class T>
bool StabilityFinder<T>::follows_space_alone() const {
  return !factors_change_ && !follows_fields() &&
         !contains(*linearisation_, {equations::Kind::time});
}

template <class T>
equations::StepLimit StabilityFinder<T>::find(std::vector<system::Input<T>> const& inputs,
                                              Ahead const& ahead, SetFactors const& set_factors,
                                              Look const& look) {
  if (lasting_) return *lasting_;
  auto ranges = find_ranges(look);
  if (!timed_.empty() && ahead.steps > 0) look_ahead(look, ahead, ranges);
  auto sides = find_factors(inputs);
  if (factors_change_ && ahead.steps > 0)
    for (double const part : stage_times_) {
      set_factors(part);
      auto const then = find_factors(inputs);
      for (std::size_t i = 0; i < sides.size(); ++i)
        sides[i].a = {std::min(sides[i].a.least, then[i].a.least),
                      std::max(sides[i].a.greatest, then[i].a.greatest)};
    }
  auto const limit = linearisation_->limit(ranges, degree_, sides);
  if (follows_space_alone()) lasting_ = limit;
  return limit;
}

template <class T>
auto StabilityFinder<T>::look_at(std::vector<system::Input<T>> const& inputs,
                                 evaluate::DeviceClock const* clock) -> Look {
  return [this, &inputs, clock](Ahead const& ahead) {
    system::Step<T> step;
    step.inputs = inputs;
    step.clock = clock;
    return look(std::move(step), ahead);
  };
}

template <class T>
equations::Range StabilityFinder<T>::checked(system::Extremes const& found) const {
  if (found.first_non_finite >= 0)
    throw NumericalError(fmt::format(
        "how the rates change with the fields is not finite at {}, so that no step is stable",
        format_place(grid_, found.first_non_finite)));
  if (!std::isfinite(found.least) || !std::isfinite(found.greatest))
    throw NumericalError(
        "how the rates change with the fields is beyond all numbers, so that no step is stable");
  return {found.least, found.greatest};
}

template <class T>
std::vector<equations::Range> StabilityFinder<T>::find_ranges(Look const& look) {
  std::vector<equations::Range> ranges;
  if (extremes_.size() == 0) return ranges;
  for (auto const& found : look({})) ranges.push_back(checked(found));
  return ranges;
}

template <class T>
void StabilityFinder<T>::look_ahead(Look const& look, Ahead const& ahead,
                                    std::vector<equations::Range>& ranges) {
  auto const found = look(ahead);
  for (std::size_t i = 0; i < timed_.size(); ++i) {
    auto& range = ranges[timed_[i]];
    auto const [least, greatest] = checked(found[i]);
    range = {std::min(range.least, least), std::max(range.greatest, greatest)};
  }
}

template <class T>
void StabilityFinder<T>::prepare(std::vector<system::Input<T>> const& inputs) {
  if (variant_ != "interpreter") extremes_.prepare(inputs);
}

template <class T>
std::vector<system::Extremes> StabilityFinder<T>::look(system::Step<T> step, Ahead const& ahead,
                                                       OwnPlanes const* own) {
  auto const scratch = scratch_of(own != nullptr ? step.grid.size() : grid_.size());
  std::optional<system::Counted> counted;
  if (own != nullptr) {
    Brick const brick{{own->own.lower - own->first, own->own.upper - own->first}, own->strips};
    counted.emplace();
    auto const extents = extents_of(step.grid, brick);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      counted->begin[axis] = extents[axis].lower;
      counted->end[axis] = extents[axis].upper;
    }
  }
  auto const add = [&](system::ExtremesFinder<T>& extremes) {
    if (own != nullptr)
      globals_.find(step, *own, scratch, variant_);
    else
      globals_.find(step.inputs, step.clock, step.fraction, scratch, variant_);
    step.found = globals_.values();
    extremes.add(step, scratch, variant_, counted);
  };
  if (ahead.steps == 0) {
    add(extremes_);
    return extremes_.take(while_waiting_);
  }
  evaluate::set_clock(stream_, clock_.data(), {ahead.time, ahead.step, 0});
  step.clock = clock_.data();
  for (std::int64_t n = 0; n < ahead.steps; ++n)
    for (double const part : stage_times_) {
      step.fraction = static_cast<double>(n) + part;
      add(ahead_);
    }
  return ahead_.take();
}

template <class T>
std::span<T> StabilityFinder<T>::scratch_of(std::int64_t size) {
  auto const values = static_cast<std::size_t>(size);
  if (scratch_.size() < values) scratch_ = Buffer<T>(stream_, MemorySpace::device, values);
  return scratch_.span().first(values);
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
