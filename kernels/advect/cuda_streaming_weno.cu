// The rung `streaming` of the ladder in cuda.cu for `weno5`: see there for what it follows.
//
// Thread-to-data: a warp owns a strip of columns along x and walks along y (or z), a row at a time.
// Of the rows behind, a thread keeps what the next faces need: second differences, what
// stencils vary by, and the last flux. Along x the lanes exchange the same by shuffle: the values
// beside, the stencils beside, and the flux at the lower face. So a value is loaded once and each
// stencil and each flux is computed once, but for the lanes at a warp's ends (1 of 16 with vectors
// of four). The next row is on its way while one is computed.
//
// Where the velocity is constant, the axes are walked in the direction of the flow, mirrored where
// it is negative, so that one code serves both. In 3D planes of constant z come first, and a second
// pass along z adds to the result.
//
// Instructions (float32, constant velocity, 2D): about 115 a point, of which 76 are arithmetic and
// 9 reciprocals; they, and not the 8 or 12 bytes, decide the time.

#include <cuda_runtime_api.h>

#include <utility>

#include "kernels/advect/march.cuh"

namespace gridstride::advect {

namespace {

constexpr int reach = reach_of<Scheme::weno5>;
constexpr int block_warps = 4;

/// Points of a row that a thread takes. More of them leave fewer lanes to the halo, until registers
/// run out; measured on an H200 at 8192² points.
template <bool variable, class T>
constexpr int vector_columns = variable ? 16 / static_cast<int>(sizeof(T)) : 4;

/// Rows of a march, on a grid that fills the GPU.
constexpr int longest_march = 48;

/// The pass of a launch: which axis is walked, which one the marches lie beside each other on, and
/// whether the changes along x belong to it.
struct Pass {
  int walked, beside;
  bool first;
};

// ------------------------------------------------------------------------------------- along x

/// The points of a row with the one before and the one after it, which the lanes beside have.
template <int width, class T>
struct Line {
  T at[width + 2];

  __device__ explicit Line(Columns<T, width> const& u) {
    at[0] = __shfl_up_sync(whole_warp, u.at[width - 1], 1);
    at[width + 1] = __shfl_down_sync(whole_warp, u.at[0], 1);
#pragma unroll
    for (int e = 0; e < width; ++e) at[e + 1] = u.at[e];
  }
};

/// The difference of the faces of each point along x, the flow going with the lanes.
template <int width, class T>
__device__ Columns<T, width> difference_across(Columns<T, width> const& u) {
  Line<width, T> const line(u);
  Stencil<T> at[width + 2];
#pragma unroll
  for (int e = 1; e <= width; ++e) at[e] = Stencil<T>(line.at[e - 1], line.at[e], line.at[e + 1]);
  at[0].second = __shfl_up_sync(whole_warp, at[width].second, 1);
  at[0].before = __shfl_up_sync(whole_warp, at[width].before, 1);
  at[width + 1].second = __shfl_down_sync(whole_warp, at[1].second, 1);
  at[width + 1].beyond = __shfl_down_sync(whole_warp, at[1].beyond, 1);
  T face[width + 1];  // the upper one of each point, after that of the point before
#pragma unroll
  for (int e = 1; e <= width; ++e)
    face[e] = weno_face(line.at[e], line.at[e + 1], at[e - 1], at[e], at[e + 1]);
  face[0] = __shfl_up_sync(whole_warp, face[width], 1);
  Columns<T, width> difference;
#pragma unroll
  for (int e = 0; e < width; ++e) difference.at[e] = face[e] - face[e + 1];
  return difference;
}

/// The same, the flow going against the lanes.
template <int width, class T>
__device__ Columns<T, width> difference_across_down(Columns<T, width> const& u) {
  Line<width, T> const line(u);
  Stencil<T> at[width + 2];
#pragma unroll
  for (int e = 1; e <= width; ++e) at[e] = Stencil<T>(line.at[e + 1], line.at[e], line.at[e - 1]);
  at[0].second = __shfl_up_sync(whole_warp, at[width].second, 1);
  at[0].beyond = __shfl_up_sync(whole_warp, at[width].beyond, 1);
  at[width + 1].second = __shfl_down_sync(whole_warp, at[1].second, 1);
  at[width + 1].before = __shfl_down_sync(whole_warp, at[1].before, 1);
  T face[width + 1];  // the lower one of each point, and that of the point after
#pragma unroll
  for (int e = 1; e <= width; ++e)
    face[e - 1] = weno_face(line.at[e], line.at[e - 1], at[e + 1], at[e], at[e - 1]);
  face[width] = __shfl_down_sync(whole_warp, face[0], 1);
  Columns<T, width> difference;
#pragma unroll
  for (int e = 0; e < width; ++e) difference.at[e] = face[e] - face[e + 1];
  return difference;
}

// ------------------------------------------------------------------------- along the walked axis

/// A column's queue along the flow: row 0 is the one whose change is next, row −1 the one before.
template <class T>
struct Queue {
  T here, next;               // rows 0 and 1
  Stencil<T> before, around;  // of rows −1 and 0
  T lower;                    // the face between rows −1 and 0

