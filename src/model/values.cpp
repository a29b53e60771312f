#include "model/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/support/parallel_for.hpp"
#include "model/reading.hpp"

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
  if (!source.file.empty()) return read_numbers(stream, source, inputs, target, times);
  auto const work = [&] {
    evaluate::Program const program(stream, source.formula.expression, variant);
    evaluate::evaluate(stream, program, grid, nullptr, 0, target);
  };
  if (times != nullptr)
    times->measure("read", work);
  else
    work();
}

template <class T>
reduce::Moments<T> moments_of(Stream& stream, std::span<T const> values, std::string_view variant) {
  std::array<reduce::Moments<T>, 1> found;
  Buffer<reduce::Moments<T>> moments(stream, MemorySpace::device, 1);
  reduce::moments<T>(stream, values, moments.span(), variant);
  copy_async(std::span<reduce::Moments<T>>(found), moments.span(), stream);
  stream.synchronize();
  return found[0];
}

template <class T>
std::int64_t first_non_finite(Stream& stream, std::span<T const> values, std::string_view variant) {
  return moments_of(stream, values, variant).first_non_finite;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template void fill(Stream&, config::FieldSource const&, Grid const&, Inputs const&,    \
                     std::span<T>, PhaseTimes*, std::string_view);                       \
  template reduce::Moments<T> moments_of(Stream&, std::span<T const>, std::string_view); \
  template std::int64_t first_non_finite(Stream&, std::span<T const>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

namespace {

/// What values were found to be.
struct Looked {
  double largest = 0;
  std::size_t refused = 0;  ///< the place of the first, or beyond all
};

Looked look_at(std::span<double const> values, Demand const& demand) {
  constexpr std::size_t most = 16 * 1024;
  std::vector<Looked> pieces((values.size() + most - 1) / most);
  parallel_for(std::ssize(pieces), [&](std::int64_t p) {
    auto& piece = pieces[static_cast<std::size_t>(p)];
    auto const first = static_cast<std::size_t>(p) * most;
    auto const last = std::min(values.size(), first + most);
    piece.refused = values.size();
    for (std::size_t i = first; i < last && piece.refused == values.size(); ++i) {
      piece.largest = std::max(piece.largest, std::abs(values[i]));
      if (!demand(values[i]).empty()) piece.refused = i;
    }
  });
  Looked all{.refused = values.size()};
  for (Looked const& piece : pieces) {
    all.largest = std::max(all.largest, piece.largest);
    all.refused = std::min(all.refused, piece.refused);
  }
  return all;
}

}  // namespace

double largest_magnitude(config::RunConfig const& run, config::FieldSource const& source,
                         Inputs const& inputs, Grid const& grid, double time, Demand const& demand,
                         std::uint64_t* checksum) {
  double largest = 0;
  auto const refuse = [&](double value, Grid const& part, std::int64_t place) {
    throw ConfigError(
        {run.problem(source.location, fmt::format("is {} at {}{} ({})", value,
                                                  time > 0 ? fmt::format("t = {}, ", time) : "",
                                                  format_place(part, place), demand(value)))});
  };
  auto const look = [&](Grid const& part, std::span<double const> values) {
    auto const found = look_at(values, demand);
    largest = std::max(largest, found.largest);
    if (found.refused < values.size())
      refuse(values[found.refused], part, static_cast<std::int64_t>(found.refused));
  };
  if (!source.file.empty()) {
    auto const found =
        find_largest(source, inputs, [&](double value) { return demand(value).empty(); });
    if (found.refused >= 0) refuse(found.value, grid, found.refused);
    largest = found.magnitude;
    if (checksum != nullptr) *checksum = found.checksum;
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
