#pragma once

#include "kernels/stencil/resident_grid.cuh"

/// How blocks that each keep a tile of a plane in registers trade what lies around their tiles;
/// cuda_resident_grid.cu tells how they work.
namespace gridstride::stencil::resident {

/// Writes a parcel that another block awaits, of this GPU, or (`others`) maybe of another one.
template <bool others>
__device__ void put(Parcel* place, Parcel const& parcel) {
#ifdef __CUDA_ARCH__
  auto const [first, second, third] = parcel.at;
#define GRIDSTRIDE_PUT(scope)                                            \
  asm volatile(                                                          \
      "{.reg .b64 low, high;\n.reg .b128 all;\nmov.b64 low, {%1, %2};\n" \
      "mov.b64 high, {%3, %4};\nmov.b128 all, {low, high};\n"            \
      "st.relaxed." scope ".global.b128 [%0], all;}" ::"l"(place),       \
      "r"(first), "r"(second), "r"(third), "r"(parcel.number)            \
      : "memory")
  if constexpr (others)
    GRIDSTRIDE_PUT("sys");
  else
    GRIDSTRIDE_PUT("gpu");
#undef GRIDSTRIDE_PUT
#else
  *place = parcel;
#endif
}
template <bool others>
__device__ Parcel look(Parcel const* place) {
  Parcel parcel;
#ifdef __CUDA_ARCH__
  auto& [first, second, third] = parcel.at;
#define GRIDSTRIDE_LOOK(scope)                                      \
  asm volatile(                                                     \
      "{.reg .b64 low, high;\n.reg .b128 all;\n"                    \
      "ld.relaxed." scope                                           \
      ".global.b128 all, [%4];\nmov.b128 {low, high}, all;\n"       \
      "mov.b64 {%0, %1}, low;\nmov.b64 {%2, %3}, high;}"            \
      : "=r"(first), "=r"(second), "=r"(third), "=r"(parcel.number) \
      : "l"(place)                                                  \
      : "memory")
  if constexpr (others)
    GRIDSTRIDE_LOOK("sys");
  else
    GRIDSTRIDE_LOOK("gpu");
#undef GRIDSTRIDE_LOOK
#else
  parcel = *place;
#endif
  return parcel;
}

/// How a block trades the points around its tile. Warps put what others need of their lines into the
/// others' boxes, as parcels that tell of which exchange they are. All warps share the parcels in their
/// block's box, wait for each and leave it in shared memory for the warp that needs it. Where parcels of
/// strips go and come from is found once.
///
/// A block writes what comes two exchanges later only after it has had the one between, which the block
/// beside sends after it has used the first. The same holds of the exchanges with other GPUs, fewer than
/// the others; in those between, the tiles beside each other have each other's points also of the lines
/// that are another GPU's.
template <class Shape>
class TileExchange {
  using T = typename Shape::T;
  using Box = TileBox<Shape>;
  using Points = typename Shape::Points;
  using Memory = TileMemory<Shape>;
  using Map = TileMap<Shape>;
  using Range = typename Map::Range;
  static constexpr int width = Shape::width, lines = Shape::lines, halo_lanes = Shape::halo_lanes;
  static constexpr int words = Shape::words, words_of_point = words / width;
  /// A warp looks for so many rows at a time. Of small tiles, whose few warps have several each, one that was
  /// looked for after the other would come as much later.
  static constexpr int rows_at_once = Shape::shared || lines * words > 28 ? 1 : 3;
  static constexpr unsigned short none = 0xffff, mark = 0x8000;
  static_assert(Box::set_parcels < mark && Memory::passing_words < mark);

 public:
  __device__ explicit TileExchange(Memory const& memory) : memory_(memory), map_(memory.map()) {}

  /// Before the first exchange.
  __device__ void find_routes() const {
    for (int round = 0; round < Memory::rounds; ++round) {
      int const i = round * warp_size + lane_index();
      memory_.route(warp_index(), 0, round) = way_out(i);
      memory_.route(warp_index(), 1, round) = way_in(i);
    }
    WarpTrade& mine = memory_.trade(warp_index());
    if (lane_index() > 0) return;
    for (int side = 0; side < 2; ++side) {
      mine.has_rim[side] = map_.rim(side).count() > 0;
      mine.has_halo[side] = map_.halo(side).count() > 0;
      mine.rounds[side] = static_cast<unsigned char>(rounds(side == 1));
    }
  }
  /// Before any block sends; where GPUs share a plane exchanges are counted from kernel to kernel.
  __device__ void empty_box() const {
    Parcel* const place = map_.box(0, 0).set(0);
    for (int i = static_cast<int>(threadIdx.x); i < 2 * Box::set_parcels;
         i += static_cast<int>(blockDim.x))
      place[i].number = 0;
  }

