#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/stencil/resident.cuh"

/// How a plane is cut into tiles that blocks keep in registers; cuda_resident_grid.cu tells how they
/// work.
namespace gridstride::stencil::resident {

/// A way to lay out a tile: a lane has `width` points of each of the `lines` lines of its warp, of
/// which a block has up to `warps`. Points of `halo_lanes` lanes lie beyond the own ones on a side.
/// Planes that are `shared` go on in other GPUs.
template <class Value, int width_, int lines_, int warps_, int halo_lanes_, bool shared_>
struct TileShape {
  using T = Value;
  static constexpr int width = width_, lines = lines_, warps = warps_, halo_lanes = halo_lanes_;
  static constexpr bool shared = shared_;
  static constexpr int most_lines = lines * warps;
  static constexpr int most_depth = halo_lanes * width;
  /// Lines beyond a tile's own.
  static constexpr int most_halo = shared ? most_across * most_depth : most_depth;
  using Points = T[lines][width];
  /// Of 4 bytes, that a lane has of a line.
  static constexpr int words = width * static_cast<int>(sizeof(T)) / 4;
  static_assert(lines > 1 && width > 1);
};

/// The lane and the warp, such that what follows from them is found anew for each exchange: steps need
/// the registers.
__device__ inline int anew(int number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(number));
#endif
  return number;
}
__device__ inline int lane_anew() { return anew(lane_index()); }
__device__ inline int warp_anew() { return anew(warp_index()); }

/// The exchanges that a kernel makes are counted: all of them, and those with other GPUs.
struct Exchanges {
  unsigned all, across;
};

/// What a kernel is to make of which tiles.
struct GridWork {
  TileCut cut;
  int steps;
  int above, below;      // lines beyond its own that the first, and the last row of tiles has
  std::byte* memory;     // for what blocks exchange
  std::byte* beside[2];  // of the GPUs with the lines above and below; that of this one without any
  Exchanges before;      // this kernel
};

/// A tile's lines: its own, and those above and below that it computes as well. Number `top` of the
/// block's is the first; at the grid's upper end the last of the block's is the last.
struct TileLines {
  int top, above, own, below;
  int first;  // of the GPU's lines, that is number 0 of the block

  __device__ int own_at() const { return top + above; }
  __device__ int end() const { return top + above + own + below; }
};

/// The first of the GPU's lines that a row of tiles has for its own. Tiles beside another GPU have
/// `less` than the others.
__device__ inline int first_line(GridWork const& work, long long lines, int row) {
  TileCut const& cut = work.cut;
  int const less_above = work.above > 0 ? cut.less : 0, less_below = work.below > 0 ? cut.less : 0;
  if (row == 0) return 0;
  if (row == cut.rows) return static_cast<int>(lines);
  return static_cast<int>((lines + less_above + less_below) * row / cut.rows) - less_above;
}

