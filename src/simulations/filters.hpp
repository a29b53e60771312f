#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "kernels/convolve/convolve.hpp"
#include "kernels/convolve/taps.hpp"
#include "model/simulation.hpp"

/// What configs say of filters, for the simulations that have some.
namespace gridstride::convolution {

/// One entry of `filters`; which members count depends on the kind.
struct FilterOptions {
  enum Kind { none = -1, taps, taps_from, gaussian, box, derivative, savitzky_golay };
  int kind = none;
  std::vector<std::string> axes = {};
  bool has_axes = false;            ///< whether the file gives them
  std::vector<double> values = {};  ///< taps
  config::FieldSource source = {};  ///< taps_from
  std::int64_t origin = 0;          ///< taps, taps_from, box
  bool has_origin = false;          ///< whether the file gives it
  double sigma = config::required_number;
  std::int64_t smoothed_order = 0;  ///< of the derivative of a Gaussian
  double truncate = 4;
  std::int64_t size = config::required_integer;
  std::int64_t order = 1;  ///< of a central difference
  std::int64_t accuracy = 2;
  std::int64_t window = config::required_integer;
  std::int64_t degree = config::required_integer;
  std::int64_t fitted_order = 0;  ///< of the derivative of a fitted polynomial
};

/// What filters are of, as far as it is known when they are read.
struct FilterSetting {
  std::span<std::int64_t const> points;  ///< along each axis; empty: not known
  Precision precision = Precision::float64;
  std::filesystem::path folder;  ///< of the config
};

/// Declares a list of filters, one at least, as `name` of the present section.
void declare_filters(config::Visitor& visitor, config::Spec const& spec,
                     FilterSetting const& setting, std::vector<FilterOptions>& filters);

/// Declares `mode`, how signals go on beyond their ends, along each axis, and `value`, what is there
/// under `constant`.
void declare_modes(config::Visitor& visitor, FilterSetting const& setting,
                   std::array<convolve::Boundary, 3>& modes, double& value);

/// One filter along one axis.
struct Pass {
  FilterOptions const* options;
  int axis;
  std::int64_t taps;  ///< how many
};

/// What filters do, in their order, if their files have no problems.
std::vector<Pass> passes_of(std::span<FilterOptions const> filters, Inputs const& inputs);

/// The taps of a pass for a spacing of the points; a derivative is one by the coordinate. Throws
/// `ConfigError` where a tap is not finite in the run's precision, or where they are too small to have
/// all digits in it: at its file, else at `place`.
convolve::Taps taps_of(config::RunConfig const& run, Inputs const& inputs, Pass const& pass,
                       double spacing, config::Location const& place);

/// What is wrong with a filter for arrays of so many points along each axis, or with its file; empty
/// if nothing. May throw `ConfigError`.
std::string fault_of(FilterOptions const& filter, std::span<std::int64_t const> points,
                     Inputs const& inputs);

}  // namespace gridstride::convolution
