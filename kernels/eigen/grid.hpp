#pragma once

#include <memory>
#include <string_view>

#include "kernels/eigen/eigen.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/poisson/poisson.hpp"

/// −∇·(a∇u) + κu on a grid, as family `poisson` has it, as an operator of family `eigen`. T is the
/// type of fields a and κ, float or double; vectors are float64. It is symmetric where each point
/// counts as much as the share of its cell that is there: half at a Neumann side.
namespace gridstride::eigen {

template <class T>
class GridOperator {
 public:
  struct Extremes {
    double least_diffusivity, most_diffusivity, least_reaction, most_reaction;
  };
  /// With the extremes of a and κ at the points. With `cycle`, a row of `multigrid` or `auto`, there
  /// is a preconditioner, one cycle for −∇·(a∇u) + (κ − min κ)u. Fields of the equation are read
  /// while the operator is in use. Waits for the stream.
  GridOperator(Stream& stream, poisson::Equation<T> const& equation, Extremes const& extremes,
               std::string_view cycle = {});
  GridOperator(GridOperator const&) = delete;
  GridOperator& operator=(GridOperator const&) = delete;

  /// A, times 2^−exponent(); holds as long as this.
  Operator const& get() const { return operator_; }
  int exponent() const { return exponent_; }
  /// What Σ_p w_p·u_p has to be multiplied by to be an integral.
  double volume() const { return volume_; }

 private:
  void precondition_with(Stream& stream, poisson::Equation<T> equation, Extremes const& extremes,
                         std::string_view cycle);

  Buffer<double> weights_;
  Buffer<T> reactions_;  ///< of the preconditioner, where κ is a field
  std::unique_ptr<multigrid::Solver<T>> cycle_;
  Operator operator_;
  int exponent_ = 0;
  double volume_ = 1;
};

}  // namespace gridstride::eigen
