#pragma once

#include <cmath>

#include "kernels/poisson/columns.hpp"
#include "kernels/poisson/point.hpp"

/// What conjugate gradients do at a point of the grid, on the host and on the GPU: what comes of it
/// is summed. For the family's own files only.
namespace gridstride::poisson {

template <class T>
GRIDSTRIDE_HOST_DEVICE std::int64_t place_of(Operator<T> const& a, std::int64_t const (&at)[3]) {
  return at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
}

/// The same with sides on which u is known among the points that are gone through.
template <class T>
Operator<T> with_known(Operator<T> a) {
  for (int axis = 0; axis < 3; ++axis) {
    a.first[axis] = axis + 1 == a.dims ? a.planes[0] : 0;
    a.count[axis] = axis + 1 == a.dims ? a.planes[1] - a.planes[0] : a.points[axis];
  }
  return a;
}
/// The same at the planes on both sides of a rank's own, as planes 0 and 1.
template <class T>
Operator<T> beside(Operator<T> a) {
  a = with_known(a);
  a.first[a.dims - 1] = 0;
  a.count[a.dims - 1] = 2;
  return a;
}
template <class T>
GRIDSTRIDE_HOST_DEVICE bool is_known(Operator<T> const& a, std::int64_t const (&at)[3]) {
  for (int axis = 0; axis < a.dims; ++axis)
    for (int side = 0; side < 2; ++side)
      if (a.side[axis][side] == Rule::dirichlet && a.is_side(axis, side, at[axis])) return true;
  return false;
}

/// scale·V·A, or where there are roots R·(scale·V·A)·R.
template <class T, class S>
struct Symmetric {
  Operator<T> a;
  double scale;
  S const* roots;  ///< R, or null

  template <class Value>
  GRIDSTRIDE_HOST_DEVICE double product(Value const& value, std::int64_t const (&at)[3]) const {
    double const share = scale * share_of(a, at);
    if (roots == nullptr) return share * product_with(a, value, at).product;
    auto const scaled = [&](std::int64_t place) {
      return double{roots[place]} * static_cast<double>(value(place));
    };
    return double{roots[place_of(a, at)]} * share * product_with(a, scaled, at).product;
  }
};

/// R: 1/√ of the diagonal of scale·V·A, 0 where u is known.
template <class T, class S>
struct FindRoots {
  Operator<T> a;  ///< with what is known
  double scale;
  S* roots;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    std::int64_t const place = place_of(a, at);
    double diagonal = a.reaction_at(place);
    for (int axis = 0; axis < a.dims && !is_known(a, at); ++axis) {
      Faces const faces = faces_of(a, axis, at[axis], place);
      diagonal += faces.lower + faces.upper;
    }
    roots[place] =
        is_known(a, at) ? S{0} : static_cast<S>(1 / sqrt(scale * share_of(a, at) * diagonal));
  }
};

/// q ← r + β·p; q·A·q.
template <class T, class S>
struct Direct : Symmetric<T, S> {
  int const* stop;
  double const* factor;
  S const *r, *p;
  S* q;
  GRIDSTRIDE_HOST_DEVICE double operator()(S beta, std::int64_t const (&at)[3]) const {
    auto const value = [&](std::int64_t place) { return r[place] + beta * p[place]; };
    std::int64_t const place = place_of(this->a, at);
    S const direction = value(place);
    q[place] = direction;
    return direction * this->product(value, at);
  }
};

/// q ← r + β·p on the planes beside a rank's own, whose r and p have come from other ranks.
template <class T, class S>
struct Follow {
  Operator<T> a;  ///< of those planes
  int const* stop;
  double const* factor;
  S const *r, *p;
  S* q;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    if (*stop != 0) return;
    std::int64_t there[3] = {at[0], at[1], at[2]};
    int const slowest = a.dims - 1;
    there[slowest] = at[slowest] == 0 ? a.planes[0] - 1 : a.planes[1];
    std::int64_t const place = place_of(a, there);
    q[place] = r[place] + static_cast<S>(*factor) * p[place];
  }
};

/// x ← x + α·q, r ← r − α·A·q; r·r.
template <class T, class S>
struct Descend : Symmetric<T, S> {
  int const* stop;
  double const* factor;
  S const* q;
  S *x, *r;
  GRIDSTRIDE_HOST_DEVICE double operator()(S alpha, std::int64_t const (&at)[3]) const {
    auto const value = [&](std::int64_t place) { return q[place]; };
    std::int64_t const place = place_of(this->a, at);
    S const left = r[place] - alpha * static_cast<S>(this->product(value, at));
    x[place] += alpha * q[place];
    r[place] = left;
    return static_cast<double>(left) * static_cast<double>(left);
  }
};

