#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/precision.hpp"
#include "kernels/krylov/krylov.hpp"
#include "model/simulation.hpp"
#include "simulations/linear_system_scaled.hpp"

/// What iterations for a system's right-hand sides have come to, for `linear_system` alone.
namespace gridstride::linear_system {

class Report {
 public:
  /// Of so many right-hand sides; `instead` is what else would do where a method does not converge.
  explicit Report(std::int64_t columns, std::string instead = {})
      : columns_(columns), instead_(std::move(instead)) {}

  /// Throws `NumericalError` where sums were not finite.
  void add(std::int64_t column, std::string_view method, krylov::Result const& result,
           Residual const& left);

  /// A right-hand side by its number, where there are several; else empty.
  std::string label(std::int64_t column) const;
  /// Of the first right-hand side for which a method did not converge, and which others there are.
  std::string shortfall() const;
  /// `history`, and a row for each of several right-hand sides in `right_hand_sides`.
  std::vector<Table> tables() const;
  /// The largest of any right-hand side.
  std::vector<NamedValue> values() const;

 private:
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::int64_t columns_;
  std::string instead_, shortfall_;
  std::vector<std::int64_t> others_;  // that did not converge either
  Table history_{"history",
                 {{"right_hand_side", "1", std::vector<std::int64_t>()},
                  {"iteration", "1", std::vector<std::int64_t>()},
                  {"relative_residual", "1", std::vector<double>()}}};
  Table sides_{"right_hand_sides",
               {{"right_hand_side", "1", std::vector<std::int64_t>()},
                {"converged", "1", std::vector<std::int64_t>()},
                {"iterations", "1", std::vector<std::int64_t>()},
                {"residual_norm", "1", std::vector<double>()},
                {"relative_residual", "1", std::vector<double>()},
                {"backward_error", "1", std::vector<double>()}}};
  double residual_norm_ = unknown, relative_residual_ = unknown, backward_error_ = unknown,
         condition_ = unknown, iterations_ = unknown;
};

/// Of an x that the precision does not hold: its element in a row would be about 10^magnitude.
NumericalError no_place(Precision precision, std::size_t row, double magnitude);
/// Of a b whose element in a row is too small for the precision beside others, where equations are in units
/// of their own.
NumericalError no_place_of_right(Precision precision, std::size_t row, double value);

}  // namespace gridstride::linear_system
