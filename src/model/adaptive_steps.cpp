#include "model/adaptive_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "kernels/system/slopes.hpp"

namespace gridstride {

namespace {

constexpr std::int64_t most_attempts = 16;  // queued before the host looks

}  // namespace

void check_tolerance(config::RunConfig const& run, std::vector<Problem>& problems) {
  if (!run.time.tolerance) return;
  double const rounding = run.precision == Precision::float32
                              ? double{std::numeric_limits<float>::epsilon()}
                              : std::numeric_limits<double>::epsilon();
  double const relative = run.time.tolerance->relative;
  if (relative >= 8 * rounding) return;
  problems.push_back(run.problem(
      run.location("time.tolerance"),
      fmt::format("{} is too small for {} (numbers are rounded to {:.2g} of themselves; {:.2g} is "
                  "the least)",
                  relative, name_of(run.precision), rounding, 8 * rounding)));
}

void share_worst(Stream& stream, RankPlanes& planes, std::span<system::WorstError const> own,
                 std::int64_t first, std::span<system::WorstError> parts) {
  system::find_worst(stream, own, first, &parts[static_cast<std::size_t>(planes.ranks().rank())]);
  static_assert(sizeof(system::WorstError) % sizeof(double) == 0);
  constexpr std::int64_t numbers = sizeof(system::WorstError) / sizeof(double);
  RankCuts cuts;
  for (int rank = 0; rank <= planes.ranks().count(); ++rank) cuts.push_back(rank * numbers);
  planes.share(stream, reinterpret_cast<double*>(parts.data()), 1, cuts);
}

std::size_t worst_numbers(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(system::WorstError) / sizeof(double);
}

void require_agreement(Ranks& ranks, system::StepControl const& control) {
  std::array<double, 2> const own = {control.time, control.step};
  auto first = own;
  ranks.broadcast(std::as_writable_bytes(std::span(first)));
  if (first != own)
    throw std::runtime_error(
        fmt::format("rank {} is at t = {} s with steps of {} s where the first one is at {} s with "
                    "{} s: it has a processor of another kind, and finds other numbers",
                    ranks.rank(), own[0], own[1], first[0], first[1]));
}

AdaptiveSteps::AdaptiveSteps(Stream const& stream, Grid const& grid,
                             std::vector<std::string> fields, ErrorControl const& errors, int order,
                             double end, Method method)
    : stream_(stream),
      grid_(grid),
      fields_(std::move(fields)),
      errors_(errors),
      end_(end),
      method_(std::move(method)),
      device_control_(stream_, MemorySpace::device, 1),
      parts_(stream_, MemorySpace::device,
             static_cast<std::size_t>(
                 method_.parts > 0 ? method_.parts : system::error_parts(grid, fields_.size()))) {
  control_.safety = errors_.safety;
  control_.longest = errors_.longest;
  control_.order = order;
}

std::size_t AdaptiveSteps::bytes(Grid const& grid, std::size_t fields) {
  return sizeof(system::StepControl) +
         static_cast<std::size_t>(system::error_parts(grid, fields)) * sizeof(system::WorstError);
}

std::vector<NamedValue> AdaptiveSteps::diagnostics() const {
  return {
      {"time_step", control_.step > 0 ? control_.step : std::numeric_limits<double>::quiet_NaN()}};
}

void AdaptiveSteps::advance(StepClock& clock, std::int64_t max_steps, double until) {
  until = std::min(until, end_);
  if (max_steps <= 0 || !(control_.time < until)) return;
  if (control_.step == 0) control_.step = first_step(clock);
  control_.target = until;
  control_.most_steps = control_.accepted + std::min(max_steps, std::int64_t{1} << 60);
  system::set_control(stream_, device_control_.data(), control_);
  while (control_.time < until && control_.accepted < control_.most_steps) {
    double const left = std::ceil((until - control_.time) / control_.step);
    double const most = method_.looks ? 1 : static_cast<double>(most_attempts);
    auto const attempts = static_cast<std::int64_t>(std::clamp(left, 1.0, most));
    queue_attempts(clock,
                   std::min<std::int64_t>(attempts, control_.most_steps - control_.accepted));
    copy_async(std::span(&control_, 1), std::as_const(device_control_).span(), stream_);
    stream_.synchronize();
    if (method_.look) method_.look(control_);
    if (control_.failed) throw NumericalError(failure());
  }
  clock.place(control_.accepted, control_.time, until);
}

void AdaptiveSteps::queue_attempts(StepClock& clock, std::int64_t attempts) {
  auto const all = [this, &clock](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      system::begin_attempt(stream_, device_control_.data(), clock.device());
      auto const attempt = [&] {
        method_.attempt(i > 0);
        system::end_attempt(stream_, device_control_.data(), clock.device(),
                            std::as_const(parts_).span());
        method_.commit(device_control_.data());
      };
      if (method_.within)
        method_.within(attempt);
      else
        attempt();
    }
  };
  if (attempts == most_attempts && warm_ && !method_.within) {
    if (!batch_) batch_ = Graph::capture(stream_, [all] { all(most_attempts); });
    batch_.launch(stream_);
  } else {
    all(attempts);
  }
  warm_ = true;
}

/// A hundredth of the time in which some value changes by as much as it is (Hairer, Nørsett and
/// Wanner, Solving Ordinary Differential Equations I, II.4), at most a tenth of the longest: the
/// attempts find the right one.
double AdaptiveSteps::first_step(StepClock& clock) {
  evaluate::set_clock(stream_, clock.device(), {control_.time, 1, 0});
  method_.rate();
  std::vector<system::WorstError> parts(parts_.size());
  copy_async(std::span(parts), std::as_const(parts_).span(), stream_);
  stream_.synchronize();
  auto const worst = *std::ranges::max_element(parts, std::less<>());
  if (!std::isfinite(worst.value))
    throw NumericalError(fmt::format(
        "at t = {} s the rate of {} is not finite at {}", control_.time,
        fields_[static_cast<std::size_t>(worst.component)], format_place(grid_, worst.point)));
  return std::min(0.01 / (errors_.tolerance.relative * std::max(worst.value, 0.0)),
                  0.1 * errors_.longest);
}

std::string AdaptiveSteps::failure() const {
  auto const& worst = control_.worst;
  return fmt::format("at t = {} s steps of {:.3g} s are too short to go on: {} {} at {}",
                     control_.time, control_.step,
                     fields_[static_cast<std::size_t>(worst.component)],
                     std::isfinite(worst.value) ? "changes too fast" : "is not finite",
                     format_place(grid_, worst.point));
}

void AdaptiveSteps::save(CheckpointSink& sink) const {
  sink.put_real("adaptive/step", control_.step);
  sink.put_real("adaptive/error", control_.previous_error);
  sink.put_integer("adaptive/rejected", control_.rejected);
  sink.put_integer("adaptive/after_rejection", control_.after_rejection ? 1 : 0);
}

void AdaptiveSteps::load(CheckpointSource const& source, Clock const& now) {
  control_.time = now.time;
  control_.accepted = now.step;
  control_.step = source.get_real("adaptive/step");
  control_.previous_error = source.get_real("adaptive/error");
  control_.rejected = source.get_integer("adaptive/rejected");
  control_.after_rejection = source.get_integer("adaptive/after_rejection") != 0;
}

}  // namespace gridstride
