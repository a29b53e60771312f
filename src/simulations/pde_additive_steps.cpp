#include "simulations/pde_additive_steps.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "core/error.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace gridstride::pde {

namespace {

constexpr int stages = AdditiveTable::stages;

double diagonal() { return ark3_table().implicit_part[1][1]; }

/// The weights of d = u' − u_4.
double of_end(std::size_t stage) {
  return ark3_table().weights[stage] - ark3_table().explicit_part[stages - 1][stage];
}

Stage moment_of(int stage) {
  return {.time = ark3_table().times[static_cast<std::size_t>(stage)], .sides_at_time = true};
}

}  // namespace

template <class T>
AdditiveSteps<T>::AdditiveSteps(Stream const& stream, config::RunConfig const& run, State<T>& state,
                                std::vector<Array<T>*> const& evolved, StepPlace<T>& place)
    : stream_(stream),
      components_(evolved.size()),
      place_(place),
      solves_(stream, run, state, evolved, place),
      second_(stream_, MemorySpace::device, 1) {
  evaluate::set_clock(stream_, second_.data(), {0, 1, 0});
  for (std::size_t c = 0; c < components_; ++c)
    for (int number = 1; number < buffers; ++number) zero_async(place_.kept(number, c), stream_);
}

template <class T>
void AdditiveSteps<T>::add(double weight, std::span<T const> from, std::span<T> to) {
  if (weight != 0) elementwise::axpy<T>(stream_, static_cast<T>(weight), from, to);
}

template <class T>
void AdditiveSteps<T>::advance(double step, double time) {
  if (!make_stages(step, time))
    throw NumericalError(fmt::format(
        "in the step to t = {} s a field is beyond all numbers (is what is explicit growing?)",
        time + step));
  place_.take(nullptr);
}

/// After it buffer 1 has the new state. Whether that is within all numbers, as far as solves tell.
template <class T>
bool AdditiveSteps<T>::make_stages(double step, double time) {
  auto const& table = ark3_table();
  double const weight = 1 / (diagonal() * step);
  for (int stage = 0; stage < stages; ++stage) {
    auto const moment = moment_of(stage);
    double const now = time + moment.time * step;
    place_.refresh(moment);
    solves_.renew(now);
    for (std::size_t const c : solves_.solved()) {
      if (stage == 0)
        solves_.find_rate(c, place_.buffer(0, c), place_.buffer(first_l, c));
      else if (!solve_stage(c, stage, weight, now))
        return false;
    }
    auto const row = static_cast<std::size_t>(stage);
    for (std::size_t const c : solves_.alone()) {
      if (stage == 0) continue;
      copy_async(buffer(c, 1), std::span<T const>(buffer(c, 0)), stream_);
      for (std::size_t j = 0; j < row; ++j)
        add(step * table.explicit_part[row][j], buffer(c, first_n + static_cast<int>(j)),
            buffer(c, 1));
      impose_sides(stream_, place_, c, place_.buffer(1, c));
    }
    if (stage > 0) place_.hold_sides(1, moment.time);
    if (stage > 0) place_.complete(1);
    place_.queue_rates(moment, stage == 0 ? 0 : 1, first_n + stage, 0);
  }
  for (std::size_t c = 0; c < components_; ++c) {
    for (std::size_t j = 0; j < stages; ++j)
      add(step * of_end(j), buffer(c, first_n + static_cast<int>(j)), buffer(c, 1));
    impose_sides(stream_, place_, c, place_.buffer(1, c));
  }
  place_.hold_sides(1, 1);
  return true;
}

/// That of a stage, without what sides come to, in the place of its L.
template <class T>
void AdditiveSteps<T>::make_right(std::size_t component, int stage, double weight) {
  auto const& table = ark3_table();
  auto const row = static_cast<std::size_t>(stage);
  auto const known = buffer(component, first_l + stage);
  copy_async(known, std::span<T const>(buffer(component, 0)), stream_);
  elementwise::scale<T>(stream_, static_cast<T>(weight), known);
  for (std::size_t j = 0; j < row; ++j) {
    int const number = static_cast<int>(j);
    add(table.explicit_part[row][j] / diagonal(), buffer(component, first_n + number), known);
    add(table.implicit_part[row][j] / diagonal(), buffer(component, first_l + number), known);
  }
}

