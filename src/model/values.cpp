#include "model/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "kernels/reduce/reduce.hpp"

namespace gridstride {

config::FieldSource source_of(config::Formula const& formula) {
  config::FieldSource source;
  source.formula = formula;
  source.location = formula.location;
  return source;
}

std::string describe(config::FieldSource const& source) {
  if (source.dataset.empty()) return source.file.string();
  return fmt::format("{} '{}' of {}", source.moment ? "field" : "dataset", source.dataset,
                     source.file.string());
}

bool is_constant(config::FieldSource const& source) {
  return source.file.empty() && source.formula.expression.is_constant();
}

bool is_zero(config::FieldSource const& source) {
  return source.file.empty() && source.formula.expression == expression::Expression(0.0);
}

bool depends_on_time(config::FieldSource const& source) {
  return source.file.empty() && source.formula.expression.depends_on(expression::time_variable);
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
  template void fill(Stream&, config::FieldSource const&, Grid const&, Inputs const&, \
                     std::span<T>, PhaseTimes*, std::string_view);                    \
  template std::int64_t first_non_finite(Stream&, std::span<T const>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

double largest_magnitude(config::RunConfig const& run, config::FieldSource const& source,
                         Inputs const& inputs, Grid const& grid, double time,
                         Demand const& demand) {
  double largest = 0;
  auto const look = [&](Grid const& part, std::span<double const> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(values[i]));
      auto const wrong = demand(values[i]);
      if (wrong.empty()) continue;
      throw ConfigError({run.problem(
          source.location, fmt::format("is {} at {}{} ({})", values[i],
                                       time > 0 ? fmt::format("t = {}, ", time) : "",
                                       format_place(part, static_cast<std::int64_t>(i)), wrong))});
    }
  };
  if (!source.file.empty()) {
    std::vector<double> values(static_cast<std::size_t>(grid.size()));
    inputs.read(source, values);
    look(grid, values);
  } else if (is_constant(source)) {
    double const value = source.formula.expression.evaluate(0);
    look(grid, std::span(&value, 1));
  } else {
    evaluate::for_each_slab(source.formula.expression, grid, time,
                            [&](evaluate::Slab const& slab) { look(slab.grid, slab.values); });
  }
  return largest;
}

std::string shape_fault(config::RunConfig const& run, config::FieldSource const& source,
                        Inputs const& inputs) {
  if (source.file.empty()) return {};
  auto const points = std::span(run.grid.points).first(static_cast<std::size_t>(run.grid.dims));
  std::vector<std::int64_t> wanted(points.rbegin(), points.rend());
  if (source.numbers > 1) wanted.push_back(source.numbers);
  auto const shape = inputs.shape(source);
  if (shape == wanted) return {};
  return fmt::format("{} is {}, the grid needs {} (the slowest axis first{})", describe(source),
                     format_shape(shape), format_shape(wanted),
                     source.numbers > 1 ? ", the components last" : "");
}

}  // namespace gridstride
