#pragma once

#include <cstdint>

#include "kernels/multigrid/columns.cuh"

/// What is stored of equations, by columns of strips. For the family's own files only.
namespace gridstride::multigrid {

/// At the points of a strip, of both parities. As they lie in memory: those of one parity are all that a
/// colour takes of most strips.
template <class S>
struct Stored8 {
  static constexpr int size = 2 * vector_width<S>;
  std::uint32_t pairs[size / 2];

  __device__ static Stored8 load(Coefficient const* source) {
    Stored8 result;
    if constexpr (size == 8) {
      uint4 const v = __ldg(reinterpret_cast<uint4 const*>(source));
      result.pairs[0] = v.x, result.pairs[1] = v.y, result.pairs[2] = v.z, result.pairs[3] = v.w;
    } else {
      uint2 const v = __ldg(reinterpret_cast<uint2 const*>(source));
      result.pairs[0] = v.x, result.pairs[1] = v.y;
    }
    return result;
  }
  __device__ float at(int point) const {
    std::uint32_t const pair = pairs[point / 2];
    return __uint_as_float(point % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
  }
};

/// By a diagonal, which is far from the ends of the range.
__device__ inline float over_diagonal(float a, float diagonal) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(diagonal));
  return a * reciprocal;
}
__device__ inline double over_diagonal(double a, double diagonal) { return a / diagonal; }

/// What is on both sides of a point along the axes less what it has, or anything else.
template <class S>
struct Differences {
  S left, right, below, above, before, behind;
};

/// a·b + c·d with the same bits as c·d + a·b.
__device__ inline float sum_of(float a, float b, float c, float d) {
  return __fadd_rn(__fmul_rn(a, b), __fmul_rn(c, d));
}
__device__ inline double sum_of(double a, double b, double c, double d) {
  return __dadd_rn(__dmul_rn(a, b), __dmul_rn(c, d));
}

/// The faces around a point. `before` is the plane that a column has gone through, `behind` the next one, whichever
/// way it goes: that makes no difference.
template <class S>
struct FacesAround {
  S left, right, below, above, before, behind;

  __device__ bool is_left_nearer() const { return left >= right; }
  __device__ S diagonal() const { return (left + right) + (below + above) + (before + behind); }
  /// Σ faces·differences
  __device__ S drawn(Differences<S> const& d) const {
    return (left * d.left + right * d.right) + (below * d.below + above * d.above) +
           sum_of(before, d.before, behind, d.behind);
  }
};

/// The same in units of their axes.
template <class S>
struct FacesOfField {
  FacesAround<S> of;
  S of_across, of_along;

  __device__ bool is_left_nearer() const { return of.is_left_nearer(); }
  __device__ S diagonal() const {
    return (of.left + of.right) + of_across * (of.below + of.above) +
           of_along * (of.before + of.behind);
  }
  __device__ S drawn(Differences<S> const& d) const {
    return (of.left * d.left + of.right * d.right) +
           of_across * (of.below * d.below + of.above * d.above) +
           of_along * sum_of(of.before, d.before, of.behind, d.behind);
  }
};

/// Faces as they are stored. Along the column those behind a plane are those before the next one, where the
/// points of the other parity want them: a strip of them is loaded once, for both.
template <bool volume, class S>
class FaceStrips {
 public:
  static constexpr bool mirrors = false;
  static constexpr int width = vector_width<S>;
  /// Blocks that are to be at work together on a multiprocessor.
  static constexpr int blocks = volume && sizeof(S) == sizeof(float) ? 3 : 2;

  /// From the plane k on, or back.
  __device__ FaceStrips(Level<S> const& level, Axes axes, int first, int j, int k, int step) {
    auto const face_row = [&](int axis) {
      return level.face[axis] + level.face_place(axis, 2 * first, volume ? j : 0, 0);
    };
    std::int64_t const plane = level.face_stride(axes.along),
                       across_plane = std::int64_t{level.line} * (level.count[1] + 1);
    along_ = face_row(axes.along) + (step > 0 ? k : k + 1) * plane;
    row_ = face_row(0) + k * plane;
    to_row_ = level.line;
    if constexpr (volume) across_ = face_row(axes.across) + k * across_plane;
    plane_ = step * plane;
    across_plane_ = step * across_plane;
    before_ = Stored8<S>::load(along_);
  }
  /// What the next plane has, from where it is.
  __device__ void load() {
    along_ += plane_;
    behind_ = Stored8<S>::load(along_);
    in_row_ = Stored8<S>::load(row_);
    row_end_ = row_[2 * width];
    row_ += plane_;
    if constexpr (volume) {
      across_before_ = Stored8<S>::load(across_);
      across_behind_ = Stored8<S>::load(across_ + to_row_);
      across_ += across_plane_;
    }
  }
  /// Of a strip's point with the number v of a parity.
  template <int is_odd>
  __device__ FacesAround<S> around(int v) const {
    constexpr int last = 2 * width - 1;
    int const o = 2 * v + is_odd;
    return {S{in_row_.at(o)},        o < last ? S{in_row_.at((o + 1) % (last + 1))} : S{row_end_},
            S{across_before_.at(o)}, S{across_behind_.at(o)},
            S{before_.at(o)},        S{behind_.at(o)}};
  }
  __device__ void go_on() { before_ = behind_; }

 private:
  Coefficient const *along_, *row_, *across_ = nullptr;
  int to_row_;  // from a face across to the next one
  std::int64_t plane_, across_plane_;
  Stored8<S> before_, behind_, in_row_, across_before_{}, across_behind_{};
  float row_end_;
};

/// Of a level of a volume that has a in their place. Beyond a side without flux `mirrors` finds what is inside of it, and
/// equations of points on such a side as many times as large as cells are halved there.
template <bool mirrors_, class S>
class FieldStrips {
 public:
  static constexpr bool mirrors = mirrors_;
  static constexpr int width = vector_width<S>;
  static constexpr int blocks = sizeof(S) == sizeof(float) ? 3 : 2;

  __device__ FieldStrips(Level<S> const& level, Axes, int first, int j, int k, int step)
      : at_(level.field + level.field_place(2 * first, j, k)),
        to_row_(level.line),
        plane_(step * level.field_stride(2)),
        of_across_(level.of_axis[1]),
        of_along_(level.of_axis[2]) {
    before_ = Stored8<S>::load(at_ - plane_);
    here_ = Stored8<S>::load(at_);
  }
  __device__ void load() {
    below_ = Stored8<S>::load(at_ - to_row_);
    above_ = Stored8<S>::load(at_ + to_row_);
    left_ = at_[-1];
    right_ = at_[2 * width];
    at_ += plane_;
    behind_ = Stored8<S>::load(at_);
  }
  template <int is_odd>
  __device__ FacesOfField<S> around(int v) const {
    constexpr int last = 2 * width - 1;
    int const o = 2 * v + is_odd;
    S const own{here_.at(o)};
    S const left{o > 0 ? here_.at((o + last) % (last + 1)) : left_},
        right{o < last ? here_.at((o + 1) % (last + 1)) : right_};
    return {{own + left, own + right, own + below_.at(o), own + above_.at(o), own + before_.at(o),
             own + behind_.at(o)},
            of_across_,
            of_along_};
  }
  __device__ void go_on() {
    before_ = here_;
    here_ = behind_;
  }

 private:
  Coefficient const* at_;
  int to_row_;
  std::int64_t plane_;
  S of_across_, of_along_;
  Stored8<S> before_, here_, behind_, below_, above_;
  float left_, right_;
};

}  // namespace gridstride::multigrid
