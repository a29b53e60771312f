#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/host_device.hpp"
#include "kernels/poisson/poisson.hpp"

/// What is computed at a point, on the host and on the GPU. For the family's own files only.
namespace gridstride::poisson {

/// A product that is rounded, whatever it is added to.
GRIDSTRIDE_HOST_DEVICE inline double rounded_product(double x, double y) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(x, y);
#else
  return x * y;
#endif
}

enum class Rule : unsigned char { periodic, dirichlet, neumann };

/// The left side of the equation as kernels take it.
template <class T>
struct Operator {
  int dims;
  std::int64_t points[3], stride[3];
  std::int64_t first[3], count[3];  ///< unknowns; of several ranks, those of this one
  std::int64_t around[3];           ///< from the first point of a periodic axis to that before it
  std::int64_t planes[2];           ///< along the slowest axis: this rank's, or all
  Rule side[3][2];
  double weight[3];  ///< a/h², or 1/(2h²) where a is an array
  /// Of a side's values: a/h² of a value and 2a/h of a derivative, or the same without a and halved.
  double side_weight[3][2];
  double volume;  ///< of a cell inside
  double diffusivity, reaction;
  T const *diffusivities, *reactions;

  GRIDSTRIDE_HOST_DEVICE std::int64_t size() const { return count[0] * count[1] * count[2]; }
  GRIDSTRIDE_HOST_DEVICE bool is_side(int axis, int side, std::int64_t at) const {
    return at == (side == 0 ? 0 : points[axis] - 1);
  }
  GRIDSTRIDE_HOST_DEVICE double diffusivity_at(std::int64_t place) const {
    return diffusivities != nullptr ? double{diffusivities[place]} : diffusivity;
  }
  GRIDSTRIDE_HOST_DEVICE double reaction_at(std::int64_t place) const {
    return reactions != nullptr ? double{reactions[place]} : reaction;
  }
};

/// The equation as kernels take it. Throws `std::invalid_argument` for what none is of.
template <class T>
Operator<T> operator_of(Equation<T> const& equation);

/// The faces of a point along an axis: ā/h², and the places behind them.
struct Faces {
  std::int64_t lower_place, upper_place;
  double lower, upper;
};

/// At a Neumann side both are its inner face.
template <class T>
GRIDSTRIDE_HOST_DEVICE Faces faces_of(Operator<T> const& a, int axis, std::int64_t at,
                                      std::int64_t place) {
  std::int64_t const stride = a.stride[axis], around = a.around[axis];
  Faces faces{place - stride, place + stride, a.weight[axis], a.weight[axis]};
  if (a.is_side(axis, 0, at))
    faces.lower_place = a.side[axis][0] == Rule::periodic ? place + around : place + stride;
  if (a.is_side(axis, 1, at))
    faces.upper_place = a.side[axis][1] == Rule::periodic ? place - around : place - stride;
  if (a.diffusivities != nullptr) {
    double const here = a.diffusivities[place];
    faces.lower *= here + a.diffusivities[faces.lower_place];
    faces.upper *= here + a.diffusivities[faces.upper_place];
  }
  return faces;
}

/// A point's equation as far as an axis makes it, with the reaction:
/// lower·u₋ + diagonal·u + upper·u₊.
struct LineRow {
  double lower, diagonal, upper;
};

/// At a Neumann side the inner face counts for both.
template <class T>
GRIDSTRIDE_HOST_DEVICE LineRow row_of(Operator<T> const& a, int axis, std::int64_t at,
                                      std::int64_t place) {
  Faces const faces = faces_of(a, axis, at, place);
  bool const none_below = a.side[axis][0] != Rule::periodic && a.is_side(axis, 0, at);
  bool const none_above = a.side[axis][1] != Rule::periodic && a.is_side(axis, 1, at);
  double const to_lower = none_below ? 0 : faces.lower + (none_above ? faces.upper : 0);
  double const to_upper = none_above ? 0 : faces.upper + (none_below ? faces.lower : 0);
  return {-to_lower, (to_lower + to_upper) + a.reaction_at(place), -to_upper};
}