template <class Shape>
__device__ TileLines lines_of(DiffusionArguments<typename Shape::T> const& a, GridWork const& work,
                              int row) {
  TileCut const& cut = work.cut;
  int const first = first_line(work, a.points[1], row);
  TileLines y;
  y.above = row > 0 ? cut.depth : work.above;
  y.below = row + 1 < cut.rows ? cut.depth : work.below;
  y.own = first_line(work, a.points[1], row + 1) - first;
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
__device__ TileLanes lanes_of(DiffusionArguments<typename Shape::T> const& a, TileCut const& cut,
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

/// What goes from block to block: points, and the number of the exchange that they are of, which come at
/// once.
struct alignas(16) Parcel {
  static constexpr int words = 3;
  unsigned at[words], number;
};
constexpr int parcels_of(int words) { return (words + Parcel::words - 1) / Parcel::words; }

/// Where a block finds what comes to its tile, in two sets, which alternate: strips, the points left
/// and right of all its lines; and rows, the lines above and below. What is left and right of another
/// GPU's lines comes less often, so that it has a place of its own.
template <class Shape>
struct TileBox {
  /// Of a strip: one lane more where the own points do not begin with one.
  static constexpr int strip_lanes = Shape::halo_lanes + 1;
  static constexpr int strip_words = strip_lanes * Shape::words;
  static constexpr int strip_line = parcels_of(strip_words);
  /// Of a line to the left and to the right, of which one may have a lane more.
  static constexpr int most_parts = strip_line + parcels_of(Shape::halo_lanes * Shape::words);
  static constexpr int row_parcels = parcels_of(Shape::words);  // of a lane
  static constexpr int row_line = warp_size * row_parcels;
  static constexpr int rows_at = 2 * Shape::most_lines * strip_line;
  static constexpr int corners_at = rows_at + 2 * Shape::most_halo * row_line;
  static constexpr int corners = Shape::shared ? 4 * Shape::most_halo * strip_line : 0;
  static constexpr int set_parcels = corners_at + corners;
  static constexpr int tiles = 9;  // by rows: those around, and the block's own
  static constexpr std::size_t bytes = (2 * set_parcels * sizeof(Parcel) + 255) / 256 * 256;

  std::byte* begin;

  __device__ Parcel* set(unsigned number) const {
    return reinterpret_cast<Parcel*>(begin) + number % 2 * set_parcels;
  }
  static __device__ int strip(int side, int line) {
    return (side * Shape::most_lines + line) * strip_line;
  }
  static __device__ int row(int side, int line) {
    return rows_at + (side * Shape::most_halo + line) * row_line;
  }
  /// Left (0) or right (1) of another GPU's lines on a side.
  static __device__ int corner(int side, int other, int line) {
    return corners_at + ((2 * side + other) * Shape::most_halo + line) * strip_line;
  }
};

/// What a block's warps look up in shared memory for each exchange.
template <class Shape>
struct TileMap {
  using Box = TileBox<Shape>;

  TileLines y;
  TileLanes x;
  int pad_of_right;    // of the tile to the right
  int first_there[2];  // which of its lines a tile above or below has first of this one's
  bool has_across[2];  // whether the tiles above and below are another GPU's
  Box boxes[Box::tiles];

  __device__ Box box(int below, int right) const { return boxes[(below + 1) * 3 + right + 1]; }
  __device__ bool has_neighbours() const { return y.above + y.below + x.left + x.right > 0; }
  __device__ bool has_beside(int side) const { return (side == 0 ? x.left : x.right) > 0; }
  __device__ int halo_lines(int side) const { return side == 0 ? y.above : y.below; }
  __device__ bool is_across(int side) const { return Shape::shared && has_across[side]; }
  /// Which of a warp's lines go to the tiles above (0) or below (1), or come from there.
  struct Range {
    int from, to;
    __device__ bool has(int line) const { return line >= from && line < to; }
    __device__ int count() const { return max(0, min(to, Shape::lines) - max(from, 0)); }
  };
  __device__ Range rim(int side) const {
    return of_warp(side, side == 0 ? y.own_at() : y.own_at() + y.own - y.below);
  }
  __device__ Range halo(int side) const {
    return of_warp(side, side == 0 ? y.top : y.own_at() + y.own);
  }

  /// Of one thread.
  __device__ void fill(DiffusionArguments<typename Shape::T> const& a, GridWork const& work) {
    TileCut const& cut = work.cut;
    int const block = static_cast<int>(blockIdx.x);
    int const row = block / cut.columns, column = block - row * cut.columns;
    y = lines_of<Shape>(a, work, row);
    x = lanes_of<Shape>(a, cut, column);
    pad_of_right = lanes_of<Shape>(a, cut, around(column + 1, cut.columns)).pad;
    TileLines const there = lines_of<Shape>(a, work, around(row - 1, cut.rows));
    first_there[0] = there.own_at() + there.own;
    first_there[1] = lines_of<Shape>(a, work, around(row + 1, cut.rows)).top;
    has_across[0] = row == 0 && y.above > 0;
    has_across[1] = row + 1 == cut.rows && y.below > 0;
    for (int below = -1; below <= 1; ++below) {
      std::byte* const memory = row + below < 0          ? work.beside[0]
                                : row + below < cut.rows ? work.memory
                                                         : work.beside[1];
      for (int right = -1; right <= 1; ++right) {
        int const other =
            around(row + below, cut.rows) * cut.columns + around(column + right, cut.columns);
        boxes[(below + 1) * 3 + right + 1] = {memory +
                                              static_cast<std::size_t>(other) * Box::bytes};
      }
    }
  }

 private:
  __device__ Range of_warp(int side, int line) const {
    int const first = line - warp_anew() * Shape::lines;
    return {first, first + (halo_lines(side) > 0 ? halo_lines(side) : -Shape::most_lines)};
  }
  static __device__ int around(int i, int count) {
    return i < 0 ? i + count : i >= count ? i - count : i;
  }
};

/// What a warp has to do with exchanges, by sides: those above and below; and how many parcels a lane has
/// of strips that go, and that come.
struct WarpTrade {
  bool has_rim[2], has_halo[2];
  unsigned char rounds[2];
};

/// Where things are in a block's shared memory.
template <class Shape>
struct TileMemory {
  using T = typename Shape::T;
  using Line = WarpLine<T, Shape::width>;
  using Box = TileBox<Shape>;
  static constexpr int border_set = 2 * Shape::warps * Line::bytes;
  static constexpr int derivatives_at = 2 * border_set;
  static constexpr int arrived_at = derivatives_at + 2 * Line::bytes;
  static constexpr int passing_at = arrived_at + 2 * Shape::most_halo * Line::bytes;
  /// Of what goes left and right; parcels may go beyond the end of a line.
  static constexpr int passing_line = (Box::strip_words + Parcel::words + 2) / 4 * 4;  // words
  static constexpr int passing_words = 2 * Shape::lines * passing_line;
  static constexpr int routes_at = passing_at + Shape::warps * passing_words * 4;
  /// Of a warp's parcels, one for each lane.
  static constexpr int rounds = (Shape::lines * Box::most_parts + warp_size - 1) / warp_size;
  static constexpr int routes_of_warp = 2 * rounds * warp_size;
  static constexpr int trades_at =
      routes_at + Shape::warps * routes_of_warp * static_cast<int>(sizeof(ushort4));
  static constexpr int map_at =
      trades_at + (Shape::warps * static_cast<int>(sizeof(WarpTrade)) + 15) / 16 * 16;
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
  /// A line that has come from above or below.
  __device__ unsigned char* arrived(int side, int line) const {
    return begin + arrived_at + (side * Shape::most_halo + line) * Line::bytes;
  }
  /// What a warp sends left (0) or right (1), or has got from there, of its lines.
  __device__ unsigned* passing(int warp, int side) const {
    return reinterpret_cast<unsigned*>(begin + passing_at) +
           (2 * warp + side) * (passing_words / 2);
  }
  /// What a lane is to do with a parcel of the warp's strips that goes (0) or comes (1).
  __device__ ushort4& route(int warp, int coming, int round) const {
    return reinterpret_cast<ushort4*>(
        begin +
        routes_at)[warp * routes_of_warp + (coming * rounds + round) * warp_size + lane_index()];
  }
  __device__ WarpTrade& trade(int warp) const {
    return reinterpret_cast<WarpTrade*>(begin + trades_at)[warp];
  }
  __device__ TileMap<Shape>& map() const {
    return *reinterpret_cast<TileMap<Shape>*>(begin + map_at);
  }
  /// ∂u/∂n at the end of a line.
  __device__ T* end_derivative(int side, int line) const {
    return reinterpret_cast<T*>(begin + ends_at) + side * Shape::most_lines + line;
  }
};

}  // namespace gridstride::stencil::resident