  /// Rows −3 to 1.
  __device__ void start(T const (&rows)[5]) {
    here = rows[3];
    next = rows[4];
    Stencil<T> const first(rows[0], rows[1], rows[2]);
    before = Stencil<T>(rows[1], rows[2], rows[3]);
    around = Stencil<T>(rows[2], rows[3], rows[4]);
    lower = weno_face(rows[2], here, first, before, around);
  }
  /// The difference of row 0's faces, given row 2; row 1 comes next.
  __device__ T pass(T after) {
    Stencil<T> const beyond(here, next, after);
    T const upper = weno_face(here, next, before, around, beyond);
    T const difference = lower - upper;
    here = next;
    next = after;
    before = around;
    around = beyond;
    lower = upper;
    return difference;
  }
};

/// The same for a flow against the march: rows 1 and 2 are ahead, and row 3 is given.
template <class T>
struct QueueDown {
  T next, after;              // rows 1 and 2
  Stencil<T> beyond, around;  // of rows 0 and 1
  T lower;

  /// Rows −2 to 2.
  __device__ void start(T const (&rows)[5]) {
    next = rows[3];
    after = rows[4];
    Stencil<T> const last(rows[2], rows[1], rows[0]);
    beyond = Stencil<T>(rows[3], rows[2], rows[1]);
    around = Stencil<T>(rows[4], rows[3], rows[2]);
    lower = weno_face(rows[2], rows[1], around, beyond, last);
  }
  __device__ T pass(T third, T here) {
    Stencil<T> const before(third, after, next);
    T const upper = weno_face(next, here, before, around, beyond);
    T const difference = lower - upper;
    next = after;
    after = third;
    beyond = around;
    around = before;
    lower = upper;
    return difference;
  }
};

// ----------------------------------------------------------------------------------- the kernels

/// Of y or z.
template <class T>
__device__ long long stride_of(AdvectionArguments<T> const& a, int axis) {
  return axis == 1 ? a.points[0] : a.points[0] * a.points[1];
}

/// Where a warp works.
template <class T>
struct March {
  unsigned x_tile;
  long long beside;       // place on the axis beside
  long long first, last;  // rows
  bool exists;

  __device__ March(AdvectionArguments<T> const& a, Pass const& pass, Work const& work) {
    unsigned const warp = blockIdx.x * block_warps + static_cast<unsigned>(warp_index());
    x_tile = warp % work.x_tiles;
    Range const rows(a, pass.walked, reach), others(a, pass.beside, reach);
    auto const others_size = static_cast<unsigned>(others.size());
    beside = others.first + warp / work.x_tiles % others_size;
    first = rows.first + static_cast<long long>(warp / work.x_tiles / others_size) * work.length;
    last = first + work.length < rows.last ? first + work.length : rows.last;
    exists = first < last;
  }
};

/// What the changes of a pass are added to: the step's base, in a second pass the first one's
/// result.
template <class T>
struct Base {
  T const* values;  // null: the old values
  T weight;         // of the old values' difference from them