template <class T>
bool AdditiveSteps<T>::solve_stage(std::size_t component, int stage, double weight, double time) {
  make_right(component, stage, weight);
  auto const value = buffer(component, 1), known = buffer(component, first_l + stage),
             whole = buffer(component, right);
  if (stage == 1) copy_async(value, std::span<T const>(buffer(component, 0)), stream_);
  copy_async(whole, std::span<T const>(known), stream_);
  impose_sides(stream_, place_, component, value.data());
  if (!solves_.solve(component, weight, whole.data(), value.data(), time)) return false;
  elementwise::scale<T>(stream_, T{-1}, known);
  add(weight, value, known);
  return true;
}

/// Into the places of L_1, which nothing needs any more.
template <class T>
bool AdditiveSteps<T>::find_error(double step, double time) {
  auto const& table = ark3_table();
  for (std::size_t c = 0; c < components_; ++c) zero_async(buffer(c, right), stream_);
  auto const add_n = [&](std::size_t component, double factor, auto const& weight, int to) {
    for (std::size_t j = 0; j < stages; ++j)
      add(factor * weight(j), buffer(component, first_n + static_cast<int>(j)),
          buffer(component, to));
  };
  auto const of_error = [&](std::size_t j) { return table.weights[j] - table.second_weights[j]; };
  auto const of_rest = [&](std::size_t j) { return of_error(j) - of_end(j); };
  for (std::size_t const c : solves_.solved()) {
    for (std::size_t j = 0; j < stages; ++j)
      add(of_error(j) / diagonal(), buffer(c, first_l + static_cast<int>(j)), buffer(c, right));
    add_n(c, 1 / diagonal(), of_rest, right);
    double const weight = 1 / (diagonal() * step);
    if (!solves_.solve_error(c, weight, place_.buffer(right, c), place_.buffer(first_l, c), time))
      return false;
    add_n(c, step, of_end, first_l);
  }
  for (std::size_t const c : solves_.alone()) {
    zero_async(buffer(c, first_l), stream_);
    add_n(c, step, of_error, first_l);
  }
  return true;
}

/// A step that leads beyond all numbers has an infinite error.
template <class T>
void AdditiveSteps<T>::attempt(evaluate::DeviceClock const* clock, system::ErrorScale scale,
                               std::span<system::WorstError> parts) {
  evaluate::DeviceClock now;
  copy_async(std::span(&now, 1), std::span(clock, 1), stream_);
  stream_.synchronize();
  if (now.step_size == 0) return;
  if (!make_stages(now.step_size, now.time(0)) || !find_error(now.step_size, now.time(1)))
    for (std::size_t c = 0; c < components_; ++c)
      elementwise::fill<T>(stream_, std::numeric_limits<T>::infinity(), buffer(c, 1));
  find_worst(first_l, 1, scale, parts);
}

template <class T>
void AdditiveSteps<T>::find_rate(evaluate::DeviceClock const* clock, system::ErrorScale scale,
                                 std::span<system::WorstError> parts) {
  evaluate::DeviceClock now;
  copy_async(std::span(&now, 1), std::span(clock, 1), stream_);
  stream_.synchronize();
  auto const moment = moment_of(0);
  place_.refresh(moment);
  solves_.renew(now.time(0));
  place_.queue_rates(moment, 0, first_n, 0);
  for (std::size_t const c : solves_.solved()) {
    solves_.find_rate(c, place_.buffer(0, c), place_.buffer(first_l, c));
    add(1, buffer(c, first_l), buffer(c, first_n));
  }
  find_worst(first_n, 0, scale, parts);
}

template <class T>
void AdditiveSteps<T>::find_worst(int error, int value, system::ErrorScale scale,
                                  std::span<system::WorstError> parts) {
  std::vector<system::Slopes<T>> components;
  for (std::size_t c = 0; c < components_; ++c) {
    system::Slopes<T> one = {.state = buffer(c, 0).data(), .value = buffer(c, value).data()};
    one.slopes[0] = buffer(c, error).data();
    place_.copy_sides(c, one.sides);
    components.push_back(one);
  }
  double const weight = 1;
  place_.find_worst(std::move(components), std::span(&weight, 1), scale, second_.data(), parts);
}

template class AdditiveSteps<float>;
template class AdditiveSteps<double>;

}  // namespace gridstride::pde