  /// One that has a number, from 1 on, and where it is `with_others` another one of those with other
  /// GPUs.
  __device__ void trade(Points& u, Exchanges const& number, bool with_others) const {
    send(u, number, with_others);
    __syncwarp();
    receive(number, with_others);
    __syncthreads();
    take(u, with_others);
  }

 private:
  struct Words {
    unsigned at[words];
  };

  __device__ bool trades(int side, bool with_others) const {
    return with_others || !map_.is_across(side);
  }
  __device__ bool is_own(int lane) const { return lane >= map_.x.left && lane < map_.x.end(); }

  /// Of a line of a strip that goes left or right, or comes from there (`coming`): that between the last
  /// two columns has as many points more as the last one's lanes begin before its own.
  __device__ int parcels_of_line(int side, bool coming) const {
    int const pad = coming == (side == 0) ? (coming ? map_.x.pad : map_.pad_of_right) : 0;
    return map_.has_beside(side) ? parcels_of(halo_lanes * words + pad * words_of_point) : 0;
  }
  /// Of all of the warp's lines, in parts of a parcel for each lane.
  __device__ int rounds(bool coming) const {
    int const parts = lines * (parcels_of_line(0, coming) + parcels_of_line(1, coming));
    return (parts + warp_size - 1) / warp_size;
  }

  /// A part of the warp's strips.
  struct Part {
    int side, line, number;  // of a line's parcels
    bool exists;
  };
  __device__ Part part(int i, bool coming) const {
    int const left = lines * parcels_of_line(0, coming), side = i < left ? 0 : 1;
    int const count = max(parcels_of_line(side, coming), 1), of_side = side == 0 ? i : i - left;
    int const line = of_side / count, of_tile = warp_index() * lines + line;
    return {
        side, line, of_side - line * count,
        map_.has_beside(side) && line < lines && of_tile >= map_.y.top && of_tile < map_.y.end()};
  }
  static __device__ unsigned short place(int strip, Part const& part) {
    return static_cast<unsigned short>(strip + part.number);
  }

  /// Where a parcel goes: left or right, and to the tiles above and below there; and which words these
  /// are. Lines of another GPU go only where that does not send them.
  __device__ ushort4 way_out(int i) const {
    Part const one = part(i, false);
    ushort4 way = {none, none, none, 0};
    if (!one.exists) return way;
    auto const& y = map_.y;
    int const side = one.side, of_tile = warp_index() * lines + one.line;
    bool const is_own_line = of_tile >= y.own_at() && of_tile < y.own_at() + y.own;
    bool const is_across = !is_own_line && map_.is_across(of_tile < y.own_at() ? 0 : 1);
    if (is_own_line || is_across)
      way.x = place(Box::strip(1 - side, of_tile), one) | (is_own_line ? 0 : mark);
    for (int above = 0; above < 2; ++above) {
      Range const rim = map_.rim(above);
      if (!rim.has(one.line)) continue;
      int const line = one.line - rim.from;
      (above == 0 ? way.y : way.z) =
          place(map_.is_across(above) ? Box::corner(1 - above, 1 - side, line)
                                      : Box::strip(1 - side, map_.first_there[above] + line),
                one);
    }
    int const shift = side == 0 ? map_.x.pad : width - map_.pad_of_right;
    way.w = static_cast<unsigned short>((side * lines + one.line) * Memory::passing_line +
                                        shift * words_of_point + one.number * Parcel::words) |
            (side == 0 ? 0 : mark);
    return way;
  }
  /// Where one comes, another place where another GPU has sent it, and where it is left.
  __device__ ushort4 way_in(int i) const {
    Part const one = part(i, true);
    ushort4 way = {none, none, 0, 0};
    if (!one.exists) return way;
    way.x = place(Box::strip(one.side, warp_index() * lines + one.line), one);
    for (int above = 0; above < 2; ++above) {
      Range const halo = map_.halo(above);
      if (map_.is_across(above) && halo.has(one.line))
        way.y = place(Box::corner(above, one.side, one.line - halo.from), one);
    }
    way.z = static_cast<unsigned short>((one.side * lines + one.line) * Memory::passing_line +
                                        one.number * Parcel::words);
    return way;
  }

