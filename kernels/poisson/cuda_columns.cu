// Conjugate gradients on the GPU by columns, of volumes with the same coefficients everywhere. Threads
// of a block stand side by side along x and y and go along z. The plane that they are at lies in shared
// memory, for those beside; the planes before and behind are in registers, and numbers of the next
// plane are on their way from memory meanwhile. Of r + β·p a thread makes its own, and those at the
// edges of a tile some for their neighbours: p is never stored with A·p, which the step finds again
// from q. So an iteration moves 8 numbers a point: r, p and q, and then q, and x and r twice.
//
// The second pass begins where the first has ended, with what the second level of cache still has.

#include <algorithm>

#include "kernels/poisson/columns.cuh"
#include "kernels/poisson/conjugate_steps.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::poisson {

namespace {

/// The fastest of those measured on an H200, at 512³ points.
template <class S>
struct Shapes {
  using Direct = ColumnShape<32, 8, 4, 2>;
  using Step = Direct;
};
template <>
struct Shapes<float> {
  using Direct = ColumnShape<32, 4, 8, 4>;
  using Step = ColumnShape<64, 4, 4, 3>;
};

/// How blocks cut a grid: the same on every device, so that sums have their bits.
struct Tiles {
  unsigned x, y, parts;
  int length;

  template <class Shape, class S>
  static Tiles of(ColumnOperator<S> const& a) {
    auto const over = [](int points, int tile) {
      return static_cast<unsigned>((points + tile - 1) / tile);
    };
    Tiles tiles{over(a.points[0], Shape::x), over(a.points[1], Shape::tile_rows), 0, 64};
    constexpr unsigned enough = 2048;
    while (tiles.length > 4 && tiles.x * tiles.y * over(a.points[2], tiles.length) < enough)
      tiles.length /= 2;
    tiles.parts = over(a.points[2], tiles.length);
    return tiles;
  }
  /// Of as many planes, of which no tile is cut.
  unsigned blocks(int planes) const {
    return x * y * static_cast<unsigned>((planes + length - 1) / length);
  }
  unsigned blocks() const { return x * y * parts; }
  /// Of this rank.
  template <class S>
  unsigned own(ColumnOperator<S> const& a) const {
    return blocks(a.planes[1]) - blocks(a.planes[0]);
  }
  template <class S>
  ColumnWork work(ColumnOperator<S> const& a, std::int64_t sums, bool backwards) const {
    return {x, y, length, blocks(a.planes[0]), blocks(), static_cast<unsigned>(sums), backwards};
  }
};

}  // namespace

template <class S>
std::int64_t column_sums(ColumnOperator<S> const& a) {
  return std::max(Tiles::of<typename Shapes<S>::Direct>(a).blocks(),
                  Tiles::of<typename Shapes<S>::Step>(a).blocks());
}

template <class S>
std::int64_t column_planes(ColumnOperator<S> const& a) {
  return std::max(Tiles::of<typename Shapes<S>::Direct>(a).length,
                  Tiles::of<typename Shapes<S>::Step>(a).length);
}

template <class S>
std::int64_t direct_sums(ColumnOperator<S> const& a, std::int64_t planes) {
  return Tiles::of<typename Shapes<S>::Direct>(a).blocks(static_cast<int>(planes));
}

template <class S>
std::int64_t descend_sums(ColumnOperator<S> const& a, std::int64_t planes) {
  return Tiles::of<typename Shapes<S>::Step>(a).blocks(static_cast<int>(planes));
}

template <class S>
void cuda_direct_columns(Stream& stream, ColumnOperator<S> const& a, int const* stop,
                         double const* beta, S const* r, S const* p, S* q, double* sums) {
  using Shape = typename Shapes<S>::Direct;
  auto const tiles = Tiles::of<Shape>(a);
  direct_columns<S, Shape><<<tiles.own(a), Shape::threads, 0, native(stream)>>>(
      a, tiles.work(a, column_sums(a), false), stop, beta, r, p, q, sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson direct");
}

template <class S>
void cuda_descend_columns(Stream& stream, ColumnOperator<S> const& a, int const* stop,
                          double const* alpha, S const* q, S* x, S* r, double* sums) {
  using Shape = typename Shapes<S>::Step;
  auto const tiles = Tiles::of<Shape>(a);
  descend_columns<S, Shape><<<tiles.own(a), Shape::threads, 0, native(stream)>>>(
      a, tiles.work(a, column_sums(a), true), stop, alpha, q, x, r, sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson descend");
}

template <class S>
void cuda_multiply_columns(Stream& stream, ColumnOperator<S> const& a, S const* x, S* y) {
  using Shape = typename Shapes<S>::Direct;
  auto const tiles = Tiles::of<Shape>(a);
  multiply_columns<S, Shape>
      <<<tiles.own(a), Shape::threads, 0, native(stream)>>>(a, tiles.work(a, 0, false), x, y);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson product");
}

#define GRIDSTRIDE_INSTANTIATE(S)                                                                  \
  template std::int64_t column_sums(ColumnOperator<S> const&);                                     \
  template std::int64_t column_planes(ColumnOperator<S> const&);                                   \
  template std::int64_t direct_sums(ColumnOperator<S> const&, std::int64_t);                       \
  template std::int64_t descend_sums(ColumnOperator<S> const&, std::int64_t);                      \
  template void cuda_direct_columns(Stream&, ColumnOperator<S> const&, int const*, double const*,  \
                                    S const*, S const*, S*, double*);                              \
  template void cuda_descend_columns(Stream&, ColumnOperator<S> const&, int const*, double const*, \
                                     S const*, S*, S*, double*);                                   \
  template void cuda_multiply_columns(Stream&, ColumnOperator<S> const&, S const*, S*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::poisson
