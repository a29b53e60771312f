// The product with a direction of conjugate gradients in volumes with a field, in the order of a level's
// values: both colours of a strip are 2·width neighbouring points of a row, so that what flows between them is
// found once, and what lies before them along the column is kept in registers. A thread that has one or two
// points finds places, and not fluxes, most of its time.
//
// Beside a side without flux lies what is inside of it, once more; a ring goes on at its other end.
//
// Sums are put together thread by thread, plane after plane, and have an order that is the same for one process
// and for ranks, whose directions lie in the order of the grid.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/found.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

/// Neighbouring points of a row, as many as both colours of a strip have.
template <class S>
struct RowPoints {
  static constexpr int size = 2 * vector_width<S>;
  S at[size];
};

/// Values of a level, or of a direction that lies as they do, in the rows around a strip; those of the strip's
/// plane, and one further along.
template <class S>
class LevelRows {
 public:
  static constexpr int width = vector_width<S>;

  __device__ LevelRows(Level<S> const& level, S* values, int strip, int j, int k)
      : half_(level.half), over_plane_(row_stride(level, 2)) {
    bool const is_second = ((j + k) & 1) != 0;
    even_ = values + (is_second ? level.colour : 0) + std::int64_t{k} * over_plane_ + j * half_ +
            strip * width;
    to_odd_ = is_second ? -level.colour : level.colour;
  }
  __device__ RowPoints<S> here() const { return both(even_, even_ + to_odd_); }
  __device__ RowPoints<S> across(int rows) const { return beside(rows * half_); }
  __device__ RowPoints<S> along(int planes) const { return beside(planes * over_plane_); }
  /// The point before the strip, and the one behind it; of the row's first strip its last point of `count`, of any
  /// other one its first point.
  __device__ S left() const { return even_[to_odd_ - 1]; }
  __device__ S right() const { return even_[width]; }
  __device__ S last_of(int count) const { return even_[to_odd_ + (count - 1) / 2]; }
  __device__ S first_of(int strip) const { return even_[-strip * width]; }
  __device__ void store(RowPoints<S> const& points) const {
    Strip<S> even, odd;
    for (int v = 0; v < width; ++v) even.at[v] = points.at[2 * v], odd.at[v] = points.at[2 * v + 1];
    *reinterpret_cast<Strip<S>*>(even_) = even;
    *reinterpret_cast<Strip<S>*>(even_ + to_odd_) = odd;
  }
  __device__ void go_on() {
    even_ += over_plane_ + to_odd_;
    to_odd_ = -to_odd_;
  }

 private:
  __device__ static RowPoints<S> both(S const* even, S const* odd) {
    Strip<S> const first = load_changing(even), second = load_changing(odd);
    RowPoints<S> points;
    for (int v = 0; v < width; ++v)
      points.at[2 * v] = first.at[v], points.at[2 * v + 1] = second.at[v];
    return points;
  }
  /// Of a row of the other parity.
  __device__ RowPoints<S> beside(int by) const { return both(even_ + to_odd_ + by, even_ + by); }

  S* even_;
  int half_, over_plane_;
  std::int64_t to_odd_;
};

/// The same of values in the order of the grid.
template <class S>
class GridRows {
 public:
  template <class T>
  __device__ GridRows(poisson::Operator<T> const& a, Level<S> const& level, S const* values,
                      int strip, int j, int k)
      : over_row_(a.stride[1]), over_plane_(a.stride[2]) {
    int const first = RowPoints<S>::size * strip;
    left_over_ = level.count[0] - first;
    at_ =
        values + (a.first[2] + k) * over_plane_ + (a.first[1] + j) * over_row_ + a.first[0] + first;
  }
  __device__ RowPoints<S> here() const { return row(at_); }
  __device__ RowPoints<S> across(int rows) const { return row(at_ + rows * over_row_); }
  __device__ RowPoints<S> along(int planes) const { return row(at_ + planes * over_plane_); }
  __device__ S left() const { return at_[-1]; }
  __device__ S right() const { return at_[RowPoints<S>::size]; }
  __device__ S last_of(int count) const { return at_[count - 1]; }
  __device__ S first_of(int strip) const { return at_[-strip * RowPoints<S>::size]; }
  __device__ void go_on() { at_ += over_plane_; }

 private:
  __device__ RowPoints<S> row(S const* from) const {
    RowPoints<S> points;
    for (int i = 0; i < RowPoints<S>::size; ++i) points.at[i] = i < left_over_ ? from[i] : S{0};
    return points;
  }

  S const* at_;
  int left_over_;
  std::int64_t over_row_, over_plane_;
};

/// The field, which lies as a level's own does, beside the points, too.
template <class S>
__device__ RowPoints<S> load_field(S const* source) {
  constexpr int width = vector_width<S>;
  RowPoints<S> points;
  for (int part = 0; part < 2; ++part) {
    Strip<S> const strip = load_strip(source + part * width);
    for (int v = 0; v < width; ++v) points.at[part * width + v] = strip.at[v];
  }
  return points;
}

