#include "kernels/poisson/layers.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/poisson/elimination.hpp"
#include "kernels/poisson/shared.hpp"
#include "kernels/poisson/shared_transforms.hpp"
#include "kernels/poisson/transform.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::poisson {

std::optional<int> faster_eliminated(Grid const& grid, Sides const& sides) {
  constexpr std::int64_t fewest_systems = std::int64_t{1} << 16;
  for (int axis = grid.dims - 1; axis > 0; --axis) {
    auto const i = static_cast<std::size_t>(axis);
    if (sides[i][0] != SideKind::periodic && grid.face_size(axis) >= fewest_systems) return axis;
  }
  return std::nullopt;
}

template <class T>
LayerSolver<T>::LayerSolver(Stream& stream, Equation<T> const& equation, int axis, bool singular)
    : equation_(equation), axis_(axis), singular_(singular) {
  Grid const& grid = equation.grid;
  if (grid.dims < 2 || axis < 0 || axis >= grid.dims)
    throw std::invalid_argument("poisson: layers are those of a grid of two or three axes");
  auto const unknowns = transform_shape(grid, equation.sides);
  shape_ = unknowns.shape;
  shape_.kinds[static_cast<std::size_t>(axis)] = fft::Kind::none;
  first_ = unknowns.first;
  std::size_t other = 0;
  for (int a = 0; a < 3; ++a) {
    if (a == axis) continue;
    auto const values =
        a < grid.dims ? eigenvalues(grid, equation.sides, a) : std::vector<double>{0};
    eigenvalues_[other] = {stream, MemorySpace::device, values.size()};
    copy_async(eigenvalues_[other].span(), std::span<double const>(values), stream);
    stream.synchronize();
    ++other;
  }
  std::size_t bytes_kept = bytes(stream.backend(), grid, equation.sides, axis);
  if (equation.ranks != nullptr) {
    shared_ = std::make_shared<SharedTransforms<T>>(stream, equation);
    bytes_kept =
        bytes_of_rank(stream.backend(), grid, equation.sides, axis,
                      equation.ranks->upper() - equation.ranks->lower(), shared_->own_columns(), 0);
    if (axis == grid.dims - 1) bring_coefficients(stream);
  }
  if (bytes_kept > 0) kept_ = {stream, MemorySpace::device, bytes_kept / sizeof(double)};
}

/// Threads of the host have memory for a system each.
template <class T>
std::size_t LayerSolver<T>::bytes(Backend backend, Grid const& grid, Sides const& sides, int axis) {
  if (backend == Backend::cpu) return 0;
  auto const i = static_cast<std::size_t>(axis);
  bool const periodic = sides[i][0] == SideKind::periodic;
  auto const numbers = grid.face_size(axis) * kept_numbers(grid.points[i], periodic);
  return static_cast<std::size_t>(numbers) * sizeof(double);
}

/// Along the slowest axis systems are those of a rank's columns.
template <class T>
std::size_t LayerSolver<T>::bytes_of_rank(Backend backend, Grid const& grid, Sides const& sides,
                                          int axis, std::int64_t planes, std::int64_t columns,
                                          int varying) {
  auto const slowest = static_cast<std::size_t>(grid.dims - 1);
  Grid part = grid;
  std::size_t coefficients = 0;
  if (axis == grid.dims - 1) {
    part.points = {columns, 1, 1};
    part.points[slowest] = grid.points[slowest];
    coefficients = static_cast<std::size_t>(varying * part.size()) * sizeof(T);
  } else {
    part.points[slowest] = planes;
  }
  return coefficients + bytes(backend, part, sides, axis);
}

template <class T>
void LayerSolver<T>::bring_coefficients(Stream& stream) {
  Grid const& grid = equation_.grid;
  std::size_t const held = static_cast<std::size_t>(points_held(equation_));
  auto const size = static_cast<std::size_t>(grid.points[static_cast<std::size_t>(axis_)] *
                                             shared_->own_columns());
  T const* const given[] = {equation_.diffusivities, equation_.reactions};
  for (std::size_t i = 0; i < 2; ++i) {
    if (given[i] == nullptr) continue;
    if (size > 0) columns_[i] = {stream, MemorySpace::device, size};
    shared_->bring_columns(stream, {given[i], held}, columns_[i].span());
  }
}

template <class T>
void LayerSolver<T>::solve(Stream& stream, std::span<T const> right, std::span<T> u,
                           std::string_view variant) {
  if (shared_) return solve_shared(stream, right, u, variant);
  auto const first = static_cast<std::size_t>(first_);
  auto const values = u.subspan(first);
  fft::transform<T>(stream, shape_, fft::Direction::forward, right.subspan(first), values, variant);
  auto layers = this->layers();
  layers.a = operator_of(equation_);
  layers.values = u.data();
  eliminate(stream, layers, kept_.data());
  fft::transform<T>(stream, shape_, fft::Direction::inverse, values, values, variant);
}

