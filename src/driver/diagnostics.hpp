#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "grid/grid.hpp"
#include "io/result_info.hpp"
#include "simulations/simulation.hpp"

namespace gridstride {

/// The names of what `diagnose` gives, in its order: `u.min`, `u(0.5, 0.5)`.
std::vector<std::string> diagnostic_names(config::DiagnosticsOptions const& options,
                                          std::span<Field const> fields);

/// What a run's options ask for, of fields in host memory: `norms` gives minimum, maximum, mean and
/// l2 = sqrt(mean of squares); a probe gives the multilinear interpolation at its point. Sums run
/// in a fixed order, so that the same field gives the same bits on any number of threads.
std::vector<io::NamedValue> diagnose(config::DiagnosticsOptions const& options,
                                     std::span<Field const> fields);

/// Throws `NumericalError` for the first value of a field in host memory that is not finite.
void require_finite(Field const& field, Clock const& clock);

/// How far a field in host memory is from a formula at time t.
struct ErrorNorms {
  double l2 = 0;       ///< root of the mean of the squared errors
  double maximum = 0;  ///< largest absolute error; NaN if any is
};
ErrorNorms error_norms(Field const& field, expression::Expression const& exact, double time);

}  // namespace gridstride
