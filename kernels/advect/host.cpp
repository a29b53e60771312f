// Advection on the host.
//
// `reference` is the formula of advect_point.cuh at every point in turn: the oracle.
// `threads` shares rows (lines along x) among the threads, in pieces: values or fluxes at the faces of
// a piece, in loops that the compiler vectorises, and what they change. The faces along x are
// computed once, those along y and z for either side; rows beyond a side are found beforehand.
// Lax-Wendroff goes through the axes within a piece: each sweep asks the one before for the rows that
// it needs, in the caches. There points near the ends of their lines go through the reference's
// formula.
//
// Around edges weno5 lets u die away by powers: `threads` takes what is subnormal for zero.

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/advect/rows.hpp"
#include "kernels/support/flush_subnormals.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::advect {

namespace {

/// Calls `body` for every point of the grid in turn.
template <class T, class Body>
void for_each_point(AdvectionArguments<T> const& a, Body const& body) {
  for (long long k = 0; k < a.points[2]; ++k)
    for (long long j = 0; j < a.points[1]; ++j)
      for (long long i = 0; i < a.points[0]; ++i) body(Point{{i, j, k}});
}

}  // namespace

template <class T>
void host_reference(Stream&, int dims, Scheme scheme, AdvectionArguments<T> const& arguments) {
  with_scheme(dims, scheme, arguments, [&](auto rank, auto variable, auto which) {
    for_each_point(arguments, [&](Point const& point) {
      if (is_left<rank(), which()>(arguments, point)) return;
      arguments.out[point.offset(arguments)] =
          update_point<rank(), which(), variable()>(arguments, point);
    });
  });
}

namespace {

constexpr int piece = 256;  // points of a row that are computed at a time

/// Rows of values around a piece along an axis, from `reach` points below on; Courant numbers are
/// scale·c.
template <int reach, class T>
struct Around {
  T const *u[2 * reach + 1], *c[2 * reach + 1];
  T scale[2 * reach + 1];
};

/// The faces between rows `shift` + reach − 1 and the next ones: the value of u there, or the flux
/// where the velocity is a field.
template <Scheme scheme, bool variable, class T>
[[gnu::flatten]] GRIDSTRIDE_VECTOR_WIDTHS void faces_between(
    Around<reach_of<scheme>, T> const& around, int shift, T weight, T spread, long long count,
    T* faces) {
  T const* const* const u = around.u + shift;
  T const* const* const velocity = around.c + shift;
  T const* const scale = around.scale + shift;
  [[maybe_unused]] auto const c = [=](int m, long long i) { return scale[m] * velocity[m][i]; };
  if constexpr (scheme == Scheme::upwind && variable) {
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      faces[i] = upwind_flux(c(0, i), u[0][i], c(1, i), u[1][i]);
  } else if constexpr (variable) {
#pragma omp simd
    for (long long i = 0; i < count; ++i) {
      T up[6], down[6];
#pragma GCC unroll 6
      for (int m = 0; m < 6; ++m) {
        up[m] = part_up(c(m, i), spread, u[m][i]);
        down[m] = part_down(c(m, i), spread, u[m][i]);
      }
      faces[i] = weno_face(up[0], up[1], up[2], up[3], up[4]) +
                 weno_face(down[5], down[4], down[3], down[2], down[1]);
    }
  } else if constexpr (scheme == Scheme::upwind) {
    std::copy_n(weight > 0 ? u[0] : u[1], count, faces);
  } else {
    // The flow's way is from the first of the five values to the last.
    int const from = weight > 0 ? 0 : 5, way = weight > 0 ? 1 : -1;
    T const *const first = u[from], *const second = u[from + way], *const third = u[from + 2 * way];
    T const *const fourth = u[from + 3 * way], *const fifth = u[from + 4 * way];
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      faces[i] = weno_face(first[i], second[i], third[i], fourth[i], fifth[i]);
  }
}

/// Adds what passes through the faces along an axis to the changes of the `count` points between.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void add_difference(T weight, T const* lower, T const* upper,
                                             long long count, T* change) {
#pragma omp simd
  for (long long i = 0; i < count; ++i) change[i] += weight * (lower[i] - upper[i]);
}