  /// First what has the longest way.
  __device__ void send(Points const& u, Exchanges const& number, bool with_others) const {
    if constexpr (Shape::shared)
      if (with_others) send_rows(u, number.across, true);
    stage(u);
    __syncwarp();
    int const last = memory_.trade(warp_anew()).rounds[0];
    unsigned const* const words_here = memory_.passing(warp_anew(), 0);
#pragma unroll 1
    for (int round = 0; round < last; ++round) {
      ushort4 const way = memory_.route(warp_anew(), 0, round);
      bool const to_right = (way.w & mark) != 0;
      unsigned const* const from = words_here + (way.w & ~mark);
      Parcel parcel = {{from[0], from[1], from[2]}, number.all};
      int const column = to_right ? 1 : -1;
      if (way.x != none && !(with_others && (way.x & mark) != 0))
        put<Shape::shared>(map_.box(0, column).set(number.all) + (way.x & ~mark), parcel);
      for (int side = 0; side < 2; ++side) {
        unsigned short const to = side == 0 ? way.y : way.z;
        if (to == none || !trades(side, with_others)) continue;
        parcel.number = map_.is_across(side) ? number.across : number.all;
        put<Shape::shared>(map_.box(2 * side - 1, column).set(parcel.number) + to, parcel);
      }
    }
    send_rows(u, number.all, false);
  }

  /// Sends lines of the warp to the tiles above and below that are another GPU's, or this one's.
  __device__ void send_rows(Points const& u, unsigned number, bool across) const {
    int const lane = lane_anew();
    if (!is_own(lane)) return;
    WarpTrade const mine = memory_.trade(warp_anew());
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
      if (!mine.has_rim[side] || map_.is_across(side) != across) continue;
      Range const rim = map_.rim(side);
      Parcel* const place =
          map_.box(2 * side - 1, 0).set(number) + Box::row(1 - side, -rim.from) + lane;
#pragma unroll
      for (int l = 0; l < lines; ++l)
        if (rim.has(l)) send_lane(place + l * Box::row_line, u[l], number);
    }
  }
  /// Words that are left over have the number, too.
  static __device__ void send_lane(Parcel* place, T const (&u)[width], unsigned number) {
    struct {
      T at[width];
    } points;
#pragma unroll
    for (int e = 0; e < width; ++e) points.at[e] = u[e];
    auto const all = __builtin_bit_cast(Words, points);
#pragma unroll
    for (int p = 0; p < Box::row_parcels; ++p) {
      Parcel parcel = {{number, number, number}, number};
#pragma unroll
      for (int w = 0; w < Parcel::words; ++w)
        if (p * Parcel::words + w < words) parcel.at[w] = all.at[p * Parcel::words + w];
      put<Shape::shared>(place + p * warp_size, parcel);
    }
  }

  /// Puts the outermost lanes on both sides where the warp's other lanes find them.
  __device__ void stage(Points const& u) const {
    auto const& x = map_.x;
    int const lane = lane_anew(), right = x.end() - Box::strip_lanes;
    bool const at_once = right >= x.left + Box::strip_lanes;  // no lane is on both sides
#pragma unroll 1
    for (int turn = at_once ? 1 : 0; turn < 2; ++turn) {
      int const side = at_once ? (lane < right ? 0 : 1) : turn;
      int const at = lane - (side == 0 ? x.left : right);
      if (at < 0 || at >= Box::strip_lanes) continue;
#pragma unroll
      for (int l = 0; l < lines; ++l) Memory::Line::Lane::store(passing(side, at, l), 1, u[l]);
    }
  }
  __device__ auto* passing(int side, int lane, int line) const {
    return reinterpret_cast<typename Memory::Line::Piece*>(
        memory_.passing(warp_anew(), side) + line * Memory::passing_line + lane * words);
  }

