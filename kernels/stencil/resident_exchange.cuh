#pragma once

#include "kernels/stencil/resident_grid.cuh"

/// How blocks that each keep a tile of a plane in registers trade what lies around their tiles;
/// cuda_resident_grid.cu tells how they work.
namespace gridstride::stencil::resident {

/// Adds lines to a count in memory of all blocks: what the warp has written before is there once they
/// are counted.
__device__ inline void add_sent(unsigned* count, unsigned lines) {
#ifdef __CUDA_ARCH__
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(count), "r"(lines) : "memory");
#else
  *count += lines;
#endif
}
__device__ inline unsigned count_sent(unsigned const* count) {
  unsigned lines;
#ifdef __CUDA_ARCH__
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(lines) : "l"(count) : "memory");
#else
  lines = *count;
#endif
  return lines;
}

/// Tells another GPU that what was written before a `__threadfence_system` is there.
__device__ inline void tell_across(unsigned* place, unsigned number) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(place), "r"(number) : "memory");
#else
  *place = number;
#endif
}
__device__ inline unsigned told_across(unsigned const* place) {
  unsigned number;
#ifdef __CUDA_ARCH__
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(number) : "l"(place) : "memory");
#else
  number = *place;
#endif
  return number;
}

/// The lane, such that what follows from it is found anew for each exchange: steps need the registers.
__device__ inline int lane_anew() {
  int lane = lane_index();
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(lane));
#endif
  return lane;
}

/// How a block trades the points around its tile. A warp stores what others need of its lines into their
/// boxes, and counts it there; and takes what it needs from its own box once all of it is counted. A
/// block writes what comes two exchanges later only after it has had the one between, which the block
/// beside sends after it has used the first, for at least two steps. The same holds of the exchanges with
/// other GPUs, fewer than the others; in those between, the tiles beside each other have each other's
/// points also of the lines that are another GPU's.
template <class Shape>
class TileExchange {
  using T = typename Shape::T;
  using Box = TileBox<Shape>;
  using Lane = typename Box::Lane;
  using Piece = typename Box::Piece;
  using Points = typename Shape::Points;
  using Map = TileMap<Shape>;
  using Range = typename Map::Range;
  static constexpr int width = Shape::width, lines = Shape::lines, halo_lanes = Shape::halo_lanes;
  static constexpr int columns_around = 3;
  static_assert(!Shape::shared || columns_around * lines <= warp_size);

 public:
  __device__ explicit TileExchange(TileMemory<Shape> const& memory)
      : memory_(memory), map_(memory.map()) {}

  /// Before any block sends; where GPUs share a plane exchanges are counted from kernel to kernel.
  __device__ void begin() const {
    for (int i = static_cast<int>(threadIdx.x); i < Box::counts; i += static_cast<int>(blockDim.x))
      *map_.box(0, 0).count(i) = 0;
  }

  /// One that has a number, from 1 on, and where it is `with_others` another one of those with other
  /// GPUs.
  __device__ void trade(Points& u, Exchanges const& number, bool with_others) const {
    send(u, number, with_others);
    __syncwarp();
    int const tile = lane_anew();
    bool const has_tile = tile < Box::sides && has(tile);
    if (has_tile) count(tile);
    if constexpr (Shape::shared)
      if (with_others) tell_others(number.across);
    __syncwarp();
    if (has_tile) await(tile, number.all);
    if constexpr (Shape::shared)
      if (with_others) await_others(number.across);
    __syncwarp();
    take(u, number, with_others);
  }

 private:
  /// Whether there is a tile of this GPU beside this one.
  __device__ bool has(int tile) const {
    int const row = tile / 3, column = tile % 3;
    return tile != Box::sides / 2 &&
           (row == 1 || (map_.halo_lines(row / 2) > 0 && !map_.is_across(row / 2))) &&
           (column == 1 || map_.has_beside(column / 2));
  }
  __device__ bool trades(int side, bool with_others) const {
    return with_others || !map_.is_across(side);
  }
  /// Counts what the warp has sent to a tile.
  __device__ void count(int tile) const {
    int const row = tile / 3;
    bool const is_beside = row == 1;
    int const lines_sent = is_beside ? 1 : map_.rim(row / 2).count();
    unsigned* const counted = map_.counts_there[tile] + (is_beside ? warp_index() : 0);
    if (lines_sent > 0) add_sent(counted, static_cast<unsigned>(lines_sent));
  }
  /// Waits for what the warp needs of a tile.
  __device__ void await(int tile, unsigned number) const {
    int const row = tile / 3;
    bool const is_beside = row == 1;
    if (!is_beside && map_.halo(row / 2).count() == 0) return;
    unsigned const* const counted = map_.counts_here[tile] + (is_beside ? warp_index() : 0);
    unsigned const all = number * (is_beside ? 1 : static_cast<unsigned>(map_.halo_lines(row / 2)));
    while (static_cast<int>(count_sent(counted) - all) < 0) continue;
  }

