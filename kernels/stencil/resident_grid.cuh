#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/stencil/resident.cuh"

/// How blocks that each keep a tile of a plane in registers trade what lies around their tiles;
/// cuda_resident_grid.cu tells how they work.
namespace gridstride::stencil::resident {

/// A way to lay out a tile: a lane has `width` points of each of the `lines` lines of its warp, of
/// which a block has up to `warps`. Points of `halo_lanes` lanes lie beyond the own ones on a side.
template <class Value, int width_, int lines_, int warps_, int halo_lanes_>
struct TileShape {
  using T = Value;
  static constexpr int width = width_, lines = lines_, warps = warps_, halo_lanes = halo_lanes_;
  static constexpr int most_lines = lines * warps;
  static constexpr int most_depth = halo_lanes * width;
  using Points = T[lines][width];
  static_assert(lines > 1 && width > 1);
};

/// How a plane is cut into tiles, `columns` × `rows` of them. Columns have `lanes` lanes of own points,
/// but the last one what is left; rows as many lines as the others, up to one.
struct GridCut {
  int columns, rows, lanes, warps;
  int depth;  // lines and points beyond a tile's own, and steps between two exchanges: at least 2
  int steps;  // of this kernel
  std::byte* memory;  // for what blocks exchange
};

/// A tile's lines: its own, and those above and below that it computes as well. Number `top` of the
/// block's is the first; at the grid's upper end the last of the block's is the last.
struct TileLines {
  int top, above, own, below;
  int first;  // line of the grid that is number 0 of the block

  __device__ int own_at() const { return top + above; }
  __device__ int end() const { return top + above + own + below; }
};

template <class Shape>
__device__ TileLines lines_of(DiffusionArguments<typename Shape::T> const& a, GridCut const& cut,
                              int row) {
  bool const periodic = a.side[1][0] == SideRule::periodic;
  int const first = static_cast<int>(a.points[1] * row / cut.rows);
  int const end = static_cast<int>(a.points[1] * (row + 1) / cut.rows);
  TileLines y;
  y.above = periodic || row > 0 ? cut.depth : 0;
  y.below = periodic || row + 1 < cut.rows ? cut.depth : 0;
  y.own = end - first;
  y.top = y.below > 0 ? 0 : cut.warps * Shape::lines - y.above - y.own;
  y.first = first - y.above - y.top;
  return y;
}

/// The same along x, in lanes. Where lanes do not divide the points of a line, those of the last
/// column begin `pad` points before its own ones, so that the end of a line is that of a lane.
struct TileLanes {
  int left, own, right;
  int pad;
  int first;  // point of the grid that is the first lane's first

  __device__ int end() const { return left + own; }
};

template <class Shape>
__device__ TileLanes lanes_of(DiffusionArguments<typename Shape::T> const& a, GridCut const& cut,
                              int column) {
  constexpr int width = Shape::width;
  bool const periodic = a.side[0][0] == SideRule::periodic, is_last = column + 1 == cut.columns;
  int const points = static_cast<int>(a.points[0]), first = column * cut.lanes * width;
  TileLanes x;
  x.left = periodic || column > 0 ? Shape::halo_lanes : 0;
  x.right = periodic || !is_last ? Shape::halo_lanes : 0;
  x.own = is_last ? (points - first + width - 1) / width : cut.lanes;
  x.pad = is_last ? x.own * width - (points - first) : 0;
  x.first = first - x.pad - x.left * width;
  return x;
}

/// The points that a lane has of a line, as the widest pieces that memory takes at once.
template <class T, int width>
struct LanePoints {
  static constexpr int bytes = width * static_cast<int>(sizeof(T));
  using Piece = std::conditional_t<bytes % 16 == 0, uint4, uint2>;
  static constexpr int pieces = bytes / static_cast<int>(sizeof(Piece));
  static constexpr int of_piece = width / pieces;
  static_assert(bytes % sizeof(Piece) == 0);
  struct Points {
    T at[width];
  };
  struct Pieces {
    Piece at[pieces];
  };

  /// Pieces lie `stride` after each other.
  static __device__ void store(Piece* place, int stride, T const (&u)[width]) {
    Points points;
#pragma unroll
    for (int e = 0; e < width; ++e) points.at[e] = u[e];
    auto const all = __builtin_bit_cast(Pieces, points);
#pragma unroll
    for (int p = 0; p < pieces; ++p) place[p * stride] = all.at[p];
  }
  static __device__ void load(Piece const* place, int stride, T (&u)[width]) {
    Pieces all;
#pragma unroll
    for (int p = 0; p < pieces; ++p) all.at[p] = place[p * stride];
    set(all, u);
  }
  /// What other multiprocessors have written.
  static __device__ void load_sent(Piece const* place, int stride, T (&u)[width]) {
    Pieces all;
#pragma unroll
    for (int p = 0; p < pieces; ++p) all.at[p] = __ldcg(place + p * stride);
    set(all, u);
  }

