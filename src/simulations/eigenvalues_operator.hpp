#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/csr.hpp"
#include "kernels/eigen/grid.hpp"
#include "kernels/sparse/sparse.hpp"
#include "model/simulation.hpp"
#include "model/state.hpp"

/// The operator of which eigenvalues are asked for, for `eigenvalues` alone.
namespace gridstride::eigenvalues {

/// Of algebraic multigrid.
inline constexpr std::size_t cycles_at_once = 4;

/// Arrays of a and κ.
std::vector<Row> grid_rows(config::RunConfig const& run);

/// T is the type of fields a and κ.
template <class T>
class OperatorOf {
 public:
  /// Throws `ConfigError` for a matrix that is not symmetric, with the place.
  OperatorOf(config::RunConfig const& run, Stream& stream, Inputs const& inputs);

  /// (A − shift())·2^−exponent().
  eigen::Operator const& get() const { return grid_ ? grid_->get() : matrix_operator_; }
  int exponent() const { return grid_ ? grid_->exponent() : exponent_; }
  /// A reaction that is the same everywhere and moves eigenvalues further than they lie from each other:
  /// beside it they could not be told apart.
  double shift() const { return shift_; }
  /// What gives u with Σ w·u² = 1 the norm 1: of a grid by the integral of its square.
  double unit_of_modes() const { return unit_of_modes_; }
  std::string_view preconditioner() const { return preconditioner_; }
  std::string_view sparse_variant() const { return matrix_ ? matrix_->variant() : ""; }
  std::vector<std::string> fallbacks() const {
    return state_ ? state_->fallbacks() : std::vector<std::string>();
  }

  /// All of the operator, as a matrix of its unknowns that is symmetric in the plain product: row by
  /// row, on the host. Of vectors there, u_p = v_i/√w_p.
  std::vector<double> matrix(Stream& stream, std::vector<std::int64_t> const& places,
                             std::vector<double> const& roots) const;

 private:
  void take_grid(config::RunConfig const& run, Stream& stream, Inputs const& inputs);
  void take_matrix(config::RunConfig const& run, Stream& stream, Inputs const& inputs);
  void take_levels(Stream& stream, Csr<double> const& rows, double below);
  void take_diagonal(Stream& stream, Csr<double> const& rows, double below);

  std::optional<State<T>> state_;
  std::unique_ptr<eigen::GridOperator<T>> grid_;
  std::unique_ptr<sparse::Matrix<double>> matrix_;
  Buffer<double> inverse_diagonal_, cycled_;
  eigen::Operator matrix_operator_;
  int exponent_ = 0;
  double shift_ = 0, unit_of_modes_ = 1;
  std::string_view preconditioner_ = "none";
};

}  // namespace gridstride::eigenvalues
