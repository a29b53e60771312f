#pragma once

// Where the points of a thread of cuda_temporal_volume.cu lie, and what it has to know of the
// grid's sides. A thread sees to its own points alone.
//
// Neumann: beyond a side in y or z lie two more lines or planes, the mirror image of those inside.
// They are read so, and stay so with every bit, since the difference of two differences is the same
// from either direction. Only ∂u/∂n is left to be added at the points of the side. Along x, where a
// side falls into a vector, its points take their inner neighbour for both.
//
// Dirichlet: the points of the side are set by the first step and keep what they have in the
// second. What their neighbours beyond the grid are does not matter.
//
// Values of the sides come by cp.async a plane before they are needed: of sides in x and y into a
// ring of four planes, since the second step is a plane behind the first; of sides in z, which are
// planes themselves, into one place each.

#include <cuda_runtime_api.h>

#include "kernels/stencil/temporal.cuh"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::stencil {

constexpr int volume_steps = 2;
constexpr int volume_lines = 4;  // of a thread

/// The shared memory of a block.
extern __shared__ __align__(16) unsigned char volume_memory[];

template <class T>
GRIDSTRIDE_HOST_DEVICE bool is_open(DiffusionArguments<T> const& a, int axis) {
  return a.side[axis][0] != SideRule::periodic;
}

/// Begins to copy to that place in shared memory.
template <int bytes>
__device__ void fetch(int place, void const* source) {
#if __CUDA_ARCH__ >= 800
  begin_copy<bytes>(static_cast<unsigned>(__cvta_generic_to_shared(volume_memory + place)), source);
#else
  struct alignas(bytes) Element {
    unsigned words[bytes / 4];
  };
  *reinterpret_cast<Element*>(volume_memory + place) = *static_cast<Element const*>(source);
#endif
}

/// A thread's points of one plane: a vector along x in each of its lines.
template <class T>
struct Patch {
  Vector<T, vector_width<T>> line[volume_lines];
};

/// Where they lie, and are read: on a periodic axis at the point that they repeat, beyond an open
/// side at their mirror image, or at any point where nothing depends on them. With `aligned`, lines
/// are whole vectors, and all addresses are multiples of 16 bytes.
template <class T, bool aligned>
class Spot {
 public:
  static constexpr int width = vector_width<T>, lines = volume_lines;
  static constexpr int bytes = lines * sizeof(unsigned);  // of shared memory, for a thread

  int i, j;  // of the first point, maybe beyond the grid

  __device__ explicit Spot(DiffusionArguments<T> const& a) : a_(a) {}
  /// Once i and j are known.
  __device__ void find(int place);

  __device__ int points(int axis) const { return static_cast<int>(a_.points[axis]); }
  __device__ int z_of(int k) const {
    int const count = points(2);
    if (k >= 0 && k < count) return k;
    if (is_open(a_, 2)) return max(0, min(abs(k), 2 * count - 2 - k));
    if (k < 0) k += count;
    while (k >= count) k -= count;
    return k;
  }
  __device__ int x_of(int e) const {
    if (aligned || x_ + e < points(0)) return x_ + e;
    return is_open(a_, 0) ? points(0) - 1 : x_ + e - points(0);
  }
  __device__ unsigned y_of(int r) const {
    return *reinterpret_cast<unsigned const*>(volume_memory + y_place_ + r * sizeof(unsigned));
  }
  /// Where line r begins in a plane.
  __device__ unsigned long long line_of(int r) const {
    return static_cast<unsigned long long>(y_of(r)) * static_cast<unsigned>(a_.points[0]);
  }

  /// Begins to copy the points of a plane of nx·ny values, lines `distance` bytes apart.
  __device__ void fetch_patch(int place, int distance, T const* plane) const;

 private:
  DiffusionArguments<T> const& a_;
  int x_, y_place_;
};

template <class T, bool aligned>
__device__ void Spot<T, aligned>::find(int place) {
  x_ = is_open(a_, 0) ? min(i, points(0) - (aligned ? width : 1))
                      : static_cast<int>(wrapped_index(i, points(0)));
  y_place_ = place;
  int const count = points(1);
  for (int r = 0; r < lines; ++r) {
    int const at = j + r;
    reinterpret_cast<unsigned*>(volume_memory + place)[r] =
        is_open(a_, 1) ? max(0, min(abs(at), 2 * count - 2 - at))
                       : static_cast<int>(wrapped_index(at, count));
  }
}

template <class T, bool aligned>
__device__ void Spot<T, aligned>::fetch_patch(int place, int distance, T const* plane) const {
#pragma unroll(aligned ? lines : 1)
  for (int r = 0; r < lines; ++r) {
    T const* const line = plane + line_of(r);
    if constexpr (aligned) {
      fetch<16>(place + r * distance, line + x_);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e)
        fetch<sizeof(T)>(place + r * distance + e * sizeof(T), line + x_of(e));
    }
  }
}

