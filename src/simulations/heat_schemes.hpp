#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "kernels/stencil/implicit.hpp"
#include "model/entry.hpp"

/// The implicit schemes of heat, and what runs by them take.
namespace gridstride::heat {

/// A step: the trapezoidal rule to a part of it, of whose δ a multiple is added, and then a backward
/// stage. 0: without that.
struct ImplicitScheme {
  std::string_view name;
  double part = 0, multiple = 1;
  double backward = 0;
  /// Of the rates at the beginning, at that part and at the end, which make the second estimate.
  std::array<double, 3> rates = {};

  bool has_error() const { return rates[0] != 0; }
  static constexpr int error_order = 3;  ///< the error goes with dt^error_order
};

/// Of a run that goes by one.
ImplicitScheme const& implicit_scheme(config::RunConfig const& run);

/// Of steps that follow their error.
config::StepTolerance step_tolerance(config::RunConfig const& run);

/// Whether W has the largest α.
bool is_bounded(config::RunConfig const& run);
/// Whether each line has rows of its own.
bool has_rows(config::RunConfig const& run);

/// What a run takes beside u.
struct Work {
  explicit Work(config::RunConfig const& run);

  bool given;     ///< what several passes solve for
  bool base;      ///< what a trapezoidal stage began with, where that is not kept elsewhere
  bool adaptive;  ///< the state that is tried, and that of the part
  /// With what δ is found from.
  int arrays() const { return 1 + given + base + 2 * adaptive; }
};

/// The equation of a run whose α is a number and whose steps are, as far as it is known before there is
/// a device. For float and double.
template <class T>
stencil::Diffusion<T> constant_diffusion(config::RunConfig const& run);

/// Whether a step is two passes on this device, each of which does all along an axis at once: where
/// nothing changes in time, and diffusion is all there is.
bool alternates(config::RunConfig const& run, Device const& device);

/// All arrays.
std::vector<Row> implicit_rows(config::RunConfig const& run);

/// What is known of steps before any.
struct Steps {
  double longest;         ///< s
  double diffusivity;     ///< the largest (m²/s)
  double explicit_limit;  ///< of ftcs (s)
};

/// Throws `ConfigError` where the file gives no step, since nothing but the accuracy that is wanted
/// bounds it, and for one that is beyond the precision.
Steps choose_steps(config::RunConfig const& run, Inputs const& inputs);
/// What the first rank of a run finds, which has the files.
Steps shared_steps(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::heat
