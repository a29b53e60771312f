#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "kernels/multigrid/coarsening.hpp"
#include "kernels/multigrid/level.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/multigrid/steps.hpp"

/// Levels with the same coefficients everywhere, solved at once by the modes of their axes (Lynch,
/// Rice and Thomas, "Direct solution of partial difference equations by tensor product methods",
/// Numer. Math. 6 (1964)). For the family's own files only.
///
///   A = A_x⊗1⊗1 + 1⊗A_y⊗1 + 1⊗1⊗A_z + κ,   A_axis = W⁻¹·Q·Λ·Qᵀ·W,   W = √(widths of cells)
///   u = (B_x⊗B_y⊗B_z)·(Λ_x + Λ_y + Λ_z + κ)⁻¹·(F_x⊗F_y⊗F_z)·f,   F = Qᵀ·W,   B = W⁻¹·Q
namespace gridstride::multigrid {

/// Of an axis, by rows of `most_along` places: what is in row q and column i is F_iq, or B_iq. Columns
/// behind the last one hold 0.
struct AxisModes {
  static constexpr int most_along = most_direct;
  std::vector<double> forward, backward;
  std::vector<double> eigenvalues;  ///< ascending; that of constants, where they solve it, is 0
};
AxisModes modes_of(Axis const& axis, double diffusivity);

/// The first level with at most so many unknowns along each axis; behind the last one where there is
/// none.
int level_solved(Levels const& plan, int along);

/// Shared memory that a block on a GPU needs for corrections in S.
template <class S>
constexpr std::size_t modes_bytes = sizeof(S) * most_direct*(3 * most_direct +
                                                             2 * (16 / sizeof(S)));

/// How many unknowns along each axis a level may have to be solved by modes, where blocks have so
/// much shared memory.
template <class S>
int along_of(Backend backend, std::size_t shared_bytes, Options const& options) {
  if (options.relaxation != Relaxation::none) return 0;
  if (backend == Backend::cpu) return std::max(options.direct, 0);
  if (shared_bytes < modes_bytes<S>) return 0;
  return options.direct >= 0 ? options.direct : most_direct;
}

/// The same of all axes in device memory.
template <class S>
struct Separable {
  int level = -1;  ///< which one is solved so; -1: none
  S const *forward[3], *backward[3], *eigenvalues[3];
};

/// to = Σ matrix·from along an axis. Values lie row by row, or where they are the level's colour by
/// colour.
template <class S>
struct Transform {
  Level<S> level;
  int axis;
  S const* matrix;
  S const* from;
  S* to;
  bool from_colours, to_colours;

  GRIDSTRIDE_HOST_DEVICE std::int64_t place(bool colours, int const (&at)[3]) const {
    return colours ? level.place(at[0], at[1], at[2]) : level.point(at[0], at[1], at[2]);
  }
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    int const own[3] = {i, j, k};
    int at[3] = {i, j, k};
    S sum = 0;
    for (int q = 0; q < level.count[axis]; ++q) {
      at[axis] = q;
      sum += matrix[q * AxisModes::most_along + own[axis]] * from[place(from_colours, at)];
    }
    to[place(to_colours, own)] = sum;
  }
};

/// 1/(Λ_x + Λ_y + Λ_z + κ); of what the equation leaves open 0.
template <class S>
GRIDSTRIDE_HOST_DEVICE S reciprocal(S x, S y, S z, S reaction) {
  S const sum = (x + y) + (z + reaction);
  return sum == 0 ? S{0} : 1 / sum;
}

/// What its modes have of the right-hand side becomes what they have of the solution.
template <class S>
struct DivideModes {
  Level<S> level;
  Separable<S> modes;
  S* values;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    auto const& of = modes.eigenvalues;
    values[level.point(i, j, k)] *= reciprocal(of[0][i], of[1][j], of[2][k], level.reaction);
  }
};

/// u of the level from its f; what it has as r is lost.
template <class S>
struct SolveByModes {
  Level<S> level;
  Separable<S> modes;
};

/// Its steps, for anybody who can call one for all its points.
template <class S, class Run>
void solve_by_modes(SolveByModes<S> const& solve, Run const& run) {
  auto const& [level, modes] = solve;
  run(Transform<S>{level, 0, modes.forward[0], level.f, level.r, true, false});
  run(Transform<S>{level, 1, modes.forward[1], level.r, level.u, false, false});
  run(Transform<S>{level, 2, modes.forward[2], level.u, level.r, false, false});
  run(DivideModes<S>{level, modes, level.r});
  run(Transform<S>{level, 2, modes.backward[2], level.r, level.u, false, false});
  run(Transform<S>{level, 1, modes.backward[1], level.u, level.r, false, false});
  run(Transform<S>{level, 0, modes.backward[0], level.r, level.u, false, true});
}

}  // namespace gridstride::multigrid