 private:
  static __device__ void set(Pieces const& all, T (&u)[width]) {
    auto const points = __builtin_bit_cast(Points, all);
#pragma unroll
    for (int e = 0; e < width; ++e) u[e] = points.at[e];
  }
};

/// A line of a whole warp in shared memory, without bank conflicts.
template <class T, int width>
struct WarpLine {
  using Lane = LanePoints<T, width>;
  using Piece = typename Lane::Piece;
  static constexpr int bytes = warp_size * Lane::bytes;

  static __device__ void store(unsigned char* line, T const (&u)[width]) {
    Lane::store(reinterpret_cast<Piece*>(line) + lane_index(), warp_size, u);
  }
  static __device__ void load(unsigned char const* line, T (&u)[width]) {
    Lane::load(reinterpret_cast<Piece const*>(line) + lane_index(), warp_size, u);
  }
};

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

/// Where a block finds what comes to its tile: two sets, which alternate, of rows, the lines above and
/// below, and strips, the points left and right of all its lines; and how many lines of these have come.
template <class Shape>
struct TileBox {
  using Lane = LanePoints<typename Shape::T, Shape::width>;
  using Piece = typename Lane::Piece;
  /// Of a strip: one lane more where the own points do not begin with one.
  static constexpr int strip_lanes = Shape::halo_lanes + 1;
  static constexpr int strip_line = strip_lanes * Lane::pieces, row_line = warp_size * Lane::pieces;
  static constexpr int rows_at = 2 * Shape::most_lines * strip_line;
  static constexpr int set_pieces = rows_at + 2 * Shape::most_depth * row_line;
  static constexpr int sides = 9;  // by rows: those of the tile, its corners, and itself
  /// Of the strip of each warp left and right; and of what comes from the rows of tiles above and below.
  static constexpr int counts = 2 * Shape::warps + sides;
  static constexpr std::size_t bytes =
      2 * set_pieces * sizeof(Piece) + (counts * 4 + 255) / 256 * 256;

  std::byte* begin;

  __device__ Piece* set(unsigned number) const {
    return reinterpret_cast<Piece*>(begin) + number % 2 * set_pieces;
  }
  __device__ unsigned* count(int number) const {
    return reinterpret_cast<unsigned*>(begin + 2 * set_pieces * sizeof(Piece)) + number;
  }
  __device__ unsigned* count_of_strip(int side, int warp) const {
    return count(side * Shape::warps + warp);
  }
  __device__ unsigned* count_from(int tile) const { return count(2 * Shape::warps + tile); }
  static __device__ int strip(int side, int line) {
    return (side * Shape::most_lines + line) * strip_line;
  }
  static __device__ int row(int side, int line) {
    return rows_at + (side * Shape::most_depth + line) * row_line;
  }
};

/// What a block's warps look up in shared memory for each exchange. Tiles around it have numbers, by
/// rows, 4 its own.
template <class Shape>
struct TileMap {
  using Box = TileBox<Shape>;
  /// What goes to a tile of the next row of tiles: from which line on, and which it is of its block's.
  struct Rim {
    int first, first_there;
  };

  TileLines y;
  TileLanes x;
  int depth;
  int pad_of_right;  // of the tile to the right
  Rim rims[2];
  Box boxes[Box::sides];

  __device__ Box box(int below, int right) const { return boxes[(below + 1) * 3 + right + 1]; }
  __device__ bool has_neighbours() const { return y.above + y.below + x.left + x.right > 0; }
  __device__ bool has_beside(int side) const { return (side == 0 ? x.left : x.right) > 0; }
  /// Which of a warp's lines go to the tiles above (0) or below (1), or come from there.
  struct Range {
    int from, to;
    __device__ bool has(int line) const { return line >= from && line < to; }
    __device__ int count() const { return max(0, min(to, Shape::lines) - max(from, 0)); }
  };
  __device__ Range rim(int side) const {
    int const first = rims[side].first - warp_index() * Shape::lines;
    return {first, first + ((side == 0 ? y.above : y.below) > 0 ? depth : -Shape::most_lines)};
  }
  __device__ Range halo(int side) const {
    int const first = (side == 0 ? y.top : y.own_at() + y.own) - warp_index() * Shape::lines;
    return {first, first + ((side == 0 ? y.above : y.below) > 0 ? depth : -Shape::most_lines)};
  }

