#pragma once

#include <cstdint>
#include <limits>

#include "kernels/multigrid/outer.hpp"

/// Conjugate gradients whose directions are cycles, at a point each. For the family's own files only.
namespace gridstride::multigrid {

/// What points have in a sum.
struct Summed {
  double first = 0, second = 0;
};
GRIDSTRIDE_HOST_DEVICE inline Summed operator+(Summed const& a, Summed const& b) {
  return {a.first + b.first, a.second + b.second};
}

/// What conjugate directions have come to, in device memory, where steps find it without the host: Σ V·p·q of the
/// last one, and how far it goes.
struct Along {
  double beta, alpha, curvature;
};
/// What a sum is for: how much of the direction before is in the next one, or how far that goes.
enum class Finds { beta, alpha };
GRIDSTRIDE_HOST_DEVICE inline void take_sum(Along& along, Finds what, Summed const& sum) {
  if (what == Finds::beta) {
    along.beta = along.curvature > 0 ? -sum.first / along.curvature : 0;
    return;
  }
  along.curvature = sum.first;
  along.alpha = sum.first > 0 ? sum.second / sum.first : 0;
}

/// Those of the whole grid along the slowest axis.
struct Planes {
  int axis, count;
};

/// Conjugate gradients in the inner product by the volumes of cells, with a cycle for each residual.
/// Directions are in the units of levels, near 1, so that their products are in range whatever the
/// units of the equation are; `scale` is that of the levels' equations.
///
/// Σ V·z·q, of what the finest level has found, z, and q = scale·A·p, of the direction before.
template <class T, class S>
struct SumAlongBefore {
  poisson::Operator<T> a;
  Level<S> level;
  S const* q;
  struct Loaded {
    S z, q;
  };
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Spot spot(int i, int j, int k) const { return spot_of(a, level, i, j, k); }
  GRIDSTRIDE_HOST_DEVICE Loaded load(Spot const& at) const {
    return {level.u[at.level], q[at.level]};
  }
  GRIDSTRIDE_HOST_DEVICE Summed finish(Spot const& at, Loaded const& has) const {
    return {at.share * double{has.z} * double{has.q}, 0};
  }
  GRIDSTRIDE_HOST_DEVICE Summed operator()(int i, int j, int k) const {
    Spot const at = spot(i, j, k);
    return finish(at, load(at));
  }
};

/// p = z + β·before, of the direction before, where β is 0 z: over that one in the order of the grid, or where the
/// cycle has found z, beside one that stays where it is.
template <class T, class S>
struct TakeDirection {
  poisson::Operator<T> a;
  Level<S> level;
  S* p;
  S const* before;
  bool stays;          ///< both lie as the level's values do
  Along const* along;  ///< null: of the first direction, and nothing lies in `before`
  struct Loaded {
    S z, p;
    double beta;
  };
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Spot spot(int i, int j, int k) const {
    return spot_of(a, level, i, j, k, false);
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t place(Spot const& at) const {
    return stays ? at.level : at.grid;
  }
  GRIDSTRIDE_HOST_DEVICE Loaded load(Spot const& at) const {
    if (along == nullptr) return {level.u[at.level], S{0}, 0};
    return {level.u[at.level], before[place(at)], along->beta};
  }
  GRIDSTRIDE_HOST_DEVICE void finish(Spot const& at, Loaded const& has) const {
    p[place(at)] = static_cast<S>(has.beta == 0 ? double{has.z} : has.z + has.beta * has.p);
  }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    Spot const at = spot(i, j, k);
    finish(at, load(at));
  }
};

/// Of a volume with a field a: products go by strips of rows, on GPUs.
template <class T>
bool goes_by_strips(poisson::Operator<T> const& a) {
  return a.dims == 3 && a.diffusivities != nullptr;
}
/// And residuals by tiles, where places in a plane are int.
template <class T>
bool goes_by_tiles(poisson::Operator<T> const& a) {
  return goes_by_strips(a) && a.stride[2] <= std::numeric_limits<int>::max();
}
/// Whether all that lies beside unknowns is one, or given.
template <class T>
bool is_given_all_around(poisson::Operator<T> const& a) {
  for (int axis = 0; axis < a.dims; ++axis)
    for (int side = 0; side < 2; ++side)
      if (a.side[axis][side] != poisson::Rule::dirichlet) return false;
  return true;
}

/// q = scale·A·p, which lies as the level's values do; Σ V·p·q and Σ V·p·r, of the residual r that the finest level has as its f.
template <class T, class S>
struct ApplyToDirection {
  poisson::Operator<T> a;
  Level<S> level;
  S *p, *q;
  double scale;
  bool stays;      ///< where that goes by strips: p lies as the level's values do
  S const* field;  ///< there, a·weight[0]·scale, in the order of a level's field
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Summed operator()(int i, int j, int k) const {
    std::int64_t const at[3] = {a.first[0] + i, a.first[1] + j, a.first[2] + k};
    std::int64_t const place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
    double const product = scale * poisson::product_of(a, p, at).product;
    std::int64_t const of_level = level.place(i, j, k);
    double const share = poisson::share_of(a, at), r = level.f[of_level];
    q[of_level] = static_cast<S>(product);
    return {share * p[place] * product, (level.is_stored() ? 1 : share) * p[place] * r};
  }
};

/// u += unit·α·p, or from 0 u = that; finds the largest change, and the largest |u|.
template <class T, class S>
struct Advance {
  poisson::Operator<T> a;
  Level<S> level;
  S const* p;
  bool stays;  ///< p lies as the level's values do
  double* u;
  double unit;
  Along const* along;
  bool from_zero;
  struct Loaded {
    S p;
    double u, alpha;
  };
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Spot spot(int i, int j, int k) const {
    return spot_of(a, level, i, j, k, false);
  }
  GRIDSTRIDE_HOST_DEVICE Loaded load(Spot const& at) const {
    return {p[stays ? at.level : at.grid], from_zero ? 0.0 : u[at.grid], along->alpha};
  }
  GRIDSTRIDE_HOST_DEVICE Found finish(Spot const& at, Loaded const& has) const {
    double const change = poisson::rounded_product(has.alpha * unit, has.p), sum = has.u + change;
    u[at.grid] = sum;
    return {poisson::bits_of_magnitude(change), poisson::bits_of_magnitude(sum)};
  }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    Spot const at = spot(i, j, k);
    return finish(at, load(at));
  }
};

/// The residual that the finest level has as its f, `unit` times as large, goes along by α·q; finds the
/// largest of it.
template <class T, class S>
struct AdvanceResidual {
  poisson::Operator<T> a;
  Level<S> level;
  S const* q;
  double reciprocal_unit;
  Along const* along;
  struct Loaded {
    S q, f;
    double alpha;
  };
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Spot spot(int i, int j, int k) const {
    return spot_of(a, level, i, j, k, level.is_stored());
  }
  GRIDSTRIDE_HOST_DEVICE Loaded load(Spot const& at) const {
    return {q[at.level], level.f[at.level], along->alpha};
  }
  GRIDSTRIDE_HOST_DEVICE Found finish(Spot const& at, Loaded const& has) const {
    double const residual = (at.share == 1 ? double{has.f} : has.f / at.share) - has.alpha * has.q;
    level.f[at.level] = static_cast<S>(residual * at.share);
    return {poisson::bits_of_magnitude(residual * reciprocal_unit), 0};
  }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    Spot const at = spot(i, j, k);
    return finish(at, load(at));
  }
};

}  // namespace gridstride::multigrid
