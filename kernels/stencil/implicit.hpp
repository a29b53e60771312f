#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/stencil/alternating.hpp"
#include "kernels/stencil/stencil.hpp"
#include "kernels/tridiagonal/tridiagonal.hpp"

/// Implicit steps of diffusion, one axis after the other (J. Douglas and J. E. Gunn, "A general
/// formulation of alternating direction methods", Numer. Math. 6, 1964). With L_a what diffusion
/// along axis a makes of u, and L the sum of these,
///
///   Π_a (1 − θ·dt·L_a) δ = r
///
/// are tridiagonal systems along the lines of each axis. Where u is given on a side of axis a, what
/// is left to solve there once the axes before it are done is Π_b (1 − θ·dt·L_b) δ over those
/// behind it, so that sides may change in time and cost no accuracy.
namespace gridstride::stencil {

/// The equation. Arrays as in `DiffusionStep`. A side's values are what u is on a Dirichlet side,
/// ∂u/∂n on a Neumann one, at whatever time the caller has put there.
template <class T>
struct Diffusion {
  Grid grid;
  double diffusivity = 0;
  T const* diffusivity_field = nullptr;
  T const* source = nullptr;
  std::array<std::array<typename DiffusionStep<T>::Side, 2>, 3> sides;
  double const* step = nullptr;  ///< dt (s), in the stream's device memory
  /// The same where the host knows it, else 0: some solutions want it there.
  double known_step = 0;
  /// Whether the grid goes on at the lower and upper end of its slowest axis: `in` and `start`, α and
  /// faces then have the plane that lies there, too, before or behind their first and last one. The
  /// sides there do not count.
  std::array<bool, 2> goes_on = {};
};

/// out = factor·dt·(L in + s + N) + Σ_j weight_j·term_j, N what Neumann sides let in; 0 on Dirichlet
/// sides.
template <class T>
struct Residual {
  T const* in = nullptr;  ///< null: 0
  T* out = nullptr;       ///< may be a term, but not `in`
  double factor = 0;
  bool forced = true;  ///< else without s and N
  std::array<typename DiffusionStep<T>::Term, max_terms> terms = {};
};

/// Queues it. Throws `std::invalid_argument` for a missing array and `out` equal to `in`.
template <class T>
void find_residual(Stream& stream, Diffusion<T> const& diffusion, Residual<T> const& residual);

/// Queues u = g on the Dirichlet sides, at the cost of their points alone.
template <class T>
void hold_sides(Stream& stream, Diffusion<T> const& diffusion, T* values);

/// Lines along an axis as `solve_lines` (alternating.hpp) takes them, without arrays, where α is a number
/// and the step is known.
template <class T>
LineSolve<T> line_solve(Diffusion<T> const& diffusion, double theta, int axis);

/// What solutions need beside their arrays: coefficients, and what is found out about them. For
/// float and double.
template <class T>
class AxisSystems {
 public:
  AxisSystems() = default;
  /// With room for a field of α or without.
  AxisSystems(Stream& stream, Grid const& grid, bool variable)
      : AxisSystems(stream, grid, variable, grid.size()) {}
  /// Of a part of that grid that has so many points at most.
  AxisSystems(Stream& stream, Grid const& grid, bool variable, std::int64_t points);
  /// What one takes of the device, in values of T on each point of the grid, and in bytes beside.
  static std::int64_t arrays(bool variable) { return variable ? 3 : 0; }
  static std::size_t bytes(Grid const& grid, bool variable);

  /// Queues the solution of Π_a (1 − theta·dt·L_a) x = right, where x is on Dirichlet sides what these
  /// say, less `start` where there is one. `x` may be `right`, which is changed there in any case.
  void solve(Stream& stream, Diffusion<T> const& diffusion, double theta, T const* start, T* right,
             T* x);
  /// The same for one axis, after those before it: queues what `right` is on its Dirichlet sides, and
  /// the solution along it. Both by themselves, so that lines may lie otherwise than sides do.
  void hold_axis(Stream& stream, Diffusion<T> const& diffusion, double theta, T const* start,
                 T* right, int axis);
  void solve_axis(Stream& stream, Diffusion<T> const& diffusion, double theta, T const* right, T* x,
                  int axis);
  /// Waits for the stream. What went wrong so far, in words; empty: nothing did.
  std::string fault(Stream& stream) const;
  /// What solves along an axis: a row of family `tridiagonal`, or `lines` (alternating.hpp) where
  /// all lines are alike and the step is known.
  static std::string_view variant(Device const& device, Diffusion<T> const& diffusion, double theta,
                                  int axis);

 private:
  Buffer<T> lower_, diagonal_, upper_;
  Buffer<tridiagonal::Findings> findings_;  // of each axis
  Grid grid_;
};

}  // namespace gridstride::stencil