/// A·u at a point, and Σ_j |A_ij|.
struct RowProduct {
  double product, row;
};

/// That of the values that `value(place)` gives.
template <class T, class Value>
GRIDSTRIDE_HOST_DEVICE RowProduct product_with(Operator<T> const& a, Value const& value,
                                               std::int64_t const (&at)[3]) {
  std::int64_t const place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
  double const center = value(place), reaction = a.reaction_at(place);
  double sum = reaction * center, row = std::fabs(reaction);
  for (int axis = 0; axis < a.dims; ++axis) {
    Faces const faces = faces_of(a, axis, at[axis], place);
    bool const known_below = a.side[axis][0] == Rule::dirichlet && at[axis] == 1;
    bool const known_above = a.side[axis][1] == Rule::dirichlet && at[axis] == a.points[axis] - 2;
    double const below = known_below ? 0.0 : double{value(faces.lower_place)};
    double const above = known_above ? 0.0 : double{value(faces.upper_place)};
    sum += faces.lower * (center - below) - faces.upper * (above - center);
    row += 2 * (faces.lower + faces.upper);
  }
  return {sum, row};
}

template <class T, class U>
GRIDSTRIDE_HOST_DEVICE RowProduct product_of(Operator<T> const& a, U const* u,
                                             std::int64_t const (&at)[3]) {
  return product_with(
      a, [u](std::int64_t place) { return u[place]; }, at);
}

/// right − A·u at a point, and Σ_j |A_ij|.
struct RowResidual {
  double residual, row;
};

template <class T, class U>
GRIDSTRIDE_HOST_DEVICE RowResidual residual_of(Operator<T> const& a, U const* u, T const* right,
                                               std::int64_t const (&at)[3]) {
  auto const [product, row] = product_of(a, u, at);
  return {right[at[0] + at[1] * a.stride[1] + at[2] * a.stride[2]] - product, row};
}

/// right −= A·u at a point.
template <class T>
GRIDSTRIDE_HOST_DEVICE void subtract_product_at(Operator<T> const& a, T const* u, T* right,
                                                std::int64_t const (&at)[3]) {
  right[at[0] + at[1] * a.stride[1] + at[2] * a.stride[2]] =
      static_cast<T>(residual_of(a, u, right, at).residual);
}

/// The share of a cell that belongs to a point.
template <class T>
GRIDSTRIDE_HOST_DEVICE double share_of(Operator<T> const& a, std::int64_t const (&at)[3]) {
  double share = 1;
  for (int axis = 0; axis < a.dims; ++axis)
    for (int side = 0; side < 2; ++side)
      if (a.side[axis][side] == Rule::neumann && a.is_side(axis, side, at[axis])) share /= 2;
  return share;
}

/// The largest of many, as the bits of numbers that are not negative: NaN is above all.
struct Largest {
  std::uint64_t residual = 0;  ///< |right − A·u|
  std::uint64_t relative = 0;  ///< the same over its row's sum
  std::uint64_t value = 0;     ///< |u|
};

GRIDSTRIDE_HOST_DEVICE inline std::uint64_t bits_of_magnitude(double value) {
  double const magnitude = std::fabs(value);
  std::uint64_t bits;
  memcpy(&bits, &magnitude, sizeof bits);
  return bits;
}

GRIDSTRIDE_HOST_DEVICE inline void raise(std::uint64_t& largest, std::uint64_t value) {
  if (value > largest) largest = value;
}

GRIDSTRIDE_HOST_DEVICE inline void raise(Largest& largest, Largest const& other) {
  raise(largest.residual, other.residual);
  raise(largest.relative, other.relative);
  raise(largest.value, other.value);
}

template <class T>
GRIDSTRIDE_HOST_DEVICE void judge(Operator<T> const& a, T const* u, T const* right,
                                  std::int64_t const (&at)[3], Largest& largest) {
  auto const [residual, row] = residual_of(a, u, right, at);
  raise(largest,
        {bits_of_magnitude(residual), bits_of_magnitude(residual == 0 ? 0.0 : residual / row),
         bits_of_magnitude(u[at[0] + at[1] * a.stride[1] + at[2] * a.stride[2]])});
}