  /// A lane each for the lines of the warp and the tiles of a row.
  __device__ bool has_column(int column) const {
    return column == 1 || (column < columns_around && map_.has_beside(column / 2));
  }
  __device__ void tell_others(unsigned number) const {
    for (int side = 0; side < 2; ++side) {
      Range const rim = map_.rim(side);
      if (!map_.is_across(side) || rim.count() == 0) continue;
      __threadfence_system();
      int const lane = lane_anew(), column = lane / lines, line = lane % lines;
      if (has_column(column) && rim.has(line))
        tell_across(map_.box(2 * side - 1, column - 1)
                        .number_of_line(1 - side, columns_around - 1 - column, line - rim.from),
                    number);
    }
  }
  __device__ void await_others(unsigned number) const {
    for (int side = 0; side < 2; ++side) {
      Range const halo = map_.halo(side);
      int const lane = lane_anew(), column = lane / lines, line = lane % lines;
      if (!map_.is_across(side) || !has_column(column) || !halo.has(line)) continue;
      unsigned const* const told = map_.box(0, 0).number_of_line(side, column, line - halo.from);
      while (static_cast<int>(told_across(told) - number) < 0) continue;
    }
  }

  /// Of which lines tiles beside each other trade: their own, and what no other GPU sends this time.
  __device__ Range lines_beside(bool with_others) const {
    auto const& y = map_.y;
    int const own = y.own_at() - warp_index() * lines;
    return {own - (trades(0, with_others) ? 0 : y.above),
            own + y.own + (trades(1, with_others) ? 0 : y.below)};
  }

  /// First what has the longest way.
  __device__ void send(Points const& u, Exchanges const& number, bool with_others) const {
    if constexpr (Shape::shared)
      for (int side = 0; side < 2; ++side)
        if (with_others && map_.is_across(side) && map_.rim(side).count() > 0)
          send_rows<true>(u, number.across, side, map_.rim(side));
    for (int side = 0; side < 2; ++side)
      if (map_.has_beside(side))
        send_beside(
            u, side,
            map_.box(0, 2 * side - 1).set(number.all) + Box::strip(1 - side, warp_index() * lines),
            lines_beside(with_others));
    for (int side = 0; side < 2; ++side)
      if (!map_.is_across(side) && map_.rim(side).count() > 0)
        send_rows<false>(u, number.all, side, map_.rim(side));
  }

  /// Sends lines of the warp to the tile above or below, and what those beside it need of them.
  template <bool across>
  __device__ void send_rows(Points const& u, unsigned number, int side, Range const& rim) const {
    auto const& x = map_.x;
    int const below = 2 * side - 1, lane = lane_index();
    if (lane >= x.left && lane < x.end()) {
      Piece* const place = map_.box(below, 0).set(number) + Box::row(1 - side, -rim.from) + lane;
#pragma unroll
      for (int l = 0; l < lines; ++l)
        if (rim.has(l)) Lane::store(place + l * Box::row_line, warp_size, u[l]);
    }
    for (int other = 0; other < 2; ++other)
      if (map_.has_beside(other))
        send_beside(u, other,
                    map_.box(below, 2 * other - 1).set(number) +
                        (across ? Box::corner(1 - side, 1 - other, -rim.from)
                                : Box::strip(1 - other, map_.first_there[side] - rim.from)),
                    rim);
  }

