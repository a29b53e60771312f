// Filters of a signal on a grid:
//
//   u(…, i, …) = Σ_k taps_k · in(…, i + center − k, …)      along one axis after the other,
//
// with taps that are given or those of well-known filters: Gaussians, means, central differences,
// fitted polynomials. The signal is a formula or a dataset; axes that no filter goes along make it
// a batch of signals. Beyond its ends a signal goes on as `mode` says.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/convolve/convolve.hpp"
#include "kernels/families.hpp"
#include "kernels/reduce/reduce.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"
#include "simulations/convolution_parameters.hpp"

namespace gridstride {

namespace {

using convolution::parameters_of;
using convolution::Pass;

convolve::Shape shape_of(config::RunConfig const& run, Pass const& pass) {
  return {run.grid.points, pass.axis};
}

/// The signal and u; between two passes one array more.
MemoryForecast convolution_memory(config::RunConfig const& run, Inputs const& inputs,
                                  Backend backend) {
  auto const passes = convolution::passes_of(parameters_of(run).filters, inputs);
  std::size_t const bytes = static_cast<std::size_t>(run.grid.size()) * size_of(run.precision);
  MemoryForecast forecast{bytes, passes.size() > 1 ? 3 : 2, "u", "grid.points", bytes};
  note_reading(forecast, parameters_of(run).signal, static_cast<std::size_t>(run.grid.size()));
  for (auto const& pass : passes) {
    constexpr std::size_t for_blocks = std::size_t{96} << 20;
    std::string_view const asked = run.kernels.at("convolve");
    auto const variant = asked == "auto" ? convolve::choose(backend, pass.taps, shape_of(run, pass),
                                                            size_of(run.precision))
                                         : asked;
    bool const whole = variant == "cufft";  // the signal and its transform's work memory
    std::size_t const extra = whole ? 4 * bytes : backend == Backend::cuda ? for_blocks : 0;
    forecast.other_bytes = std::max(forecast.other_bytes, extra);
  }
  return forecast;
}

template <class T>
double sum_of_magnitudes(std::span<T const> taps) {
  double sum = 0;
  for (T const tap : taps) sum += std::abs(double{tap});
  return sum;
}

template <class T>
class Convolution final : public OneShot {
 public:
  Convolution(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override {
    return {{"u", "1", grid_, precision_of<T>(), u_.data()},
            {"signal", "1", grid_, precision_of<T>(), signal_.data()}};
  }
  std::vector<NamedText> chosen() const override {
    std::vector<std::string_view> names;
    for (auto const& work : work_) names.push_back(work.row->name);
    return {{"convolve", fmt::format("{}", fmt::join(names, ", "))}};
  }

 private:
  struct Work {
    convolve::Filter<T> filter;
    convolve::Shape shape;
    convolve::Boundary boundary;
    Variant<convolve::Function<T>> const* row;
  };

  void compute() override;
  Buffer<T> array() const { return {stream_, MemorySpace::device, size_}; }
  void require_finite(config::RunConfig const& run);
  void require_place(config::RunConfig const& run);
  double largest_magnitude();

  Grid grid_;
  std::size_t size_;
  double value_;
  std::vector<Work> work_;
  Buffer<T> signal_, u_;
};

template <class T>
Convolution<T>::Convolution(config::RunConfig const& run, Stream const& stream,
                            Inputs const& inputs)
    : OneShot(stream, {"read", "transfer", "filter"}),
      grid_(run.grid),
      size_(static_cast<std::size_t>(run.grid.size())),
      value_(parameters_of(run).value),
      signal_(array()),
      u_(array()) {
  auto const& parameters = parameters_of(run);
  for (auto const& pass : convolution::passes_of(parameters_of(run).filters, inputs)) {
    auto const taps = convolution::taps_of(run, inputs, pass, grid_.spacing[pass.axis],
                                           run.location("parameters.filters"));
    auto const shape = shape_of(run, pass);
    work_.push_back(
        {convolve::Filter<T>(stream_, taps.values, taps.center), shape,
         parameters.modes[static_cast<std::size_t>(pass.axis)],
         &convolve::row_for<T>(stream_.device(), pass.taps, shape, run.kernels.at("convolve"))});
  }
  fill(stream_, parameters.signal, grid_, inputs, signal_.span(), &times_);
  times_.measure("read", [&] {
    require_finite(run);
    require_place(run);
  });
  zero_async(u_.span(), stream_);
}

template <class T>
void Convolution<T>::require_finite(config::RunConfig const& run) {
  std::int64_t const index =
      first_non_finite(stream_, std::as_const(signal_).span(), run.kernels.at("reduce"));
  if (index < 0) return;
  throw ConfigError({run.problem(
      parameters_of(run).signal.location,
      fmt::format("is not finite in {} at cell ({}) (all values have to "
                  "be finite)",
                  name_of(precision_of<T>()), fmt::join(grid_.indices(index), ", ")))});
}

template <class T>
double Convolution<T>::largest_magnitude() {
  Buffer<T> ends(stream_, MemorySpace::device, 2);
  reduce::minimum<T>(stream_, std::as_const(signal_).span(), ends.span().first(1));
  reduce::maximum<T>(stream_, std::as_const(signal_).span(), ends.span().last(1));
  T found[2];
  copy_async(std::span<T>(found), std::as_const(ends).span(), stream_);
  stream_.synchronize();
  return std::max(std::abs(double{found[0]}), std::abs(double{found[1]}));
}

/// Refuses a signal of which a filter can make nothing that has all digits.
template <class T>
void Convolution<T>::require_place(config::RunConfig const& run) {
  double left = 1, least_left = 1;
  for (auto const& work : work_) {
    left *= sum_of_magnitudes<T>(work.filter.taps());
    least_left = std::min(least_left, left);
  }
  if (least_left >= 0.5) return;  // of the usual filters: what is in the signal has its digits
  double const signal = largest_magnitude();
  double largest = signal;
  for (auto const& work : work_) {
    if (work.boundary == convolve::Boundary::constant)
      largest = std::max(largest, std::abs(value_));
    double const taps = sum_of_magnitudes<T>(work.filter.taps());
    double const least = std::numeric_limits<T>::min();
    if (largest > 0 && taps > 0 && largest < least / taps)
      throw ConfigError({run.problem(
          parameters_of(run).signal.location,
          fmt::format("is no larger than {:g}, and what the filter along {} makes of it than {:g} "
                      "times {:g} ({} has all digits from {:.2g} on; {}another unit helps)",
                      signal, axis_names[static_cast<std::size_t>(work.shape.axis)], taps, largest,
                      name_of(precision_of<T>()), least,
                      precision_of<T>() == Precision::float32 ? "float64 or " : ""))});
    largest *= taps;
  }
}

/// The passes go to and fro between two arrays; the signal itself stays.
template <class T>
void Convolution<T>::compute() {
  Buffer<T> other;
  if (work_.size() > 1) other = array();
  times_.measure("filter", [&] {
    for (std::size_t i = 0; i < work_.size(); ++i) {
      auto const& [filter, shape, boundary, row] = work_[i];
      if (i > 0) u_.swap(other);
      auto const& in = i == 0 ? signal_ : other;
      convolve::convolve<T>(stream_, filter, shape, boundary, in.span(), u_.span(), value_, *row);
    }
  });
}

void choose_convolution_kernels(config::RunConfig const& run, Inputs const& inputs,
                                Device const& device) {
  with_zero_of(run.precision, [&](auto zero) {
    for (auto const& pass : convolution::passes_of(parameters_of(run).filters, inputs))
      convolve::row_for<decltype(zero)>(device, pass.taps, shape_of(run, pass),
                                        run.kernels.at("convolve"));
  });
}

/// Each name once: host and GPU both have a row `fft`.
std::vector<std::string_view> names_of_variants() {
  std::vector<std::string_view> names;
  for (auto const name : variant_names("convolve"))
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

}  // namespace

SimulationEntry convolution_entry() {
  config::SimulationInfo info;
  info.name = "convolution";
  info.summary = "filters along the axes of a grid: taps, Gaussians, derivatives, fits";
  info.fields = {{"u", "1", "what the filters make of the signal"},
                 {"signal", "1", "the signal as it is given"}};
  info.kernels = {{"convolve", names_of_variants()}};
  info.has_time = false;
  info.sides = {};
  info.variables = std::span(expression::space_and_time).first(3);
  return entry<Convolution, convolution::Parameters>(
      {.info = info,
       .memory = convolution_memory,
       .problems = convolution::problems,
       .choose_kernels = choose_convolution_kernels});
}

}  // namespace gridstride