/// The sides that a thread's points lie on.
template <class T, bool aligned>
class Sides {
 public:
  static constexpr int width = vector_width<T>, lines = volume_lines;

  /// Shared memory that a block of so many threads needs.
  GRIDSTRIDE_HOST_DEVICE static int bytes(DiffusionArguments<T> const& a, int threads) {
    bool const beside = is_open(a, 0) || is_open(a, 1);
    return (beside ? planes * (x_bytes + 16 * threads) : 0) +
           (is_open(a, 2) ? 2 * lines * 16 * threads : 0);
  }

  Spot<T, aligned> spot;

  __device__ explicit Sides(DiffusionArguments<T> const& a) : spot(a), a_(a) {}
  /// Once the spot has been found. `has_ends`: whether the thread is one of those, of its block,
  /// that have the ends of lines. `imposed`: whether u is given on Dirichlet sides already.
  __device__ void find(int place, bool has_ends, bool imposed);

  /// Begins to copy what plane k needs.
  __device__ void fetch_values(int k) const;

  /// Adds to what changes along x, and x and y, what Neumann sides change in plane k. `before`:
  /// what lies before the first points of the lines.
  __device__ bool changes_x() const { return (points_ & neumann * 3) != 0; }
  __device__ void change_x(Patch<T> const& center, T const* before, int k, Patch<T>& change) const;
  __device__ bool changes_y() const { return (points_ & neumann * 0x3c) != 0; }
  __device__ void change_y(int k, Patch<T>& change) const;
  /// The same along z; and then, where points are fixed, lets nothing change, by the first step
  /// from the values of their sides.
  __device__ bool changes_z(int k) const { return (points_ & all_fixed) != 0 || is_side(k); }
  template <bool first_step>
  __device__ void change_z(int k, Patch<T>& center, Patch<T>& change) const;

 private:
  static constexpr int planes = 4;
  static constexpr int x_bytes = 2 * lines * warp_size * sizeof(T);
  using Line = Vector<T, width>;

  __device__ bool is_side(int k) const {
    return (k == 0 || k == spot.points(2) - 1) && is_open(a_, 2);
  }
  __device__ bool is_fixed(int k) const { return a_.side[2][k > 0] == SideRule::dirichlet; }
  __device__ bool is_end(int e, int side) const {
    return side == 0 ? e == 0 : aligned ? e == width - 1 : spot.i + e == spot.points(0) - 1;
  }
  __device__ bool has(unsigned rule, int bit) const { return (points_ & rule << bit) != 0; }
  __device__ void take_values(int k, Patch<T>& center) const;
  __device__ int x_place(int k, int side) const {
    int const number = (k & (planes - 1)) * 2 + side;
    return x_place_ + number * (x_bytes / 2);
  }
  __device__ int y_place(int k) const { return y_place_ + (k & (planes - 1)) * 16 * blockDim.x; }
  __device__ int z_place(int k, int r) const {
    return z_place_ + ((k > 0 ? lines : 0) + r) * 16 * blockDim.x;
  }
  __device__ T x_value(int k, int side, int r) const {
    return reinterpret_cast<T const*>(volume_memory + x_place(k, side))[r * warp_size];
  }
  static __device__ Line line_at(int place) {
    return *reinterpret_cast<Line const*>(volume_memory + place);
  }

  // Bits of `points_`: a bit for each point, whether it is fixed; and times one of these, whether
  // there is such a side with values at the lower end of the lines, the upper one, at each line.
  static constexpr unsigned all_fixed = (1u << lines * width) - 1;
  static constexpr unsigned neumann = 1u << 16, dirichlet = 1u << 24;

  DiffusionArguments<T> const& a_;
  unsigned points_ = 0;
  bool imposed_;
  int x_place_, y_place_, z_place_;
};

template <class T, bool aligned>
__device__ void Sides<T, aligned>::find(int place, bool has_ends, bool imposed) {
  imposed_ = imposed;
  auto const note = [&](int axis, int side, int bit) {
    if (!is_open(a_, axis)) return false;
    bool const is_fixed = a_.side[axis][side] == SideRule::dirichlet;
    if (!is_fixed) points_ |= neumann << bit;
    if (is_fixed && !imposed) points_ |= dirichlet << bit;
    return is_fixed;
  };
  for (int e = 0; e < width; ++e)
    for (int side = 0; side < 2; ++side) {
      int const end = side == 0 ? 0 : spot.points(0) - 1;
      if (!has_ends || spot.i + e != end || !note(0, side, side)) continue;
      for (int r = 0; r < lines; ++r) points_ |= 1u << (r * width + e);
    }
  for (int r = 0; r < lines; ++r)
    for (int side = 0; side < 2; ++side) {
      int const end = side == 0 ? 0 : spot.points(1) - 1;
      if (spot.j + r == end && note(1, side, 2 + r)) points_ |= ((1u << width) - 1) << r * width;
    }
  bool const beside = is_open(a_, 0) || is_open(a_, 1);
  x_place_ = place + threadIdx.x % warp_size * sizeof(T);
  y_place_ = place + planes * x_bytes + threadIdx.x * 16;
  z_place_ = place + (beside ? planes * (x_bytes + 16 * blockDim.x) : 0) + threadIdx.x * 16;
}

