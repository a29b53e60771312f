#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/poisson/conjugate.hpp"
#include "kernels/poisson/poisson.hpp"
#include "model/simulation.hpp"

/// What a config says of Poisson's equation, for the simulation's own files.
namespace gridstride::poisson {

class Parameters final : public config::ParameterSet {
 public:
  config::FieldSource diffusivity = number("1");
  config::FieldSource reaction = number("0");
  config::FieldSource source;
  std::optional<double> mean;  ///< empty: 0 where the equation leaves it open
  double imbalance = 1e-3;
  std::string method = "auto";
  std::optional<double> tolerance;  ///< empty: 1e-10
  /// empty: 100 cycles, 10000 of cg, 100000 relaxations, or 50 of Newton's
  std::optional<double> iterations;
  std::string inner = "auto";  ///< of cg
  std::string cycle = "full";
  std::optional<double> relaxation;  ///< empty: what `cycles_of` finds
  config::FieldSource start;         ///< of Newton's method; empty: what the sides make alone

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;

 private:
  static config::FieldSource number(std::string_view text);
  void check_method(config::Visitor& visitor, config::RunOptions const& run);
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// Whether a coefficient or the source depends on u.
bool is_nonlinear(Parameters const& parameters);

/// The method that `auto` stands for.
std::string method_of(config::RunConfig const& run);

/// Whether that takes iterations, whether these are cycles of multigrid, and whether they are conjugate
/// gradients on the grid itself.
bool is_iterative(config::RunConfig const& run);
bool has_cycles(config::RunConfig const& run);
bool has_conjugates(config::RunConfig const& run);

/// How the textbook's methods relax; `none` of others.
multigrid::Relaxation relaxation_of(config::RunConfig const& run);

/// What cycles of multigrid, or relaxations, are asked for.
multigrid::Options cycles_of(config::RunConfig const& run);

/// What conjugate gradients are asked for.
ConjugateOptions conjugates_of(config::RunConfig const& run);

/// Whether a or κ is a field, and not the same everywhere.
bool has_fields(config::RunConfig const& run);

/// The axis along which coefficients vary, of several; nothing where they are the same everywhere.
std::optional<int> layers_of(config::RunConfig const& run);

/// The axis along which `fft` eliminates: that one, or else one along which that is faster.
std::optional<int> eliminated_axis(config::RunConfig const& run);

/// The kinds of the sides.
Sides sides_of(config::RunConfig const& run);

/// Whether u is given on some side.
bool has_given_side(config::RunConfig const& run);

/// What the numbers show of the coefficients.
struct Coefficients {
  double reaction = 0;    ///< the largest |κ|
  bool negative = false;  ///< whether κ is negative somewhere
  /// Whether constants solve the equation without a source.
  bool singular = false;
};
/// Throws `ConfigError` for a diffusivity that is not positive everywhere, and for coefficients that
/// the run's precision cannot hold.
Coefficients coefficients_of(config::RunConfig const& run, Inputs const& inputs);

/// Files of other shapes than the grid, a method that the coefficients do not fit, a relaxation that
/// is not known, and a mean where the solution has one by itself.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::poisson