/// `finish_point` for the points of a piece.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void finish_piece(AdvectionArguments<T> const& a, long long first,
                                           long long count, T* change) {
  T const* const in = a.in + first;
  T const* const base = a.base ? a.base + first : in;
  T* const out = a.out + first;
  if (a.base)
#pragma omp simd
    for (long long i = 0; i < count; ++i) change[i] += a.in_weight * (in[i] - base[i]);
#pragma omp simd
  for (long long i = 0; i < count; ++i) out[i] = base[i] + change[i];
}

/// A step of a piece of a row by `upwind` and `weno5`. What lies beyond a side is found beforehand.
template <int dims, Scheme scheme, bool variable, class T>
class PieceSteps {
 public:
  PieceSteps(AdvectionArguments<T> const& a, Point const& first, long long count)
      : a_(a), first_(first), offset_(first.offset(a)), count_(count) {}

  void make() {
    T lower[piece + 1], upper[piece], change[piece] = {};
    for (int axis = 0; axis < dims; ++axis) {
      T const weight = variable ? T(1) : a_.weight[axis];
      auto const around = axis == 0 ? along_row() : across_rows(axis);
      auto const find = [&](int shift, long long count, T* faces) {
        faces_between<scheme, variable>(around, shift, a_.weight[axis], a_.spread[axis], count,
                                        faces);
      };
      find(0, axis == 0 ? count_ + 1 : count_, lower);
      if (axis > 0) find(1, count_, upper);
      add_difference(weight, lower, axis == 0 ? lower + 1 : upper, count_, change);
    }
    finish_piece(a_, offset_, count_, change);
  }

 private:
  static constexpr int reach = reach_of<scheme>;
  static constexpr long long room = piece + 2 * reach;

  /// Where the Courant numbers of an array's place lie, and what they are multiplied by.
  T const* speeds(int axis, long long offset, T& scale) const {
    scale = a_.weight[axis];
    return a_.velocity[axis] != nullptr ? a_.velocity[axis] + offset : ones();
  }
  static T const* ones() {
    static std::array<T, room> const values = [] {
      std::array<T, room> all;
      all.fill(1);
      return all;
    }();
    return values.data();
  }
  /// u, and the Courant number, at place n of the line along an axis through a point.
  T value(int axis, Point const& point, long long n) const {
    auto const u = [&](long long m) { return a_.in[point.on_line(axis, m).offset(a_)]; };
    if constexpr (!variable) return line_value<ghost_degree_of<scheme>>(a_, axis, n, u);
    return value_beside<scheme>(a_, axis, n, u,
                                [&](long long m) { return courant_at(axis, point, m); });
  }
  T speed(int axis, Point const& point, long long n) const {
    return courant_beside<scheme>(a_, axis, n,
                                  [&](long long m) { return courant_at(axis, point, m); });
  }
  T courant_at(int axis, Point const& point, long long n) const {
    return courant<variable>(a_, axis, point.on_line(axis, n).offset(a_));
  }

  Around<reach, T> along_row() {
    Around<reach, T> around{};
    long long const begin = first_.at[0] - reach, end = first_.at[0] + count_ + reach;
    bool const inside = begin >= 0 && end <= a_.points[0];
    T const* u = a_.in + offset_ - reach;
    T scale = 1;
    T const* c = variable && inside ? speeds(0, offset_ - reach, scale) : own_.c[0];
    if (!inside) {
      copy_row(begin, end);
      u = own_.u[0];
    }
    for (int m = 0; m <= 2 * reach; ++m) {
      around.u[m] = u + m;
      around.c[m] = c == ones() ? c : c + m;
      around.scale[m] = scale;
    }
    return around;
  }

