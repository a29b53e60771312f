#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "kernels/poisson/poisson.hpp"
#include "model/simulation.hpp"
#include "simulations/matrix_source.hpp"

/// What a config says of eigenvalues, for the simulation's own files.
namespace gridstride::eigenvalues {

class Parameters final : public config::ParameterSet, public MatrixSource {
 public:
  config::FieldSource diffusivity = number("1");  ///< of −∇·(a∇u) + κu on the grid
  config::FieldSource reaction = number("0");
  std::int64_t modes = config::required_integer;
  std::string which = "smallest";
  std::string method = "auto";
  double tolerance = 1e-8;
  std::int64_t iterations = 1000;
  std::string preconditioner = "auto";

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;
  std::vector<config::FieldInfo> fields_of(config::RunOptions const& run) const override;
  std::vector<config::FieldInfo> names_of(config::RunOptions const& run) const override;

  bool wants_largest() const { return which == "largest"; }

 private:
  static config::FieldSource number(std::string_view text);
  void declare_grid_operator(config::Visitor& visitor, config::RunOptions const& run);
  void declare_iterations(config::Visitor& visitor);
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// The field of a grid's mode, counted from 0.
std::string mode_name(std::int64_t mode);

/// How many unknowns there are; 0 where a file's shape is none of a matrix.
std::int64_t unknowns_of(config::RunConfig const& run, Inputs const& inputs);
/// The values of a vector: points of the grid, or rows.
std::int64_t size_of_vectors(config::RunConfig const& run, Inputs const& inputs);

/// `lobpcg`, `lanczos` or `dense`.
std::string method_of(config::RunConfig const& run, Inputs const& inputs);
/// After how much work of iterations that do not come to an end `auto` takes `dense`, where it may: twice
/// as much as that takes, in the units of `eigen::work_of_iteration`.
std::optional<double> work_before_dense(config::RunConfig const& run, Inputs const& inputs);
/// Whether that has a preconditioner.
bool has_preconditioner(config::RunConfig const& run, Inputs const& inputs);

/// The kinds of the sides of the grid.
poisson::Sides sides_of(config::RunConfig const& run);

/// Of a and κ at the points.
struct Extremes {
  double least, most;
};
/// Throws `ConfigError` for a diffusivity that is not positive everywhere, a reaction that is not
/// finite, and for either where float32 or the sums of rows cannot hold it.
Extremes diffusivities_of(config::RunConfig const& run, Inputs const& inputs);
Extremes reactions_of(config::RunConfig const& run, Inputs const& inputs);

/// Files of other shapes, values on sides other than 0, more modes than there are, and keys that are
/// of no use to the method.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::eigenvalues
