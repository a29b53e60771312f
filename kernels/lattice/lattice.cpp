#include "kernels/lattice/lattice.hpp"

#include <algorithm>

#include "kernels/lattice/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::lattice {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "one point after the other, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "line after line around a line, side by side along it; lines shared among threads"},
      {"points", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_points<T>),
       "a thread for each point, neighbours from the caches"},
      {"columns", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_columns<T>),
       "threads go along z with sums of planes in registers: x is read once"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "columns";
}

namespace {

/// Neighbours are the same whatever the order of axes is that have but one point.
GridPoints with_single_points_last(GridPoints points) {
  std::ranges::stable_partition(points, [](std::int64_t extent) { return extent > 1; });
  return points;
}

/// The most neighbours that a point has.
double most_neighbours(Neighbours neighbours, GridPoints const& points) {
  double sum = 0, product = 1;
  for (auto const extent : points) {
    auto const along = static_cast<double>(std::min<std::int64_t>(extent, 3));
    sum += along - 1;
    product *= along;
  }
  return neighbours == Neighbours::axes ? sum : product - 1;
}

}  // namespace

template <class T>
Matrix<T>::Matrix(Stream& stream, Neighbours neighbours, GridPoints const& points,
                  std::string_view variant, int dims) {
  auto const diagonal = static_cast<double>(sparse::stencil_diagonal(neighbours, points, dims));
  rows_ = points[0] * points[1] * points[2];
  norm_ = diagonal + most_neighbours(neighbours, points);
  double const center = neighbours == Neighbours::all ? diagonal + 1 : diagonal;
  work_ = {neighbours, with_single_points_last(points), static_cast<T>(center), nullptr, nullptr};
  row_ = &find_variant("lattice", variants<T>(), stream.device(),
                       variant == "auto" ? default_variant(stream.backend()) : variant);
}

template <class T>
void Matrix<T>::multiply(Stream& stream, std::span<T const> x, std::span<T> y) const {
  require_size("lattice", named("x", x), static_cast<std::size_t>(rows_));
  require_size("lattice", named("y", y), static_cast<std::size_t>(rows_));
  require_disjoint("lattice", named("x", x), named("y", y));
  Work<T> work = work_;
  work.x = x.data();
  work.y = y.data();
  row_->run(stream, work);
}

#define GRIDSTRIDE_INSTANTIATE(T)                               \
  template std::span<Variant<Function<T>> const> variants<T>(); \
  template class Matrix<T>;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::lattice