/// A sum of values and of their magnitudes.
struct Sums {
  double sum = 0, magnitude = 0;
};

template <class T>
GRIDSTRIDE_HOST_DEVICE void add_to(Sums& sums, Operator<T> const& a, T const* values,
                                   T const* factors, std::int64_t const (&at)[3]) {
  std::int64_t const place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
  double const value = factors != nullptr ? double{factors[place]} * values[place] : values[place];
  double const share = share_of(a, at);
  sums.sum += share * value;
  sums.magnitude += share * std::fabs(value);
}

/// The unknowns cut into pieces of rows along x: what a block, or a thread of the host, takes at
/// once.
struct Pieces {
  static constexpr std::int64_t length = 2048;
  std::int64_t of_row, count;

  template <class T>
  GRIDSTRIDE_HOST_DEVICE static Pieces of(Operator<T> const& a) {
    std::int64_t const of_row = (a.count[0] + length - 1) / length;
    return {of_row, of_row * a.count[1] * a.count[2]};
  }
  /// The first point of a piece, and behind its last one along x.
  template <class T>
  GRIDSTRIDE_HOST_DEVICE std::int64_t place(Operator<T> const& a, std::int64_t piece,
                                            std::int64_t (&at)[3]) const {
    std::int64_t const row = piece / of_row, begin = (piece - row * of_row) * length;
    at[0] = a.first[0] + begin;
    at[1] = a.first[1] + row % a.count[1];
    at[2] = a.first[2] + row / a.count[1];
    std::int64_t const left = a.count[0] - begin;
    return at[0] + (left < length ? left : length);
  }
};

/// How sums over the unknowns are made of those of pieces: the same parts for any number of ranks. A
/// part has some of a plane along the slowest axis, or several planes, as many as a power of two. A
/// line counts as one plane.
struct Parts {
  static constexpr std::int64_t most = 8192;
  std::int64_t planes;            ///< of a part
  std::int64_t of_plane, pieces;  ///< where that is one: parts of each, and pieces of a part
  std::int64_t plane_pieces;      ///< pieces of a plane
  std::int64_t count;             ///< of the whole grid
  std::int64_t first, own;        ///< those of this rank
  std::int64_t begin, end;        ///< planes with unknowns of this rank

  template <class T>
  static Parts of(Operator<T> const& a) {
    int const slowest = a.dims - 1;
    Parts parts{};
    parts.plane_pieces = (a.count[0] + Pieces::length - 1) / Pieces::length;
    if (a.dims == 3) parts.plane_pieces *= a.count[1];
    bool const is_line = a.dims == 1;
    std::int64_t const all = is_line ? 1 : a.points[slowest];
    parts.planes = planes_together(all);
    std::int64_t const wanted = std::max<std::int64_t>(most / all, 1);
    parts.pieces = (parts.plane_pieces + wanted - 1) / wanted;
    parts.of_plane = (parts.plane_pieces + parts.pieces - 1) / parts.pieces;
    parts.count = parts.of_first(all);
    parts.first = parts.of_first(is_line ? 0 : a.planes[0]);
    parts.own = parts.of_first(is_line ? 1 : a.planes[1]) - parts.first;
    parts.begin = is_line ? 0 : a.first[slowest];
    parts.end = is_line ? 1 : a.first[slowest] + a.count[slowest];
    return parts;
  }
  static std::int64_t planes_together(std::int64_t planes) {
    std::int64_t together = 1;
    while (together * most < planes) together *= 2;
    return together;
  }
  /// How many parts so many planes have, of which no rank cuts one.
  std::int64_t of_first(std::int64_t number) const {
    return planes > 1 ? (number + planes - 1) / planes : number * of_plane;
  }
  /// The pieces of a part, as this rank counts them: from one to before another.
  struct Range {
    std::int64_t first, last;
  };
  GRIDSTRIDE_HOST_DEVICE Range range(std::int64_t part) const {
    if (planes > 1) {
      std::int64_t const low = part * planes, high = low + planes;
      return {((low > begin ? low : begin) - begin) * plane_pieces,
              ((high < end ? high : end) - begin) * plane_pieces};
    }
    std::int64_t const plane = part / of_plane, at = part % of_plane * pieces;
    if (plane < begin || plane >= end) return {0, 0};
    std::int64_t const before = (plane - begin) * plane_pieces;
    return {before + at, before + (at + pieces < plane_pieces ? at + pieces : plane_pieces)};
  }
};