/// From a point to the one before it, or from the one behind it to it.
template <class S>
__device__ S flux(S of_one, S of_other, S one, S other) {
  return (of_one + of_other) * (one - other);
}

/// What lies beyond the ends of axes: given values, which are 0, or others as well, of which some halve cells.
enum class Beyond { given, any, any_halved };

/// How many rows, or planes, on the point beside another one lies along an axis; 0: nowhere, it is given as 0.
template <Beyond beyond_ends, class T>
class Neighbours {
 public:
  __device__ Neighbours(poisson::Operator<T> const& a, int axis)
      : first_(a.side[axis][0] == poisson::Rule::dirichlet ? 1 : 0),
        last_(a.points[axis] - (a.side[axis][1] == poisson::Rule::dirichlet ? 2 : 1)) {
    if constexpr (beyond_ends == Beyond::given) return;
    // In one process that is the last one from the first one, and of ranks the plane beside it.
    int const around = static_cast<int>(a.around[axis] / a.stride[axis]);
    auto const beyond = [&](int side, int inside, int at_other_end) {
      auto const rule = a.side[axis][side];
      return rule == poisson::Rule::neumann    ? inside
             : rule == poisson::Rule::periodic ? at_other_end
                                               : 0;
    };
    before_first_ = beyond(0, 1, around);
    behind_last_ = beyond(1, -1, -around);
  }
  __device__ int before(std::int64_t at) const { return at == first_ ? before_first_ : -1; }
  __device__ int behind(std::int64_t at) const { return at == last_ ? behind_last_ : 1; }

 private:
  std::int64_t first_, last_;
  int before_first_ = 0, behind_last_ = 0;
};

/// What lies beside the ends of a strip in its row.
template <Beyond beyond_ends, class T, class S>
struct StripEnds {
  poisson::Rule first, last;
  int count, strip;
  int end;  ///< the strip's last point

  __device__ StripEnds(poisson::Operator<T> const& a, Level<S> const& level, int strip_)
      : first(a.side[0][0]),
        last(a.side[0][1]),
        count(level.count[0]),
        strip(strip_),
        end(min(count - strip * RowPoints<S>::size, RowPoints<S>::size) - 1) {}
  /// Whether that is what lies behind a point of the strip. What lies behind the row's end is 0.
  __device__ bool is_end(int i) const {
    return i + 1 == RowPoints<S>::size || (beyond_ends != Beyond::given && i == end);
  }
  template <class Rows>
  __device__ S before(Rows const& rows, RowPoints<S> const& here) const {
    if (strip > 0) return rows.left();
    if constexpr (beyond_ends == Beyond::given) return 0;
    return first == poisson::Rule::neumann    ? here.at[1]
           : first == poisson::Rule::periodic ? rows.last_of(count)
                                              : S{0};
  }
  template <class Rows>
  __device__ S behind(Rows const& rows, RowPoints<S> const& here) const {
    if ((strip + 1) * RowPoints<S>::size < count) return rows.right();
    if constexpr (beyond_ends == Beyond::given) return 0;
    if (last == poisson::Rule::periodic) return rows.first_of(strip);
    S inside{};
    if (last != poisson::Rule::neumann) return inside;
    if (end == 0) return rows.left();
    for (int i = 0; i + 1 < RowPoints<S>::size; ++i)
      if (i + 1 == end) inside = here.at[i];
    return inside;
  }
};

