#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/buffer.hpp"
#include "core/precision.hpp"
#include "core/stream.hpp"
#include "kernels/poisson/line_spectrum.hpp"
#include "kernels/poisson/poisson.hpp"
#include "kernels/tridiagonal/tridiagonal.hpp"

namespace gridstride::poisson {

/// The equations of a line, solved by elimination in float64 and corrected by what is left of the
/// right-hand side, in twice the digits, until corrections are roundings: elimination alone would
/// lose as many digits as the condition has, which grows with the square of the points. T is the
/// type of the arrays, float or double.
template <class T>
class LineSolver {
 public:
  /// Where constants solve the equation without a source, it is `singular`: u is 0 at the first
  /// point, whose equation follows from the others. Without `dominance` rows are exchanged.
  LineSolver(Stream& stream, Equation<T> const& equation, bool singular, bool dominance);
  /// What it takes of device memory, in arrays of float64 of the grid.
  static constexpr int arrays = 6;

  /// The row of `tridiagonal` that works.
  std::string_view variant() const { return variant_; }
  /// How often it was solved for a solution or a correction.
  int solves() const { return solves_; }

  /// ‖A‖∞ and the eigenvalue of A nearest to 0 of those at most so many times ‖A‖∞ from it.
  struct Nearest {
    double norm = 0;
    std::optional<double> eigenvalue;
  };
  Nearest nearest_eigenvalue(Stream& stream, double share) const;
  /// Waits for the stream. Throws `NumericalError` for a zero pivot, for rows that the solution does
  /// not solve, and where corrections do not come to an end.
  void solve(Stream& stream, std::span<T const> right, std::span<T> u);

 private:
  /// Those of the unknowns that are left.
  template <class U>
  std::span<U> inner(std::span<U> values) const {
    return values.subspan(static_cast<std::size_t>(first_), static_cast<std::size_t>(shape_.size));
  }
  void eliminate(Stream& stream);
  double largest(Stream& stream, Buffer<double> const& values) const;

  Equation<T> equation_;
  std::string_view variant_;
  std::int64_t first_;
  tridiagonal::Shape shape_;
  Buffer<double> lower_, diagonal_, upper_, u_, residual_, correction_;
  int solves_ = 0;
};

}  // namespace gridstride::poisson