/// The unknowns that a side's values go to: those of the face that are none of other sides, and
/// where they lie.
struct FaceUnknowns {
  std::int64_t count[2];     ///< along the remaining axes
  std::int64_t stride[2];    ///< of the unknowns
  std::int64_t place;        ///< of the first unknown
  std::int64_t value, line;  ///< of the first value, and from one line of the face to the next
  std::int64_t side;         ///< from an unknown to the point of the side
  double weight;

  template <class T>
  static FaceUnknowns of(Operator<T> const& a, int axis, int side) {
    int const p = axis == 0 ? 1 : 0, q = axis == 2 ? 1 : 2;
    std::int64_t const at = side == 0 ? 0 : a.points[axis] - 1;
    std::int64_t const inward = side == 0 ? 1 : -1;
    bool const known = a.side[axis][side] == Rule::dirichlet;
    return {{a.count[p], a.count[q]},
            {a.stride[p], a.stride[q]},
            (known ? at + inward : at) * a.stride[axis] + a.first[p] * a.stride[p] +
                a.first[q] * a.stride[q],
            a.first[p] + a.first[q] * a.points[p],
            a.points[p],
            known ? -inward * a.stride[axis] : 0,
            a.side_weight[axis][side]};
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t size() const { return count[0] * count[1]; }
};

/// Whether a side's values go to unknowns of this rank.
template <class T>
bool has_unknowns_beside(Operator<T> const& a, int axis, int side) {
  if (axis + 1 != a.dims) return a.size() > 0;
  std::int64_t const inward = a.side[axis][side] == Rule::dirichlet ? 1 : 0;
  std::int64_t const at = side == 0 ? inward : a.points[axis] - 1 - inward;
  return at >= a.first[axis] && at < a.first[axis] + a.count[axis];
}

/// right += what value i of a side comes to.
template <class T>
GRIDSTRIDE_HOST_DEVICE void add_side(Operator<T> const& a, FaceUnknowns const& face,
                                     T const* values, std::int64_t i, T* right) {
  std::int64_t const q = i / face.count[0], p = i - q * face.count[0];
  std::int64_t const place = face.place + p * face.stride[0] + q * face.stride[1];
  double factor = face.weight;
  if (a.diffusivities != nullptr)
    factor *= double{a.diffusivities[place]} + a.diffusivities[place + face.side];
  right[place] = static_cast<T>(right[place] + factor * values[face.value + p + q * face.line]);
}

template <class T>
void host_add_sides(Stream&, Operator<T> const&, SideValues<T> const&, T* right);
/// The sums of this rank's parts.
template <class T>
std::vector<Sums> host_integrate(Stream&, Operator<T> const&, T const* values, T const* factors);
template <class T>
void host_shift(Stream&, T c, std::span<T> values);
template <class T>
Largest host_measure(Stream&, Operator<T> const&, T const* u, T const* right);
template <class T>
void host_subtract_product(Stream&, Operator<T> const&, T const* u, T* right);

template <class T>
void cuda_add_sides(Stream&, Operator<T> const&, SideValues<T> const&, T* right);
template <class T>
std::vector<Sums> cuda_integrate(Stream&, Operator<T> const&, T const* values, T const* factors);
template <class T>
void cuda_shift(Stream&, T c, std::span<T> values);
template <class T>
Largest cuda_measure(Stream&, Operator<T> const&, T const* u, T const* right);
template <class T>
void cuda_subtract_product(Stream&, Operator<T> const&, T const* u, T* right);

}  // namespace gridstride::poisson
