#include "kernels/system/slopes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "equations/terms.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"
#include "kernels/system/rows.hpp"
#include "kernels/system/slope_rows.hpp"

namespace gridstride::system {

static_assert(most_taken == 2 * equations::max_components);

namespace {

constexpr std::int64_t piece = 4096;    // points that are worth handing to a thread
constexpr std::int64_t in_cache = 512;  // points whose changes are found at a time

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

/// dt·Σ weight·slope at `count` points from `first` on.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void find_changes(Slopes<T> const& one, std::span<T const> weights, T step,
                                           std::int64_t first, std::int64_t count, T* changes) {
  std::fill_n(changes, count, T{0});
  for (std::size_t s = 0; s < weights.size(); ++s) {
    T const weight = weights[s];
    T const* const slope = one.slopes[s] + first;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) changes[i] = changes[i] + weight * slope[i];
  }
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) changes[i] = step * changes[i];
}

/// value = state + changes
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void add_changes(Slopes<T> const& one, std::int64_t first,
                                          std::int64_t count, T const* changes) {
  T const* const state = one.state + first;
  T* const value = one.value + first;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) value[i] = state[i] + changes[i];
}

template <class T>
std::vector<T> rounded(std::span<double const> weights) {
  std::vector<T> result;
  for (double const weight : weights) result.push_back(static_cast<T>(weight));
  return result;
}

/// Whether a side gives a value at a point of the grid.
template <class T>
bool is_held(Slopes<T> const& one, GridPoints const& grid, std::int64_t i) {
  long long const line = i / grid.points[0];
  return held_by<T>(one.sides, grid.dims, grid.points, i % grid.points[0], line % grid.points[1],
                    line / grid.points[1])
             .axis < 3;
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
  for (Slopes<T> const& one : components) {
    for_pieces(grid.size(), 2 * std::ssize(weights), [&](std::int64_t first, std::int64_t last) {
      T changes[in_cache];
      for (; first < last; first += in_cache) {
        std::int64_t const count = std::min(in_cache, last - first);
        find_changes<T>(one, factors, step, first, count, changes);
        add_changes(one, first, count, changes);
      }
    });
    if (is_given(one.sides, grid.dims)) host_impose_sides(grid, one.sides, one.value);
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
    T changes[in_cache];
    for (std::int64_t i = first; i < std::min(grid.size(), first + length); ++i) {
      std::int64_t const nth = (i - first) % in_cache;
      if (nth == 0)
        find_changes<T>(one, factors, step, i, std::min(in_cache, grid.size() - i), changes);
      long long const place = places.of(i);
      if (place < 0) continue;
      T const error = given && is_held(one, points, i) ? T(0) : changes[nth];
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