template <class T, bool aligned>
__device__ void Sides<T, aligned>::fetch_values(int k) const {
  if (is_side(k) && !(imposed_ && is_fixed(k))) [[unlikely]]
    spot.fetch_patch(z_place(k, 0), 16 * blockDim.x, a_.side_value[2][k > 0]);
  if (points_ <= all_fixed) [[likely]]
    return;
  long long const z = spot.z_of(k);
#pragma unroll 1
  for (int side = 0; side < 2; ++side) {
    if (!has(neumann | dirichlet, side)) continue;
    T const* const values = a_.side_value[0][side] + a_.points[1] * z;
#pragma unroll
    for (int r = 0; r < lines; ++r)
      fetch<sizeof(T)>(x_place(k, side) + r * warp_size * sizeof(T), values + spot.y_of(r));
  }
  if ((points_ & (neumann | dirichlet) * 0x3c) == 0) return;
  T const* const values = a_.side_value[1][spot.j > 0] + a_.points[0] * z;
  if constexpr (aligned) {
    fetch<16>(y_place(k), values + spot.x_of(0));
  } else {
#pragma unroll
    for (int e = 0; e < width; ++e)
      fetch<sizeof(T)>(y_place(k) + e * sizeof(T), values + spot.x_of(e));
  }
}

template <class T, bool aligned>
__device__ void Sides<T, aligned>::change_x(Patch<T> const& center, T const* before, int k,
                                            Patch<T>& change) const {
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    if (!has(neumann, side)) continue;
#pragma unroll
    for (int r = 0; r < lines; ++r) {
      T const(&c)[width] = center.line[r].at;
      T const value = x_value(k, side, r);
#pragma unroll
      for (int e = 0; e < width; ++e) {
        if (!is_end(e, side)) continue;
        T const lower = e > 0 ? c[e > 0 ? e - 1 : 0] : before[r];
        T const inner = side == 1 ? lower : c[e < width - 1 ? e + 1 : e];
        T const doubled = add_axis(T(0), a_.weight[0], inner, c[e], inner);
        change.line[r].at[e] = add_side(doubled, a_.side_weight[0], value);
      }
    }
  }
}

template <class T, bool aligned>
__device__ void Sides<T, aligned>::change_y(int k, Patch<T>& change) const {
  Line const values = line_at(y_place(k));
#pragma unroll
  for (int r = 0; r < lines; ++r)
#pragma unroll
    for (int e = 0; e < width; ++e) {
      T& to = change.line[r].at[e];
      if (has(neumann, 2 + r)) to = add_side(to, a_.side_weight[1], values.at[e]);
    }
}

template <class T, bool aligned>
template <bool first_step>
__device__ void Sides<T, aligned>::change_z(int k, Patch<T>& center, Patch<T>& change) const {
  unsigned fixed = points_;
  if (is_side(k)) {
    if (is_fixed(k)) {
      fixed = all_fixed;
    } else {
#pragma unroll
      for (int r = 0; r < lines; ++r) {
        Line const values = line_at(z_place(k, r));
#pragma unroll
        for (int e = 0; e < width; ++e) {
          T& to = change.line[r].at[e];
          to = add_side(to, a_.side_weight[2], values.at[e]);
        }
      }
    }
  }
  if (first_step && !imposed_) take_values(k, center);
#pragma unroll
  for (int r = 0; r < lines; ++r)
#pragma unroll
    for (int e = 0; e < width; ++e)  // minus zero, which leaves a zero its sign
      if ((fixed >> (r * width + e) & 1u) != 0) change.line[r].at[e] = T(-0.0);
}

/// Sets what is fixed. Where sides meet, the first axis counts.
template <class T, bool aligned>
__device__ void Sides<T, aligned>::take_values(int k, Patch<T>& center) const {
  bool const in_side = is_side(k) && is_fixed(k);
  bool const has_line = (points_ & dirichlet * 0x3c) != 0;
  Line const values = has_line ? line_at(y_place(k)) : Line{};
#pragma unroll
  for (int r = 0; r < lines; ++r) {
    if (in_side) center.line[r] = line_at(z_place(k, r));
    if (has(dirichlet, 2 + r)) center.line[r] = values;
#pragma unroll
    for (int side = 0; side < 2; ++side)
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (has(dirichlet, side) && is_end(e, side)) center.line[r].at[e] = x_value(k, side, r);
  }
}

}  // namespace gridstride::stencil
