#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/poisson/poisson.hpp"

namespace gridstride::poisson {

/// The unknowns as transforms take them: their kinds by the sides, where they lie from the first one
/// on, and the place of that.
struct TransformShape {
  fft::Shape shape;
  std::int64_t first = 0;
};
TransformShape transform_shape(Grid const& grid, Sides const& sides);

/// At most so many bytes of device memory are taken by transforms beside arrays and tables: by those
/// along lines that no block of a GPU need be able to hold, which go through memory of 2^24 numbers
/// at a time, or one line.
std::size_t transform_bytes(Backend backend, fft::Shape const& shape, std::size_t value_bytes);

/// The eigenvalues of −∂²/∂x² as differences have it, of an axis' modes in the order of
/// `fft::angles`: 4/h²·sin²(θ/2).
std::vector<double> eigenvalues(Grid const& grid, Sides const& sides, int axis);

/// The eigenvalue a·Σ λ + κ that is nearest to 0, λ one of each axis.
double nearest_eigenvalue(Grid const& grid, Sides const& sides, double diffusivity,
                          double reaction);

template <class T>
class SharedTransforms;

/// Equations with constant coefficients, solved by transforms. T is float or double. Ranks that share
/// the grid have the bits of one process.
template <class T>
class TransformSolver {
 public:
  /// Waits for the stream, as all ranks do. Throws `std::invalid_argument` for coefficients that are
  /// arrays, and for ranks of a grid with one unknown along x.
  TransformSolver(Stream& stream, Equation<T> const& equation);

  /// Queues the solution by a row of family `fft`; where an eigenvalue is 0, the part of it that is
  /// open becomes 0. u may be the very array `right`, and keeps what it has on Dirichlet sides.
  void solve(Stream& stream, std::span<T const> right, std::span<T> u,
             std::string_view variant = "auto") const;
  /// How the columns of several ranks go, in words.
  std::string_view transport() const;

 private:
  void solve_shared(Stream& stream, std::span<T const> right, std::span<T> u,
                    std::string_view variant) const;

  int dims_;
  TransformShape unknowns_;
  double reaction_;
  std::array<Buffer<T>, 3> eigenvalues_;
  std::shared_ptr<SharedTransforms<T>> shared_;  // of several ranks
};

}  // namespace gridstride::poisson