  /// Points `begin` to `end` of the row, some of which lie beyond its ends.
  void copy_row(long long begin, long long end) {
    long long const first = std::max(begin, 0LL), last = std::min(end, a_.points[0]);
    long long const row = first_.on_line(0, 0).offset(a_);
    std::copy(a_.in + row + first, a_.in + row + last, own_.u[0] + (first - begin));
    for (long long n = first; variable && n < last; ++n)
      own_.c[0][n - begin] = courant<variable>(a_, 0, row + n);
    auto const find = [&](long long n) {
      own_.u[0][n - begin] = value(0, first_, n);
      if constexpr (variable) own_.c[0][n - begin] = speed(0, first_, n);
    };
    for (long long n = begin; n < first; ++n) find(n);
    for (long long n = last; n < end; ++n) find(n);
  }

  Around<reach, T> across_rows(int axis) {
    Around<reach, T> around{};
    long long const n = a_.points[axis],
                    stride = axis == 1 ? a_.points[0] : a_.points[0] * a_.points[1];
    for (int m = 0; m <= 2 * reach; ++m) {
      long long const at = first_.at[axis] + m - reach;
      long long const place = a_.periodic[axis] ? (at % n + n) % n : at;
      if (place >= 0 && place < n) {
        long long const offset = offset_ + (place - first_.at[axis]) * stride;
        around.u[m] = a_.in + offset;
        if constexpr (variable) around.c[m] = speeds(axis, offset, around.scale[m]);
        continue;
      }
      T *const u = own_.u[m], *const c = own_.c[m];
      Point point = first_;
      for (long long i = 0; i < count_; ++i, ++point.at[0]) {
        u[i] = value(axis, point, at);
        if constexpr (variable) c[i] = speed(axis, point, at);
      }
      around.u[m] = u;
      around.c[m] = c;
      around.scale[m] = 1;
    }
    return around;
  }

  AdvectionArguments<T> const& a_;
  Point first_;
  long long offset_, count_;
  struct {
    T u[2 * reach + 1][room], c[2 * reach + 1][room];
  } own_;  // rows of the axis at hand
};

/// One sweep of Lax-Wendroff over a piece, from the values below, at and above its points along the
/// axis.
template <bool variable, bool along, class T>
[[gnu::flatten]] GRIDSTRIDE_VECTOR_WIDTHS void sweep(AdvectionArguments<T> const& a, int axis,
                                                     long long first, long long count,
                                                     T const* below, T const* here, T const* above,
                                                     T* result) {
  long long const s = whole_lines(a).stride[axis];
  T const* const velocity = along ? a.velocity[axis] + first : nullptr;
  T const weight = a.weight[axis];
  // Beside a field, a constant velocity goes by fluxes too, as it does near the ends of lines.
  auto const c = [=](long long i) { return along ? weight * velocity[i] : weight; };
  if constexpr (variable) {
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      result[i] = here[i] + (lax_wendroff_flux(c(i - s), below[i], c(i), here[i]) -
                             lax_wendroff_flux(c(i), here[i], c(i + s), above[i]));
  } else {
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      result[i] = here[i] + lax_wendroff_change(weight, below[i], here[i], above[i]);
  }
}

/// Lax-Wendroff's values at `count` points from `first` on after the first `sweeps` axes.
template <int dims, bool variable, int sweeps, class T>
void swept_piece(AdvectionArguments<T> const& a, long long first, long long count, T* result) {
  int const axis = a.reversed ? dims - sweeps : sweeps - 1;
  T rows[3][piece + 2 * dims];
  T const* source[3];
  long long const s = whole_lines(a).stride[axis];
  for (int row = 0; row < 3; ++row) {
    // Along x the three rows are one, shifted.
    if (axis == 0 && row > 0) {
      source[row] = source[0] + row;
    } else if constexpr (sweeps == 1) {
      source[row] = a.in + first + (row - 1) * s;
    } else {
      swept_piece<dims, variable, sweeps - 1>(a, first + (row - 1) * s,
                                              axis == 0 ? count + 2 : count, rows[row]);
      source[row] = rows[row];
    }
  }
  if (variable && a.velocity[axis] != nullptr)
    sweep<variable, true>(a, axis, first, count, source[0], source[1], source[2], result);
  else
    sweep<variable, false>(a, axis, first, count, source[0], source[1], source[2], result);
}

