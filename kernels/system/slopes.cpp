#include "kernels/system/slopes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "equations/terms.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/system/slope_rows.hpp"

namespace gridstride::system {

static_assert(most_taken == 2 * equations::max_components);

namespace {

constexpr std::int64_t piece = 4096;  // points that are worth handing to a thread

template <class T>
void check(std::span<Slopes<T> const> components, std::span<double const> weights,
           StepClockView clock) {
  auto const refuse = [](char const* why) {
    throw std::invalid_argument(std::string("system slopes: ") + why);
  };
  if (std::ssize(components) > equations::max_components) refuse("too many components");
  if (std::ssize(weights) > most_slopes) refuse("too many slopes");
  if (clock == nullptr) refuse("there is no clock");
  for (Slopes<T> const& one : components) {
    if (one.state == nullptr || one.value == nullptr) refuse("an array is missing");
    for (std::size_t s = 0; s < weights.size(); ++s)
      if (one.slopes[s] == nullptr) refuse("a slope is missing");
  }
}

/// dt·Σ weight·slope at a point.
template <class T>
T change_at(Slopes<T> const& one, std::span<T const> weights, T step, std::int64_t i) {
  T sum = 0;
  for (std::size_t s = 0; s < weights.size(); ++s) sum = sum + weights[s] * one.slopes[s][i];
  return step * sum;
}

template <class T>
std::vector<T> rounded(std::span<double const> weights) {
  std::vector<T> result;
  for (double const weight : weights) result.push_back(static_cast<T>(weight));
  return result;
}

/// What a side gives at a point of the grid, if one does.
template <class T>
Held held_at(Slopes<T> const& one, GridPoints const& grid, long long i, long long (&at)[3]) {
  at[0] = i % grid.points[0];
  at[1] = i / grid.points[0] % grid.points[1];
  at[2] = i / (grid.points[0] * grid.points[1]);
  return held_by<T>(one.sides, grid.dims, grid.points, at[0], at[1], at[2]);
}

/// Calls `body(first, last)` for pieces of `size` points.
template <class Body>
void for_pieces(std::int64_t size, std::int64_t work, Body const& body) {
  parallel_for((size + piece - 1) / piece, work * piece,
               [&](std::int64_t p) { body(p * piece, std::min(size, (p + 1) * piece)); });
}

}  // namespace

std::int64_t error_parts(Grid const& grid, std::size_t components) {
  return std::min<std::int64_t>((grid.size() + piece - 1) / piece, most_error_parts) *
         static_cast<std::int64_t>(components);
}

template <class T>
void combine([[maybe_unused]] Stream& stream, Grid const& grid,
             std::span<Slopes<T> const> components, std::span<double const> weights,
             StepClockView clock) {
  check(components, weights, clock);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_combine<T>(stream, grid, components, weights, clock);
#endif
  if (clock->step_size == 0) return;
  auto const step = static_cast<T>(clock->step_size);
  auto const factors = rounded<T>(weights);
  GridPoints const points(grid);
  for (Slopes<T> const& one : components) {
    bool const given = is_given(one.sides, grid.dims);
    for_pieces(grid.size(), 2 * std::ssize(weights), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        one.value[i] = one.state[i] + change_at<T>(one, factors, step, i);
      for (std::int64_t i = first; given && i < last; ++i) {
        long long at[3];
        Held const held = held_at(one, points, i, at);
        if (held.axis < 3)
          one.value[i] = held_value<T>(one.sides, points.points, held, at[0], at[1], at[2]);
      }
    });
  }
}

template <class T>
void worst_error([[maybe_unused]] Stream& stream, Grid const& grid,
                 std::span<Slopes<T> const> components, std::span<double const> weights,
                 ErrorScale scale, StepClockView clock, std::span<WorstError> parts,
                 ErrorStrips const& strips) {
  check(components, weights, clock);
  for (std::size_t which = 0; which < strips.size(); ++which)
    if (strips[which].points > 0 && grid.dims < 2 + static_cast<int>(which))
      throw std::invalid_argument("system slopes: a strip of an axis that is not there");
  ErrorPlaces const places(grid, strips);
  if (std::ssize(parts) != error_parts(grid, components.size()))
    throw std::invalid_argument("system slopes: another number of parts");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_worst_error<T>(stream, grid, components, weights, scale, clock, parts, places);
#endif
  if (clock->step_size == 0) return;
  auto const step = static_cast<T>(clock->step_size);
  auto const factors = rounded<T>(weights);
  GridPoints const points(grid);
  auto const of_component = std::ssize(parts) / std::ssize(components);
  std::int64_t const length = (grid.size() + of_component - 1) / of_component;
  parallel_for(std::ssize(parts), length * (4 + 2 * std::ssize(weights)), [&](std::int64_t part) {
    auto const c = part / of_component;
    Slopes<T> const& one = components[static_cast<std::size_t>(c)];
    bool const given = is_given(one.sides, grid.dims);
    WorstError worst;
    std::int64_t const first = part % of_component * length;
    for (std::int64_t i = first; i < std::min(grid.size(), first + length); ++i) {
      long long const place = places.of(i);
      if (place < 0) continue;
      long long at[3];
      bool const held = given && held_at(one, points, i, at).axis < 3;
      T const error = held ? T(0) : change_at<T>(one, factors, step, i);
      double const scaled =
          scaled_error(static_cast<double>(error), static_cast<double>(one.state[i]),
                       static_cast<double>(one.value[i]), scale.relative, scale.absolute);
      WorstError const here = {scaled, place, static_cast<int>(c)};
      if (worst < here) worst = here;
    }
    parts[static_cast<std::size_t>(part)] = worst;
  });
}

void find_worst([[maybe_unused]] Stream& stream, std::span<WorstError const> parts,
                std::int64_t first, WorstError* worst) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_find_worst(stream, parts, first, worst);
#endif
  *worst = *std::max_element(parts.begin(), parts.end());
  worst->point += first;
}

void set_control([[maybe_unused]] Stream& stream, StepControl* control, StepControl const& value) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_set_control(stream, control, value);
#endif
  *control = value;
}

void begin_attempt([[maybe_unused]] Stream& stream, StepControl* control,
                   evaluate::DeviceClock* clock) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_begin_attempt(stream, control, clock);
#endif
  begin_attempt(*control, *clock);
}

void end_attempt([[maybe_unused]] Stream& stream, StepControl* control,
                 evaluate::DeviceClock const* clock, std::span<WorstError const> parts) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_end_attempt(stream, control, clock, parts);
#endif
  end_attempt(*control, *clock, *std::max_element(parts.begin(), parts.end()));
}

template <class T>
void commit([[maybe_unused]] Stream& stream, std::span<Taken<T> const> arrays, std::int64_t size,
            StepControl const* control) {
  if (std::ssize(arrays) > most_taken)
    throw std::invalid_argument("system slopes: too many arrays are taken");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_commit<T>(stream, arrays, size, control);
#endif
  if (control != nullptr && !control->commits) return;
  for (Taken<T> const& one : arrays)
    for_pieces(size, 1, [&](std::int64_t first, std::int64_t last) {
      std::copy(one.from + first, one.from + last, one.to + first);
    });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                  \
  template void combine(Stream&, Grid const&, std::span<Slopes<T> const>, std::span<double const>, \
                        StepClockView);                                                            \
  template void worst_error(Stream&, Grid const&, std::span<Slopes<T> const>,                      \
                            std::span<double const>, ErrorScale, StepClockView,                    \
                            std::span<WorstError>, ErrorStrips const&);                            \
  template void commit(Stream&, std::span<Taken<T> const>, std::int64_t, StepControl const*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::system
