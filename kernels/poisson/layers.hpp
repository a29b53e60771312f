#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/poisson/poisson.hpp"

namespace gridstride::poisson {

template <class T>
class SharedTransforms;
struct SharedPart;
template <class T>
struct Layers;

/// The axis along which elimination is faster than transforms, where coefficients are the same
/// everywhere and the reaction is not negative: of three one that is not periodic, for its sines and
/// cosines take twice what waves do, where there are enough systems. Never x, whose neighbours are
/// not those of systems.
std::optional<int> faster_eliminated(Grid const& grid, Sides const& sides);

/// Equations of two or three axes whose coefficients vary along one of them at most, and whose
/// reaction is nowhere negative: transforms along the others, and for each of their modes, of the
/// eigenvalue λ, elimination along the axis, of
///
///   −∂(a·∂u/∂x)/∂x + (κ + a·λ)·u = f
///
/// in float64. T is the type of the arrays, float or double. Ranks that share the grid have the bits of
/// one process.
template <class T>
class LayerSolver {
 public:
  /// Where constants solve the equation without a source, it is `singular`: the part that is open is
  /// 0 at the first point. Waits for the stream, as all ranks do. Throws `std::invalid_argument` for
  /// grids of one axis, and for ranks of a grid with one unknown along x.
  LayerSolver(Stream& stream, Equation<T> const& equation, int axis, bool singular);
  /// What it takes of device memory at most, beside what transforms do (`transform_bytes`).
  static std::size_t bytes(Backend backend, Grid const& grid, Sides const& sides, int axis);
  /// The same of a rank that has so many planes, and so many columns of all planes, for `varying`
  /// coefficients; without what `SharedTransforms` takes.
  static std::size_t bytes_of_rank(Backend backend, Grid const& grid, Sides const& sides, int axis,
                                   std::int64_t planes, std::int64_t columns, int varying);

  /// Queues the solution by a row of family `fft`. u may be the very array `right`, and keeps what
  /// it has on Dirichlet sides.
  void solve(Stream& stream, std::span<T const> right, std::span<T> u,
             std::string_view variant = "auto");
  /// How the columns of several ranks go, in words.
  std::string_view transport() const;

 private:
  Layers<T> layers() const;
  Layers<T> layers_of(SharedPart const& part) const;
  void eliminate_columns(Stream& stream, SharedPart const& part);
  void eliminate_planes(Stream& stream);
  void solve_shared(Stream& stream, std::span<T const> right, std::span<T> u,
                    std::string_view variant);
  void bring_coefficients(Stream& stream);

  Equation<T> equation_;
  int axis_;
  bool singular_;
  fft::Shape shape_;
  std::int64_t first_;                         // place of the first unknown
  std::array<Buffer<double>, 2> eigenvalues_;  // of the other axes
  Buffer<double> kept_;
  std::shared_ptr<SharedTransforms<T>> shared_;  // of several ranks
  std::array<Buffer<T>, 2> columns_;             // of coefficients then, along the slowest axis
};

}  // namespace gridstride::poisson