  /// Waits for what comes to the block, each warp for its own strips and for some of the rows.
  __device__ void receive(Exchanges const& number, bool with_others) const {
    constexpr int of_strips = 2, of_row = Box::row_parcels, all = of_strips + rows_at_once * of_row;
    Box const here = map_.box(0, 0);
    int const above = trades(0, with_others) ? map_.y.above : 0;
    int const all_rows = above + (trades(1, with_others) ? map_.y.below : 0);
    int const warps = static_cast<int>(blockDim.x) / warp_size, lane = lane_anew();
    int const last = memory_.trade(warp_anew()).rounds[1];
#pragma unroll 1
    for (int round = 0, first = warp_anew(); round < last || first < all_rows;
         round += of_strips, first += rows_at_once * warps) {
      Parcel const* places[all];
      unsigned awaited[all];
      bool exists[all];
      unsigned short to[of_strips];
#pragma unroll
      for (int k = 0; k < of_strips; ++k) {
        ushort4 way = {none, none, 0, 0};
        if (round + k < last) way = memory_.route(warp_anew(), 1, round + k);
        bool const across = Shape::shared && with_others && way.y != none;
        exists[k] = way.x != none;
        awaited[k] = across ? number.across : number.all;
        places[k] = here.set(awaited[k]) + (exists[k] ? (across ? way.y : way.x) : 0);
        to[k] = way.z;
      }
#pragma unroll
      for (int k = of_strips; k < all; ++k) {
        int const row = first + (k - of_strips) / of_row * warps, part = (k - of_strips) % of_row;
        int const side = row < above ? 0 : 1, line = side == 0 ? row : row - above;
        awaited[k] = map_.is_across(side) ? number.across : number.all;
        exists[k] = row < all_rows && is_own(lane);
        places[k] =
            here.set(awaited[k]) + (exists[k] ? Box::row(side, line) + part * warp_size + lane : 0);
      }
      Parcel parcels[all] = {};
      bool lacks = true;
      while (lacks) {
#pragma unroll
        for (int k = 0; k < all; ++k)
          if (k < of_strips + of_row || first + (k - of_strips) / of_row * warps < all_rows)
            parcels[k] = look<Shape::shared>(places[k]);
        lacks = false;
#pragma unroll
        for (int k = 0; k < all; ++k)
          lacks = lacks || (exists[k] && parcels[k].number != awaited[k]);
          // A load of which not all words are used would be made in parts, at different times.
#pragma unroll
        for (int k = of_strips + of_row - 1; k < all; k += of_row)
#pragma unroll
          for (int w = words - (of_row - 1) * Parcel::words; w < Parcel::words; ++w)
            lacks = lacks || (exists[k] && parcels[k].at[w] != awaited[k]);
      }
#pragma unroll
      for (int k = 0; k < of_strips; ++k) {
        unsigned* const place = memory_.passing(warp_anew(), 0) + to[k];
#pragma unroll
        for (int w = 0; w < Parcel::words; ++w)
          if (exists[k]) place[w] = parcels[k].at[w];
      }
#pragma unroll
      for (int k = of_strips; k < all; k += of_row) {
        int const row = first + (k - of_strips) / of_row * warps, side = row < above ? 0 : 1;
        if (exists[k]) leave_row(memory_.arrived(side, side == 0 ? row : row - above), parcels + k);
      }
    }
  }
  __device__ void leave_row(unsigned char* line, Parcel const* parcels) const {
    Words all;
#pragma unroll
    for (int w = 0; w < words; ++w) all.at[w] = parcels[w / Parcel::words].at[w % Parcel::words];
    struct Points {
      T at[width];
    };
    Memory::Line::store(line, __builtin_bit_cast(Points, all).at);
  }

  /// What the block has received of the warp's lines.
  __device__ void take(Points& u, bool with_others) const {
    auto const& x = map_.x;
    WarpTrade const mine = memory_.trade(warp_anew());
    int const lane = lane_anew();
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
      if (!mine.has_halo[side] || !trades(side, with_others) || !is_own(lane)) continue;
      Range const halo = map_.halo(side);
#pragma unroll
      for (int l = 0; l < lines; ++l)
        if (halo.has(l)) Memory::Line::load(memory_.arrived(side, l - halo.from), u[l]);
    }
    int const beyond = lane - x.end();
    bool const is_left = lane < x.left;
    if (is_left || (beyond >= 0 && beyond < x.right)) {
#pragma unroll
      for (int l = 0; l < lines; ++l)
        Memory::Line::Lane::load(passing(is_left ? 0 : 1, is_left ? lane : beyond, l), 1, u[l]);
    }
    if (x.left == 0 || x.pad == 0 || lane != x.left) return;
      // Some points of this lane are beside the own ones.
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      T points[width];
      Memory::Line::Lane::load(passing(0, lane, l), 1, points);
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (e < x.pad) u[l][e] = points[e];
    }
  }

  Memory memory_;
  Map const& map_;
};

}  // namespace gridstride::stencil::resident
