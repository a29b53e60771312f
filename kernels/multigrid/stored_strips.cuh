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

/// The faces around a point.
template <class S>
struct FacesAround {
  S left, right, below, above, before, behind;

  __device__ bool is_left_nearer() const { return left >= right; }
  __device__ S diagonal() const { return (left + right) + (below + above) + (before + behind); }
  /// Σ faces·differences
  __device__ S drawn(Differences<S> const& d) const {
    return (left * d.left + right * d.right) + (below * d.below + above * d.above) +
           (before * d.before + behind * d.behind);
  }
};

/// a around a point, and at it: faces are sums of both.
template <class S>
struct FieldAround {
  S own, left, right, below, above, before, behind, of_across, of_along;

  __device__ bool is_left_nearer() const { return left >= right; }
  __device__ S diagonal() const {
    S const twice = own + own;
    return (twice + (left + right)) + of_across * (twice + (below + above)) +
           of_along * (twice + (before + behind));
  }
  __device__ S drawn(Differences<S> const& d) const {
    S const in_row = own * (d.left + d.right) + (left * d.left + right * d.right);
    S const across = own * (d.below + d.above) + (below * d.below + above * d.above);
    S const along = own * (d.before + d.behind) + (before * d.before + behind * d.behind);
    return in_row + of_across * across + of_along * along;
  }
};

/// Faces as they are stored. Along the column those behind a plane are those before the next one, where the
/// points of the other parity want them: a strip of them is loaded once, for both.
template <bool volume, class S>
class FaceStrips {
 public:
  static constexpr int width = vector_width<S>;
  /// Blocks that are to be at work together on a multiprocessor.
  static constexpr int blocks = volume && sizeof(S) == sizeof(float) ? 3 : 2;

  /// From the plane k on.
  __device__ FaceStrips(Level<S> const& level, Axes axes, int first, int j, int k) {
    auto const face_row = [&](int axis) {
      return level.face[axis] + level.face_place(axis, 2 * first, volume ? j : 0, 0);
    };
    along_ = face_row(axes.along);
    row_ = face_row(0);
    if constexpr (volume) across_ = face_row(axes.across);
    to_row_ = level.line;
    plane_ = level.face_stride(axes.along);
    across_plane_ = std::int64_t{level.line} * (level.count[1] + 1);
    before_ = Stored8<S>::load(along_ + k * plane_);
  }
  __device__ void load(int k) {
    behind_ = Stored8<S>::load(along_ + (k + 1) * plane_);
    Coefficient const* const faces = row_ + k * plane_;
    in_row_ = Stored8<S>::load(faces);
    row_end_ = faces[2 * width];
    if constexpr (volume) {
      across_before_ = Stored8<S>::load(across_ + k * across_plane_);
      across_behind_ = Stored8<S>::load(across_ + k * across_plane_ + to_row_);
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

/// Of a level of a volume that has a in their place.
template <class S>
class FieldStrips {
 public:
  static constexpr int width = vector_width<S>;
  static constexpr int blocks = sizeof(S) == sizeof(float) ? 3 : 2;

  __device__ FieldStrips(Level<S> const& level, Axes, int first, int j, int k)
      : row_(level.field + level.field_place(2 * first, j, 0)),
        to_row_(level.line),
        plane_(level.field_stride(2)),
        of_across_(level.of_axis[1]),
        of_along_(level.of_axis[2]) {
    before_ = Stored8<S>::load(row_ + (k - 1) * plane_);
    here_ = Stored8<S>::load(row_ + k * plane_);
  }
  __device__ void load(int k) {
    Coefficient const* const here = row_ + k * plane_;
    behind_ = Stored8<S>::load(here + plane_);
    below_ = Stored8<S>::load(here - to_row_);
    above_ = Stored8<S>::load(here + to_row_);
    left_ = here[-1];
    right_ = here[2 * width];
  }
  template <int is_odd>
  __device__ FieldAround<S> around(int v) const {
    constexpr int last = 2 * width - 1;
    int const o = 2 * v + is_odd;
    return {S{here_.at(o)},
            o > 0 ? S{here_.at((o + last) % (last + 1))} : S{left_},
            o < last ? S{here_.at((o + 1) % (last + 1))} : S{right_},
            S{below_.at(o)},
            S{above_.at(o)},
            S{before_.at(o)},
            S{behind_.at(o)},
            of_across_,
            of_along_};
  }
  __device__ void go_on() {
    before_ = here_;
    here_ = behind_;
  }

 private:
  Coefficient const* row_;
  int to_row_;
  std::int64_t plane_;
  S of_across_, of_along_;
  Stored8<S> before_, here_, behind_, below_, above_;
  float left_, right_;
};

}  // namespace gridstride::multigrid
