#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "kernels/convolve/convolve.hpp"
#include "kernels/convolve/taps.hpp"
#include "model/simulation.hpp"

/// What a config says of filters, for the simulation's own files.
namespace gridstride::convolution {

/// One entry of `filters`; which members count depends on the kind.
struct FilterOptions {
  enum Kind { none = -1, taps, taps_from, gaussian, box, derivative, savitzky_golay };
  int kind = none;
  std::vector<std::string> axes = {};
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

class Parameters final : public config::ParameterSet {
 public:
  config::FieldSource signal;
  std::array<convolve::Boundary, 3> modes = {};
  double value = 0;
  std::vector<FilterOptions> filters;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;

 private:
  void declare_signal(config::Visitor& visitor, config::RunOptions const& run);
  void declare_modes(config::Visitor& visitor, config::RunOptions const& run);
  void declare_filters(config::Visitor& visitor, config::RunOptions const& run);
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// One filter along one axis.
struct Pass {
  FilterOptions const* options;
  int axis;
  std::int64_t taps;  ///< how many
};

/// What a run does, in its order, if its files have no `problems`.
std::vector<Pass> passes_of(config::RunConfig const& run, Inputs const& inputs);

/// The taps of a pass; a derivative is one by the coordinate. Throws `ConfigError` where a value in
/// a file is not finite in the run's precision.
convolve::Taps taps_of(config::RunConfig const& run, Inputs const& inputs, Pass const& pass);

/// Files of other shapes than the grid and the filters need.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::convolution