/// y ← A·x, 0 where u is known; with what is known.
template <class T, class S>
struct Multiply : Symmetric<T, S> {
  S const* x;
  S* y;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    auto const value = [&](std::int64_t place) { return x[place]; };
    y[place_of(this->a, at)] =
        is_known(this->a, at) ? S{0} : static_cast<S>(this->product(value, at));
  }
};

/// b ← scale·V·(right − mean), times R where there is one, 0 where u is known.
template <class T>
struct TakeRight {
  Operator<T> a;  ///< with what is known
  double mean, scale;
  double const* roots;  ///< or null
  T const* right;
  double* b;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    std::int64_t const place = place_of(a, at);
    double const root = roots == nullptr ? 1.0 : roots[place];
    double const value = scale * (share_of(a, at) * (double{right[place]} - mean));
    b[place] = is_known(a, at) ? 0.0 : root * value;
  }
};

/// r ← b − A·x; the square of how much further that is from 0 than roundings of a row may have it, which
/// are so much of Σ_j |A_ij|.
template <class T>
struct Exceed : Symmetric<T, double> {
  int const* stop;
  double const* factor;
  double const *b, *q;  ///< q: x
  double* r;
  GRIDSTRIDE_HOST_DEVICE double operator()(double rounding, std::int64_t const (&at)[3]) const {
    auto const value = [&](std::int64_t place) { return q[place]; };
    std::int64_t const place = place_of(this->a, at);
    double const root = this->roots == nullptr ? 1.0 : this->roots[place];
    double const share = root * this->scale * share_of(this->a, at);
    double const left = b[place] - this->product(value, at);
    double const beyond = fabs(left) - rounding * share * product_with(this->a, value, at).row;
    r[place] = left;
    return beyond <= 0 ? 0.0 : beyond * beyond;
  }
};

/// u ← scale·x at the unknowns, times R where there is one.
template <class T>
struct GiveSolution {
  Operator<T> a;
  double scale;
  double const* roots;  ///< or null
  double const* x;
  T* u;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    std::int64_t const place = place_of(a, at);
    double const root = roots == nullptr ? 1.0 : roots[place];
    u[place] = static_cast<T>(scale * (root * x[place]));
  }
};

/// The largest |V·(right − mean)|, |right| and Σ_j |A_ij|, in this order.
template <class T>
struct Survey {
  Operator<T> a;
  double mean;
  T const* right;  ///< or null
  GRIDSTRIDE_HOST_DEVICE Largest operator()(std::int64_t const (&at)[3]) const {
    double const given = right != nullptr ? double{right[place_of(a, at)]} : 0;
    auto const none = [](std::int64_t) { return 0.0; };
    return {bits_of_magnitude(share_of(a, at) * (given - mean)), bits_of_magnitude(given),
            bits_of_magnitude(product_with(a, none, at).row)};
  }
};

/// Their sums come to their places among those of all parts (`Parts`).
template <class Step>
void host_step(Step const&, double* sums);
template <class Visit>
void host_visit(Visit const&);
template <class T>
Largest host_survey(Survey<T> const&);

template <class Step>
void cuda_step(Stream&, Step const&, double* sums);
template <class Visit>
void cuda_visit(Stream&, Visit const&);
template <class T>
Largest cuda_survey(Stream&, Survey<T> const&);

template <class Visit>
void visit(Stream& stream, Visit const& what) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_visit(stream, what);
#endif
  static_cast<void>(stream);
  host_visit(what);
}

/// Of a volume with the same coefficients everywhere.
template <class S>
std::int64_t column_sums(ColumnOperator<S> const&);
/// Planes that no rank cuts.
template <class S>
std::int64_t column_planes(ColumnOperator<S> const&);
/// How many sums the first planes leave.
template <class S>
std::int64_t direct_sums(ColumnOperator<S> const&, std::int64_t planes);
template <class S>
std::int64_t descend_sums(ColumnOperator<S> const&, std::int64_t planes);
template <class S>
void cuda_direct_columns(Stream&, ColumnOperator<S> const&, int const* stop, double const* beta,
                         S const* r, S const* p, S* q, double* sums);
template <class S>
void cuda_descend_columns(Stream&, ColumnOperator<S> const&, int const* stop, double const* alpha,
                          S const* q, S* x, S* r, double* sums);
template <class S>
void cuda_multiply_columns(Stream&, ColumnOperator<S> const&, S const* x, S* y);

/// What steps and visits there are, for those who instantiate them.
#define GRIDSTRIDE_CONJUGATE_STEPS(step, visit, survey, T)                                        \
  step(Direct<T, double>) step(Direct<T, float>) step(Descend<T, double>) step(Descend<T, float>) \
      step(Exceed<T>) visit(Follow<T, double>) visit(Follow<T, float>) visit(Multiply<T, double>) \
          visit(Multiply<T, float>) visit(FindRoots<T, double>) visit(FindRoots<T, float>)        \
              visit(TakeRight<T>) visit(GiveSolution<T>) survey(T)

}  // namespace gridstride::poisson
