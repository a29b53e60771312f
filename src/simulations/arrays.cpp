#include "simulations/arrays.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kernels/reduce/reduce.hpp"

namespace gridstride {

template <class T>
FormulaArray<T>::FormulaArray(Stream& stream, expression::Expression const& formula,
                              Grid const& grid, evaluate::DeviceClock const* clock,
                              std::string_view variant)
    : program_(std::in_place, stream, formula, variant),
      grid_(grid),
      values_(stream, MemorySpace::device, static_cast<std::size_t>(grid.size())) {
  refresh(stream, clock, 0);
}

template <class T>
void FormulaArray<T>::evaluate(Stream& stream, evaluate::DeviceClock const* clock, double fraction,
                               std::span<T> target) const {
  evaluate::evaluate(stream, *program_, grid_, clock, fraction, target);
}

std::string format_place(Grid const& grid, std::int64_t offset) {
  auto const at = grid.indices(offset);
  std::string place;
  for (int axis = 0; axis < grid.dims; ++axis)
    place += fmt::format("{}{} = {}", axis == 0 ? "" : ", ", axis_names[axis],
                         grid.coordinate(axis, at[axis]));
  return place;
}

Grid face_of(Grid const& grid, int axis, int side) {
  Grid face = grid;
  face.origin[axis] = grid.coordinate(axis, side == 0 ? 0 : grid.points[axis] - 1);
  face.points[axis] = 1;
  return face;
}

template <class T>
void fill(Stream& stream, config::FieldSource const& source, Grid const& grid, Inputs const& inputs,
          std::span<T> target, PhaseTimes* times, std::string_view variant) {
  auto const during = [times](std::string_view phase, auto const& work) {
    if (times != nullptr)
      times->measure(phase, work);
    else
      work();
  };
  if (source.file.empty())
    return during("read", [&] {
      evaluate::Program const program(stream, source.formula.expression, variant);
      evaluate::evaluate(stream, program, grid, nullptr, 0, target);
    });
  Buffer<double> values(stream, MemorySpace::host, target.size());
  during("read", [&] { inputs.read(source, values.span()); });
  during("transfer", [&] {
    std::vector<T> rounded;
    std::span<T const> host;
    if constexpr (std::is_same_v<T, double>)
      host = values.span();
    else
      host = rounded = {values.span().begin(), values.span().end()};
    copy_async(target, host, stream);
    stream.synchronize();
  });
}

std::size_t reading_bytes(config::FieldSource const& source, std::size_t values,
                          Precision precision) {
  if (source.file.empty()) return 0;
  std::size_t const rounded = precision == Precision::float32 ? sizeof(float) : 0;
  return values * (sizeof(double) + rounded);
}

template <class T>
std::int64_t first_non_finite(Stream& stream, std::span<T const> values, std::string_view variant) {
  std::array<reduce::Moments<T>, 1> found;
  Buffer<reduce::Moments<T>> moments(stream, MemorySpace::device, 1);
  reduce::moments<T>(stream, values, moments.span(), variant);
  copy_async(std::span<reduce::Moments<T>>(found), moments.span(), stream);
  stream.synchronize();
  return found[0].first_non_finite;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                     \
  template class FormulaArray<T>;                                                     \
  template void fill(Stream&, config::FieldSource const&, Grid const&, Inputs const&, \
                     std::span<T>, PhaseTimes*, std::string_view);                    \
  template std::int64_t first_non_finite(Stream&, std::span<T const>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

std::vector<Problem> refused_variant(config::RunConfig const& run, std::string_view family,
                                     std::function<void()> const& choose) {
  try {
    choose();
  } catch (std::invalid_argument const& refusal) {
    std::string_view reason = refusal.what();
    if (reason.starts_with(family)) reason.remove_prefix(family.size() + 2);  // "family: "
    return {run.problem(run.location(fmt::format("kernels.{}", family)), std::string(reason))};
  }
  return {};
}

}  // namespace gridstride