/// A row by Lax-Wendroff, whose points, but for those at its ends, lie inside.
template <int dims, bool variable, class T>
void sweep_row(AdvectionArguments<T> const& a, Point point) {
  constexpr Scheme scheme = Scheme::lax_wendroff;
  constexpr int reach = reach_of<scheme>;
  auto const update = [&](long long first, long long last) {
    for (point.at[0] = first; point.at[0] < last; ++point.at[0])
      if (!is_left<dims, scheme>(a, point))
        a.out[point.offset(a)] = update_point<dims, scheme, variable>(a, point);
  };
  if (!is_inside<dims, scheme>(a, point.on_line(0, reach))) return update(0, a.points[0]);
  update(0, reach);
  long long const end = a.points[0] - reach;
  for (long long i = reach; i < end; i += piece) {
    long long const first = point.on_line(0, i).offset(a);
    swept_piece<dims, variable, dims>(a, first, std::min<long long>(piece, end - i), a.out + first);
  }
  update(end, a.points[0]);
}

/// A row by `upwind` and `weno5`, but for points that are left as they are.
template <int dims, Scheme scheme, bool variable, class T>
void step_row(AdvectionArguments<T> const& a, Point const& row) {
  constexpr int reach = reach_of<scheme>;
  long long const first = a.cut[0][0] ? reach : 0;
  long long const last = a.points[0] - (a.cut[0][1] ? reach : 0);
  if (first >= last || is_left<dims, scheme>(a, row.on_line(0, first))) return;
  for (long long i = first; i < last; i += piece)
    PieceSteps<dims, scheme, variable, T>(a, row.on_line(0, i),
                                          std::min<long long>(piece, last - i))
        .make();
  bool on_side = false;
  for (int axis = 1; axis < dims; ++axis)
    on_side = on_side || row.at[axis] == 0 || row.at[axis] == a.points[axis] - 1;
  long long const step = on_side || last - first < 2 ? 1 : last - first - 1;
  for (long long i = first; i < last; i += step)
    if (T value; flows_in<dims, variable>(a, row.on_line(0, i), value))
      a.out[row.on_line(0, i).offset(a)] = value;
}

}  // namespace

namespace {

template <class T>
void step_rows(int dims, Scheme scheme, AdvectionArguments<T> const& arguments, bool flushes) {
  with_scheme(dims, scheme, arguments, [&](auto rank, auto variable, auto which) {
    auto const& a = arguments;
    parallel_for(a.points[1] * a.points[2], 16 * a.points[0], [&](std::int64_t line) {
      std::optional<FlushSubnormals> flush;  // in the thread that has the line
      if (flushes) flush.emplace();
      Point const row{{0, line % a.points[1], line / a.points[1]}};
      if constexpr (which() == Scheme::lax_wendroff)
        sweep_row<rank(), variable()>(a, row);
      else
        step_row<rank(), which(), variable()>(a, row);
    });
  });
}

}  // namespace

template <class T>
void host_threads(Stream&, int dims, Scheme scheme, AdvectionArguments<T> const& arguments) {
  step_rows(dims, scheme, arguments, true);
}

template <class T>
void host_threads_subnormal(Stream&, int dims, Scheme scheme,
                            AdvectionArguments<T> const& arguments) {
  step_rows(dims, scheme, arguments, false);
}

template <class T>
void host_impose(Stream&, int dims, AdvectionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    for_each_point(arguments, [&](Point const& point) {
      T value;
      if (flows_in<rank(), variable()>(arguments, point, value))
        arguments.out[point.offset(arguments)] = value;
    });
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                           \
  template void host_reference(Stream&, int, Scheme, AdvectionArguments<T> const&);         \
  template void host_threads(Stream&, int, Scheme, AdvectionArguments<T> const&);           \
  template void host_threads_subnormal(Stream&, int, Scheme, AdvectionArguments<T> const&); \
  template void host_impose(Stream&, int, AdvectionArguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::advect