  /// Of one thread.
  __device__ void fill(DiffusionArguments<typename Shape::T> const& a, GridCut const& cut) {
    int const block = static_cast<int>(blockIdx.x);
    int const row = block / cut.columns, column = block - row * cut.columns;
    depth = cut.depth;
    y = lines_of<Shape>(a, cut, row);
    x = lanes_of<Shape>(a, cut, column);
    pad_of_right = lanes_of<Shape>(a, cut, around(column + 1, cut.columns)).pad;
    TileLines const there = lines_of<Shape>(a, cut, around(row - 1, cut.rows));
    rims[0] = {y.own_at(), there.own_at() + there.own};
    rims[1] = {y.own_at() + y.own - depth, lines_of<Shape>(a, cut, around(row + 1, cut.rows)).top};
    for (int below = -1; below <= 1; ++below)
      for (int right = -1; right <= 1; ++right) {
        int const other =
            around(row + below, cut.rows) * cut.columns + around(column + right, cut.columns);
        boxes[(below + 1) * 3 + right + 1] = {cut.memory +
                                              static_cast<std::size_t>(other) * Box::bytes};
      }
  }

 private:
  static __device__ int around(int i, int count) {
    return i < 0 ? i + count : i >= count ? i - count : i;
  }
};

/// Where things are in a block's shared memory.
template <class Shape>
struct TileMemory {
  using T = typename Shape::T;
  using Line = WarpLine<T, Shape::width>;
  using Box = TileBox<Shape>;
  using Piece = typename Box::Piece;
  static constexpr int border_set = 2 * Shape::warps * Line::bytes;
  static constexpr int derivatives_at = 2 * border_set;
  static constexpr int leaving_at = derivatives_at + 2 * Line::bytes;
  static constexpr int leaving_line = Box::strip_lanes + 1;  // lanes
  static constexpr int leaving_bytes = Shape::lines * leaving_line * Box::Lane::bytes;
  static constexpr int map_at = leaving_at + Shape::warps * leaving_bytes;
  static constexpr int ends_at = map_at + (static_cast<int>(sizeof(TileMap<Shape>)) + 15) / 16 * 16;
  static constexpr int bytes = ends_at + 2 * Shape::most_lines * static_cast<int>(sizeof(T));

  unsigned char* begin;

  /// The first or the last line of a warp, in one of two sets.
  __device__ unsigned char* border(int warp, int which) const {
    return begin + (2 * warp + which) * Line::bytes;
  }
  /// ∂u/∂n along a side normal to y.
  __device__ unsigned char* derivatives(int side) const {
    return begin + derivatives_at + side * Line::bytes;
  }
  /// Points of a warp on their way to lanes that begin elsewhere.
  __device__ Piece* leaving(int warp) const {
    return reinterpret_cast<Piece*>(begin + leaving_at + warp * leaving_bytes);
  }
  __device__ TileMap<Shape>& map() const {
    return *reinterpret_cast<TileMap<Shape>*>(begin + map_at);
  }
  /// ∂u/∂n at the end of a line.
  __device__ T* end_derivative(int side, int line) const {
    return reinterpret_cast<T*>(begin + ends_at) + side * Shape::most_lines + line;
  }
};

/// How a block trades the points around its tile. A warp stores what others need of its lines into their
/// boxes, and counts it there; and takes what it needs from its own box once all of it is counted. A
/// block writes what comes two exchanges later only after it has had the one between, which the block
/// beside sends after it has used the first, for at least two steps.
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

 public:
  __device__ explicit TileExchange(TileMemory<Shape> const& memory)
      : memory_(memory), map_(memory.map()) {}

  /// Before any block sends.
  __device__ void begin() const {
    for (int i = static_cast<int>(threadIdx.x); i < Box::counts; i += static_cast<int>(blockDim.x))
      *map_.box(0, 0).count(i) = 0;
  }

  /// `number` counts the exchanges, from 1 on.
  __device__ void trade(Points& u, unsigned number) const {
    send(u, number);
    __syncwarp();
    bool const has_tile = lane_index() < Box::sides && has(lane_index());
    if (has_tile) count(lane_index());
    __syncwarp();
    if (has_tile) await(lane_index(), number);
    __syncwarp();
    Piece const* const set = map_.box(0, 0).set(number);
    for (int side = 0; side < 2; ++side)
      if (map_.halo(side).count() > 0) take_rows(u, set, side, map_.halo(side));
    take_strips(u, set);
  }

