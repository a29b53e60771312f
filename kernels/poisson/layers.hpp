#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/poisson/poisson.hpp"

namespace gridstride::poisson {

/// Equations of two or three axes whose coefficients vary along one of them alone, and whose
/// reaction is nowhere negative: transforms along the others, and for each of their modes, of the
/// eigenvalue λ, elimination along the axis, of
///
///   −∂(a·∂u/∂x)/∂x + (κ + a·λ)·u = f
///
/// in float64. T is the type of the arrays, float or double.
template <class T>
class LayerSolver {
 public:
  /// Where constants solve the equation without a source, it is `singular`: the part that is open is
  /// 0 at the first point. Waits for the stream. Throws `std::invalid_argument` for grids of one
  /// axis.
  LayerSolver(Stream& stream, Equation<T> const& equation, int axis, bool singular);
  /// What it takes of device memory, in arrays of float64 of the grid.
  static int arrays(Backend backend, Sides const& sides, int axis);

  /// Queues the solution by a row of family `fft`. u may be the very array `right`, and keeps what
  /// it has on Dirichlet sides.
  void solve(Stream& stream, std::span<T const> right, std::span<T> u,
             std::string_view variant = "auto");

 private:
  Equation<T> equation_;
  int axis_;
  bool singular_;
  fft::Shape shape_;
  std::int64_t first_;                         // place of the first unknown
  std::array<Buffer<double>, 2> eigenvalues_;  // of the other axes
  Buffer<double> work_;
};

}  // namespace gridstride::poisson