  __device__ Base(AdvectionArguments<T> const& a, Pass const& pass)
      : values(pass.first ? a.base : a.out), weight(pass.first ? a.in_weight : T(0)) {}

  template <int width, bool mirrored = false>
  __device__ Columns<T, width> load(long long offset, Columns<T, width> const& u) const {
    return values ? load_columns<width, mirrored>(values + offset) : u;
  }
  template <int width>
  __device__ Columns<T, width> finish(Columns<T, width> const& old, Columns<T, width> const& u,
                                      Columns<T, width> const& change) const {
    Columns<T, width> result;
#pragma unroll
    for (int e = 0; e < width; ++e)
      result.at[e] = old.at[e] + multiply_add(weight, u.at[e] - old.at[e], change.at[e]);
    return result;
  }
};

template <bool across, bool mirrored, int width, class T>
__global__ void __launch_bounds__(block_warps* warp_size)
    constant_kernel(__grid_constant__ AdvectionArguments<T> const a,
                    __grid_constant__ Pass const pass, __grid_constant__ Work const work) {
  constexpr int halo = across ? (reach + width - 1) / width : 0;
  March<T> const march(a, pass, work);
  if (!march.exists) return;  // the whole warp
  Place<width, mirrored> const place(a, march.x_tile, halo, reach);
  long long const rows = a.points[pass.walked], stride = stride_of(a, pass.walked);
  T const c = a.weight[pass.walked];
  // With the flow: from the last row to the first where it is negative.
  bool const down = c < 0;
  long long const step = down ? -stride : stride;
  long long const origin =
      march.beside * stride_of(a, pass.beside) + (down ? (rows - 1) * stride : 0);
  T const* const in = a.in + origin + place.column;
  Base<T> const base(a, pass);

  Walk ahead(march.first - reach, rows, step);
  auto const next_row = [&] {
    auto const row = load_columns<width, mirrored>(in + ahead.offset);
    ahead.advance();
    return row;
  };
  Queue<T> queue[width];
  {
    Columns<T, width> row[5];
#pragma unroll
    for (auto& one : row) one = next_row();
#pragma unroll
    for (int e = 0; e < width; ++e)
      queue[e].start({row[0].at[e], row[1].at[e], row[2].at[e], row[3].at[e], row[4].at[e]});
  }
  Columns<T, width> coming = next_row();
  T const across_c = mirrored ? -a.weight[0] : a.weight[0];
  long long offset = origin + march.first * step;
  for (auto left = static_cast<int>(march.last - march.first); left > 0; --left) {
    Columns<T, width> const after = coming;
    coming = next_row();
    Columns<T, width> u, change{};
#pragma unroll
    for (int e = 0; e < width; ++e) u.at[e] = queue[e].here;
    auto const old = base.template load<width, mirrored>(offset + place.column, u);
    if constexpr (across) change = difference_across(u);
#pragma unroll
    for (int e = 0; e < width; ++e)
      change.at[e] = multiply_add(down ? -c : c, queue[e].pass(after.at[e]),
                                  across ? across_c * change.at[e] : T(0));
    place.store(a.out + offset, base.finish(old, u, change));
    offset += step;
  }
}

/// What a step changes along x where a velocity is a field.
template <int width, class T>
__device__ Columns<T, width> variable_change_across(AdvectionArguments<T> const& a,
                                                    long long offset, Columns<T, width> const& u) {
  Columns<T, width> up, down, c{};
  if (a.velocity[0]) c = load_columns<width>(a.velocity[0] + offset);
#pragma unroll
  for (int e = 0; e < width; ++e) {
    T const courant_number = a.velocity[0] ? a.weight[0] * c.at[e] : a.weight[0];
    up.at[e] = part_up(courant_number, a.spread[0], u.at[e]);
    down.at[e] = part_down(courant_number, a.spread[0], u.at[e]);
  }
  auto change = difference_across(up);
  auto const against = difference_across_down(down);
#pragma unroll
  for (int e = 0; e < width; ++e) change.at[e] += against.at[e];
  return change;
}

/// A row of u and of the flux that goes up the walked axis.
template <class T, int width>
struct FluxRow {
  Columns<T, width> u, up;
};

template <bool across, int width, class T>
__global__ void __launch_bounds__(block_warps* warp_size)
    variable_kernel(__grid_constant__ AdvectionArguments<T> const a,
                    __grid_constant__ Pass const pass, __grid_constant__ Work const work) {
  constexpr int halo = across ? (reach + width - 1) / width : 0;
  March<T> const march(a, pass, work);
  if (!march.exists) return;  // the whole warp
  Place<width, false> const place(a, march.x_tile, halo, reach);
  long long const origin = march.beside * stride_of(a, pass.beside);
  long long const stride = stride_of(a, pass.walked);
  T const spread = a.spread[pass.walked];
  Base<T> const base(a, pass);

  Walk ahead(march.first - reach, a.points[pass.walked], stride);
  auto const next_row = [&] {
    FluxRow<T, width> row;
    long long const offset = origin + ahead.offset + place.column;
    row.u = load_columns<width>(a.in + offset);
    row.up = {};
    if (a.velocity[pass.walked]) row.up = load_columns<width>(a.velocity[pass.walked] + offset);
    ahead.advance();
    return row;
  };
  // Velocities become the part of the flux that goes up only when the row is needed.
  auto const complete = [&](FluxRow<T, width>& row) {
#pragma unroll
    for (int e = 0; e < width; ++e) {
      T const c =
          a.velocity[pass.walked] ? a.weight[pass.walked] * row.up.at[e] : a.weight[pass.walked];
      row.up.at[e] = part_up(c, spread, row.u.at[e]);
    }
  };
  auto const down = [&](FluxRow<T, width> const& row, int e) {
    return multiply_add(-spread, row.u.at[e], row.up.at[e]);
  };
  FluxRow<T, width> row[6];  // −3 to 2; later 0, 1 and 2 in the first three
#pragma unroll
  for (auto& one : row) {
    one = next_row();
    complete(one);
  }
  Queue<T> queue[width];
  QueueDown<T> queue_down[width];
#pragma unroll
  for (int e = 0; e < width; ++e) {
    queue[e].start(
        {row[0].up.at[e], row[1].up.at[e], row[2].up.at[e], row[3].up.at[e], row[4].up.at[e]});
    queue_down[e].start(
        {down(row[1], e), down(row[2], e), down(row[3], e), down(row[4], e), down(row[5], e)});
  }
  row[0] = row[3];
  row[1] = row[4];
  row[2] = row[5];
  FluxRow<T, width> coming = next_row();
  long long offset = origin + march.first * stride;
  for (auto left = static_cast<int>(march.last - march.first); left > 0; --left) {
    FluxRow<T, width> third = coming;
    coming = next_row();
    complete(third);
    Columns<T, width> const u = row[0].u;
    auto const old = base.template load<width>(offset + place.column, u);
    Columns<T, width> change{};
    if constexpr (across) change = variable_change_across(a, offset + place.column, u);
#pragma unroll
    for (int e = 0; e < width; ++e)
      change.at[e] +=
          queue[e].pass(row[2].up.at[e]) + queue_down[e].pass(down(third, e), down(row[0], e));
    place.store(a.out + offset, base.finish(old, u, change));
    row[0] = row[1];
    row[1] = row[2];
    row[2] = third;
    offset += stride;
  }
}

/// In 1D there is nothing to walk along: a vector for each lane.
template <bool variable, bool mirrored, int width, class T>
__global__ void __launch_bounds__(block_warps* warp_size)
    line_kernel(__grid_constant__ AdvectionArguments<T> const a) {
  constexpr int halo = (reach + width - 1) / width;
  unsigned const x_tile = blockIdx.x * block_warps + static_cast<unsigned>(warp_index());
  Place<width, mirrored> const place(a, x_tile, halo, reach);
  Base<T> const base(a, {1, 2, true});
  auto const u = load_columns<width, mirrored>(a.in + place.column);
  auto const old = base.template load<width, mirrored>(place.column, u);
  Columns<T, width> change;
  if constexpr (variable) {
    change = variable_change_across(a, place.column, u);
  } else {
    change = difference_across(u);
#pragma unroll
    for (int e = 0; e < width; ++e) change.at[e] *= mirrored ? -a.weight[0] : a.weight[0];
  }
  place.store(a.out, base.finish(old, u, change));
}

template <bool variable, int width, class T>
void launch_line(Stream& stream, AdvectionArguments<T> const& a) {
  constexpr int halo = (reach + width - 1) / width;
  constexpr long long tile = block_warps * (warp_size - 2 * halo) * width;
  unsigned const blocks = checked_blocks((a.points[0] + tile - 1) / tile);
  if (!variable && a.weight[0] < 0)
    line_kernel<variable, !variable, width>
        <<<blocks, block_warps * warp_size, 0, native(stream)>>>(a);
  else
    line_kernel<variable, false, width><<<blocks, block_warps * warp_size, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "advect streaming");
}

template <bool variable, bool across, int width, class T>
void launch_pass(Stream& stream, AdvectionArguments<T> const& a, Pass const& pass) {
  constexpr int halo = across ? (reach + width - 1) / width : 0;
  auto const tiles = [](long long points, long long tile) { return (points + tile - 1) / tile; };
  Range const columns(a, 0, reach), rows(a, pass.walked, reach), others(a, pass.beside, reach);
  if (columns.size() == 0 || rows.size() == 0 || others.size() == 0) return;
  long long const x_tiles = tiles(columns.last, (warp_size - 2 * halo) * width);
  int const length =
      march_length(stream.device(), longest_march, rows.size(), x_tiles * others.size(), a.beside);
  long long const marches = tiles(rows.size(), length);
  Work const work{static_cast<unsigned>(x_tiles), static_cast<unsigned>(marches), length};
  unsigned const blocks = checked_blocks(tiles(x_tiles * marches * others.size(), block_warps));
  constexpr int threads = block_warps * warp_size;
  if constexpr (variable) {
    variable_kernel<across, width><<<blocks, threads, 0, native(stream)>>>(a, pass, work);
  } else if (across && a.weight[0] < 0) {
    constant_kernel<across, across, width><<<blocks, threads, 0, native(stream)>>>(a, pass, work);
  } else {
    constant_kernel<across, false, width><<<blocks, threads, 0, native(stream)>>>(a, pass, work);
  }
  GRIDSTRIDE_CHECK_LAUNCH(stream, "advect streaming");
}

}  // namespace

template <class T>
void cuda_streaming_weno(Stream& stream, int dims, AdvectionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    auto const with_width = [&](auto width) {
      if constexpr (rank() == 1)
        launch_line<variable(), width()>(stream, arguments);
      else
        launch_pass<variable(), true, width()>(stream, arguments, {1, 2, true});
      if constexpr (rank() == 3)
        launch_pass<variable(), false, width()>(stream, arguments, {2, 1, false});
    };
    constexpr int columns = vector_columns<variable(), T>;
    if (takes_vectors<columns>(arguments))
      with_width(std::integral_constant<int, columns>{});
    else
      with_width(std::integral_constant<int, 1>{});
    launch_sides<rank(), Scheme::weno5, variable()>(stream, arguments);
  });
}

template void cuda_streaming_weno(Stream&, int, AdvectionArguments<float> const&);
template void cuda_streaming_weno(Stream&, int, AdvectionArguments<double> const&);

}  // namespace gridstride::advect