 private:
  /// Whether there is a tile beside this one.
  __device__ bool has(int tile) const {
    int const row = tile / 3, column = tile % 3;
    return tile != Box::sides / 2 && (row == 1 || (row == 0 ? map_.y.above : map_.y.below) > 0) &&
           (column == 1 || map_.has_beside(column / 2));
  }
  /// Counts what the warp has sent to a tile.
  __device__ void count(int tile) const {
    Box const there = map_.boxes[tile];
    int const row = tile / 3;
    bool const is_beside = row == 1;
    int const lines_sent = is_beside ? 1 : map_.rim(row / 2).count();
    unsigned* const counted = is_beside ? there.count_of_strip(tile % 3 == 0 ? 1 : 0, warp_index())
                                        : there.count_from(Box::sides - 1 - tile);
    if (lines_sent > 0) add_sent(counted, static_cast<unsigned>(lines_sent));
  }
  /// Waits for what the warp needs of a tile.
  __device__ void await(int tile, unsigned number) const {
    Box const here = map_.box(0, 0);
    int const row = tile / 3;
    bool const is_beside = row == 1;
    if (!is_beside && map_.halo(row / 2).count() == 0) return;
    unsigned const* const counted = is_beside
                                        ? here.count_of_strip(tile % 3 == 0 ? 0 : 1, warp_index())
                                        : here.count_from(tile);
    unsigned const all = number * (is_beside ? 1 : static_cast<unsigned>(map_.depth));
    while (static_cast<int>(count_sent(counted) - all) < 0) continue;
  }

  __device__ void send(Points const& u, unsigned number) const {
    int const first = warp_index() * lines, own = map_.y.own_at() - first;
    for (int side = 0; side < 2; ++side)
      if (map_.has_beside(side))
        send_beside(u, side, map_.box(0, 2 * side - 1).set(number) + Box::strip(1 - side, first),
                    {own, own + map_.y.own});
    for (int side = 0; side < 2; ++side)
      if (map_.rim(side).count() > 0) send_rows(u, number, side, map_.rim(side));
  }

  /// Sends lines of the warp to the tile above or below, and what those beside it need of them.
  __device__ void send_rows(Points const& u, unsigned number, int side, Range const& rim) const {
    auto const& x = map_.x;
    int const below = 2 * side - 1, lane = lane_index();
    if (lane >= x.left && lane < x.end()) {
      Piece* const place =
          map_.box(below, 0).set(number) + Box::row(1 - side, 0) - rim.from * Box::row_line + lane;
#pragma unroll
      for (int l = 0; l < lines; ++l)
        if (rim.has(l)) Lane::store(place + l * Box::row_line, warp_size, u[l]);
    }
    for (int other = 0; other < 2; ++other)
      if (map_.has_beside(other))
        send_beside(u, other,
                    map_.box(below, 2 * other - 1).set(number) +
                        Box::strip(1 - other, map_.rims[side].first_there) -
                        rim.from * Box::strip_line,
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
    for (int i = lane_index(); i < lines * Box::strip_line; i += warp_size) {
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

  __device__ void take_rows(Points& u, Piece const* set, int side, Range const& halo) const {
    Piece const* const place = set + Box::row(side, 0) - halo.from * Box::row_line + lane_index();
#pragma unroll
    for (int l = 0; l < lines; ++l)
      if (halo.has(l)) Lane::load_sent(place + l * Box::row_line, warp_size, u[l]);
  }

  __device__ void take_strips(Points& u, Piece const* set) const {
    auto const& x = map_.x;
    int const lane = lane_index(), right = lane - x.end(), first = warp_index() * lines;
    bool const is_left = lane < x.left;
    Piece const* place =
        set + Box::strip(is_left ? 0 : 1, first) + (is_left ? lane : right) * Lane::pieces;
    if (is_left || (right >= 0 && right < x.right)) {
#pragma unroll
      for (int l = 0; l < lines; ++l) Lane::load_sent(place + l * Box::strip_line, 1, u[l]);
    }
    if (x.left == 0 || x.pad == 0 || lane != x.left) return;
    // Some points of this lane are beside the own ones.
    place = set + Box::strip(0, first) + lane * Lane::pieces;
#pragma unroll
    for (int l = 0; l < lines; ++l) {
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