template <bool stays, Beyond beyond_ends, bool reacts, class T, class S>
__device__ Summed go_along(ApplyToDirection<T, S> const& step, int strip, int j, int first,
                           int last) {
  constexpr int size = RowPoints<S>::size;
  auto const& level = step.level;
  auto const& a = step.a;
  auto p = [&] {
    if constexpr (stays)
      return LevelRows<S>(level, step.p, strip, j, first);
    else
      return GridRows<S>(a, level, step.p, strip, j, first);
  }();
  LevelRows<S> r(level, level.f, strip, j, first), q(level, step.q, strip, j, first);
  int const over_row = level.line;
  std::int64_t const over_plane = level.field_stride(2);
  S const* field = step.field + level.field_place(size * strip, j, first);
  auto const w1 = static_cast<S>(a.weight[1] / a.weight[0]),
             w2 = static_cast<S>(a.weight[2] / a.weight[0]);
  auto const reaction = static_cast<S>(a.reaction * step.scale);
  std::int64_t at[3] = {a.first[0] + size * strip, a.first[1] + j, a.first[2] + first};
  std::int64_t place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
  StripEnds<beyond_ends, T, S> const ends(a, level, strip);
  Neighbours<beyond_ends, T> const rows(a, 1), planes(a, 2);
  int const to_below = rows.before(at[1]), to_above = rows.behind(at[1]);
  // Where all that lies beyond is given, `usual` is the only way on.
  auto const way = [](int on, int usual) { return beyond_ends == Beyond::given ? usual : on; };
  auto const along = [&](int on, int usual) {
    return on == 0 ? RowPoints<S>{} : p.along(way(on, usual));
  };
  auto const across = [&](int on, int usual) {
    return on == 0 ? RowPoints<S>{} : p.across(way(on, usual));
  };

  RowPoints<S> here = p.here(), here_a = load_field(field), from_before;
  {
    RowPoints<S> const before_a = load_field(field - over_plane),
                       before = along(planes.before(at[2]), -1);
    for (int i = 0; i < size; ++i)
      from_before.at[i] = w2 * flux(here_a.at[i], before_a.at[i], here.at[i], before.at[i]);
  }
  Summed own;
  for (int k = first; k < last; ++k) {
    RowPoints<S> const behind = along(planes.behind(at[2]), 1), below = across(to_below, -1),
                       above = across(to_above, 1);
    S const left = ends.before(p, here), right = ends.behind(p, here);
    RowPoints<S> const behind_a = load_field(field + over_plane),
                       below_a = load_field(field - over_row),
                       above_a = load_field(field + over_row);
    S const left_a = __ldg(field - 1), right_a = __ldg(field + size);
    RowPoints<S> const of_r = r.here();
    RowPoints<S> result;
    RowShares const shares(a, at);
    S to_point = flux(here_a.at[0], left_a, here.at[0], left);
#pragma unroll
    for (int i = 0; i < size; ++i) {
      S const u = here.at[i], own_a = here_a.at[i];
      S const from_point = flux(own_a, i + 1 == size ? right_a : here_a.at[(i + 1) % size],
                                ends.is_end(i) ? right : here.at[(i + 1) % size], u);
      S const to_behind = w2 * flux(own_a, behind_a.at[i], behind.at[i], u);
      S sum = reaction * u;
      if constexpr (reacts)
        sum =
            i <= ends.end ? static_cast<S>(double{a.reactions[place + i]} * step.scale) * u : S{0};
      sum += to_point - from_point;
      sum += w1 * (flux(own_a, below_a.at[i], u, below.at[i]) -
                   flux(own_a, above_a.at[i], above.at[i], u));
      sum += from_before.at[i] - to_behind;
      result.at[i] = sum;
      double product = double{u} * double{sum};
      if constexpr (beyond_ends == Beyond::any_halved)
        product *= shares.of(size * strip + i, level.count[0]);
      own = own + Summed{product, double{u} * double{of_r.at[i]}};
      to_point = from_point;
      from_before.at[i] = to_behind;
    }
    q.store(result);
    here = behind;
    here_a = behind_a;
    field += over_plane;
    place += a.stride[2];
    ++at[2];
    p.go_on();
    r.go_on();
    q.go_on();
  }
  return own;
}

template <bool stays, Beyond beyond_ends, bool reacts, class T, class S>
__global__ void __launch_bounds__(threads_of_columns, 2)
    product_kernel(__grid_constant__ ApplyToDirection<T, S> const step, int piece, int before,
                   Summed* sums) {
  auto const& level = step.level;
  Column const column(piece, before + level.count[2], level.half / vector_width<S>);
  int const first = max(column.first - before, 0), last = column.last - before;
  Summed own;
  if (RowPoints<S>::size * column.x < level.count[0] && column.across < level.count[1] &&
      first < last)
    own = go_along<stays, beyond_ends, reacts>(step, column.x, column.across, first, last);
  sum_by_block(own,
               sums + (std::int64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
}

}  // namespace

template <class T, class S>
Columns product_columns(ApplyToDirection<T, S> const& step) {
  return Columns::in_a_row(step.level.half / vector_width<S>, step.level.count[1],
                           step.level.count[2]);
}

template <class T, class S>
void march_product(Stream& stream, ApplyToDirection<T, S> const& step, Columns const& columns,
                   int before, Summed* sums) {
  auto const kernel_for = [&]<bool stays, bool reacts>() {
    return is_given_all_around(step.a) ? product_kernel<stays, Beyond::given, reacts, T, S>
           : halves_cells(step.a)      ? product_kernel<stays, Beyond::any_halved, reacts, T, S>
                                       : product_kernel<stays, Beyond::any, reacts, T, S>;
  };
  bool const reacts = step.a.reactions != nullptr;
  auto* const kernel = step.stays ? (reacts ? kernel_for.template operator()<true, true>()
                                            : kernel_for.template operator()<true, false>())
                                  : (reacts ? kernel_for.template operator()<false, true>()
                                            : kernel_for.template operator()<false, false>());
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, columns.piece, before, sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid direction");
}

#define GRIDSTRIDE_INSTANTIATE(T, S)                               \
  template Columns product_columns(ApplyToDirection<T, S> const&); \
  template void march_product(Stream&, ApplyToDirection<T, S> const&, Columns const&, int, Summed*);
GRIDSTRIDE_INSTANTIATE(float, float)
GRIDSTRIDE_INSTANTIATE(float, double)
GRIDSTRIDE_INSTANTIATE(double, float)
GRIDSTRIDE_INSTANTIATE(double, double)

}  // namespace gridstride::multigrid