  /// Sends the points that the tile to the left, or to the right, needs of some of the warp's lines.
  /// Line l goes to `strip` + l·`Box::strip_line`.
  __device__ void send_beside(Points const& u, int side, Piece* strip, Range const& range) const {
    auto const& x = map_.x;
    if ((side == 0 ? x.pad : map_.pad_of_right) > 0) return send_shifted(u, side, strip, range);
    int const first = side == 0 ? x.left : x.end() - halo_lanes, lane = lane_index() - first;
    if (lane < 0 || lane >= halo_lanes) return;
    Piece* const place = strip + lane * Lane::pieces;
#pragma unroll
    for (int l = 0; l < lines; ++l)
      if (range.has(l)) Lane::store(place + l * Box::strip_line, 1, u[l]);
  }

  /// The same where lanes there begin elsewhere.
  __device__ void send_shifted(Points const& u, int side, Piece* strip, Range const& range) const {
    constexpr int line_lanes = TileMemory<Shape>::leaving_line, line_points = line_lanes * width;
    auto const& x = map_.x;
    int const first = side == 0 ? x.left : x.end() - halo_lanes - 1, lane = lane_index() - first;
    Piece* const leaving = memory_.leaving(warp_index());
    __syncwarp();
    if (lane >= 0 && lane < line_lanes) {
#pragma unroll
      for (int l = 0; l < lines; ++l)
        Lane::store(leaving + (l * line_lanes + lane) * Lane::pieces, 1, u[l]);
    }
    __syncwarp();
    int const shift = side == 0 ? x.pad : width - map_.pad_of_right;
    int const count = (halo_lanes + (side == 0 ? 0 : 1)) * Lane::pieces;
    for (int i = lane_anew(); i < lines * Box::strip_line; i += warp_size) {
      int const l = i / Box::strip_line, number = i % Box::strip_line;
      if (!range.has(l) || number >= count) continue;
      T const* const from =
          reinterpret_cast<T const*>(leaving) + l * line_points + number * Lane::of_piece + shift;
      struct {
        T at[Lane::of_piece];
      } points;
#pragma unroll
      for (int e = 0; e < Lane::of_piece; ++e) points.at[e] = from[e];
      strip[i] = __builtin_bit_cast(Piece, points);
    }
  }

  __device__ void take(Points& u, Exchanges const& number, bool with_others) const {
    Box const here = map_.box(0, 0);
    Piece const* const own = here.set(number.all);
    int const first = warp_index() * lines;
    for (int side = 0; side < 2; ++side) {
      Range const halo = map_.halo(side);
      if (halo.count() > 0 && trades(side, with_others))
        take_row(u, map_.is_across(side) ? here.set(number.across) : own, side, halo);
    }
    take_beside(u, own + Box::strip(0, first), own + Box::strip(1, first), {0, lines});
    if constexpr (Shape::shared)
      for (int side = 0; side < 2; ++side) {
        Range const halo = map_.halo(side);
        if (!with_others || !map_.is_across(side) || halo.count() == 0) continue;
        Piece const* const set = here.set(number.across);
        take_beside(u, set + Box::corner(side, 0, -halo.from),
                    set + Box::corner(side, 1, -halo.from), halo);
      }
  }

  __device__ void take_row(Points& u, Piece const* set, int side, Range const& halo) const {
    Piece const* const place = set + Box::row(side, -halo.from) + lane_index();
#pragma unroll
    for (int l = 0; l < lines; ++l)
      if (halo.has(l)) Lane::load_sent(place + l * Box::row_line, warp_size, u[l]);
  }

  /// What has come left and right of some of the warp's lines.
  __device__ void take_beside(Points& u, Piece const* left, Piece const* right,
                              Range const& range) const {
    auto const& x = map_.x;
    int const lane = lane_index(), beyond = lane - x.end();
    bool const is_left = lane < x.left;
    Piece const* place = is_left ? left + lane * Lane::pieces : right + beyond * Lane::pieces;
    if (is_left || (beyond >= 0 && beyond < x.right)) {
#pragma unroll
      for (int l = 0; l < lines; ++l)
        if (range.has(l)) Lane::load_sent(place + l * Box::strip_line, 1, u[l]);
    }
    if (x.left == 0 || x.pad == 0 || lane != x.left) return;
    // Some points of this lane are beside the own ones.
    place = left + lane * Lane::pieces;
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      if (!range.has(l)) continue;
      T points[width];
      Lane::load_sent(place + l * Box::strip_line, 1, points);
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (e < x.pad) u[l][e] = points[e];
    }
  }

  TileMemory<Shape> memory_;
  TileMap<Shape> const& map_;
};

}  // namespace gridstride::stencil::resident