/// Without the operator and the values.
template <class T>
Layers<T> LayerSolver<T>::layers() const {
  return {.a = {},
          .axis = axis_,
          .others = {axis_ == 0 ? 1 : 0, axis_ == 2 ? 1 : 2},
          .eigenvalues = {eigenvalues_[0].data(), eigenvalues_[1].data()},
          .scale = 1 / fft::round_trip(shape_),
          .singular = singular_,
          .values = nullptr};
}

/// Those of unknowns that begin elsewhere among the others' modes.
template <class T>
Layers<T> LayerSolver<T>::layers_of(SharedPart const& part) const {
  auto layers = this->layers();
  for (std::size_t i = 0; i < 2; ++i) {
    auto const begin = part.begin[static_cast<std::size_t>(layers.others[i])];
    layers.eigenvalues[i] += begin;
    layers.singular = layers.singular && begin == 0;
  }
  return layers;
}

/// Along the slowest axis, of own columns of all planes.
template <class T>
void LayerSolver<T>::eliminate_columns(Stream& stream, SharedPart const& part) {
  auto layers = layers_of(part);
  auto whole = equation_;
  whole.ranks = nullptr;
  auto& a = layers.a = operator_of(whole);
  a.stride[axis_] = shared_->own_columns();
  a.around[axis_] = (a.points[axis_] - 1) * a.stride[axis_];
  for (int const other : layers.others) {
    a.first[other] = 0;
    a.count[other] = part.shape.points[static_cast<std::size_t>(other)];
  }
  std::int64_t const at = part.first - a.first[axis_] * a.stride[axis_];
  layers.values = shared_->columns().data() + at;
  if (a.diffusivities != nullptr) a.diffusivities = columns_[0].data() + at;
  if (a.reactions != nullptr) a.reactions = columns_[1].data() + at;
  // Parts are under way together: what each keeps lies where its columns are.
  std::size_t const column = static_cast<std::size_t>(part.first % shared_->own_columns());
  auto const kept = kept_.span().subspan(kept_.size() /
                                         static_cast<std::size_t>(shared_->own_columns()) * column);
  eliminate(stream, layers, kept.data());
}

/// Along another axis, of own planes.
template <class T>
void LayerSolver<T>::eliminate_planes(Stream& stream) {
  auto const part = shared_->own_part();
  if (part.is_empty()) return;
  auto layers = layers_of(part);
  layers.a = operator_of(equation_);
  layers.values = shared_->planes().data() -
                  equation_.ranks->lower() * equation_.grid.face_size(equation_.grid.dims - 1);
  eliminate(stream, layers, kept_.data());
}

/// Where the slowest axis is not the one that is eliminated, its lines are transformed apart, there
/// and back.
template <class T>
void LayerSolver<T>::solve_shared(Stream& stream, std::span<T const> right, std::span<T> u,
                                  std::string_view variant) {
  int const slowest = equation_.grid.dims - 1;
  if (axis_ == slowest)
    return shared_->through_columns(
        stream, right, u, variant,
        [&](Stream& on, SharedPart const& part) { eliminate_columns(on, part); });
  std::optional<int> const within = slowest == 2 ? std::optional(1 - axis_) : std::nullopt;
  shared_->load(stream, right, u, within, variant);
  shared_->transform(stream, slowest, fft::Direction::forward, variant);
  eliminate_planes(stream);
  if (within) shared_->transform(stream, *within, fft::Direction::inverse, variant);
  shared_->transform(stream, slowest, fft::Direction::inverse, variant);
  shared_->store(stream, u);
}

template <class T>
std::string_view LayerSolver<T>::transport() const {
  return shared_->transport();
}

template <class T>
void eliminate(Stream& stream, Layers<T> const& layers, [[maybe_unused]] double* kept) {
  if (stream.backend() == Backend::cpu) return host_eliminate(stream, layers);
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_eliminate(stream, layers, kept);
#endif
}

/// Systems side by side share the lines of the caches that they read.
template <class T>
void host_eliminate(Stream&, Layers<T> const& w) {
  constexpr std::int64_t wanted = 32;
  std::int64_t const of_p = w.a.count[w.others[0]], count = w.a.count[w.axis];
  for_all_systems(w, [&](auto periodic, auto same, std::int64_t first, std::int64_t last) {
    parallel_for((last - first + wanted - 1) / wanted, 20 * wanted * count, [&](std::int64_t part) {
      std::vector<double> kept(static_cast<std::size_t>(kept_numbers(count, periodic())));
      std::int64_t const begin = first + part * wanted;
      for (std::int64_t s = begin; s < std::min(last, begin + wanted); ++s)
        eliminate<periodic(), same()>(w, s % of_p, s / of_p, kept.data(), 1);
    });
  });
}

template class LayerSolver<float>;
template class LayerSolver<double>;
template void eliminate(Stream&, Layers<float> const&, double*);
template void eliminate(Stream&, Layers<double> const&, double*);
template void host_eliminate(Stream&, Layers<float> const&);
template void host_eliminate(Stream&, Layers<double> const&);

}  // namespace gridstride::poisson
