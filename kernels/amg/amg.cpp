// The cycle, and how set-up goes from level to level.

#include "kernels/amg/amg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/upload.hpp"
#include "kernels/amg/level.hpp"
#include "kernels/amg/work.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/scan/scan.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::amg {

namespace {

template <class U>
Buffer<U> device_array(Stream& stream, std::int64_t size) {
  return {stream, MemorySpace::device, static_cast<std::size_t>(size)};
}

/// One element of device memory; waits.
template <class U>
U read(Stream& stream, std::span<U const> array, std::int64_t place) {
  U value{};
  copy_async(std::span(&value, 1), array.subspan(static_cast<std::size_t>(place), 1), stream);
  stream.synchronize();
  return value;
}

template <class T>
T largest(Stream& stream, Buffer<T> const& values) {
  auto result = device_array<T>(stream, 1);
  reduce::maximum<T>(stream, values.span(), result.span());
  return read<T>(stream, std::as_const(result).span(), 0);
}

template <class T>
std::int64_t work_of(Rows<T> const& a) {
  return 4 * (a.nonzeros() / std::max<std::int64_t>(a.rows, 1) + 1);
}

/// ω of a relaxation whose eigenvalues are at most so large: what takes most of the upper ones.
template <class T>
T factor_for(T bound) {
  return T{4} / (T{3} * std::max(bound, T{1}));
}

/// 1/a_ii and ω/a_ii. Returns whether the diagonal allows it.
template <class T>
bool find_diagonal(Stream& stream, Level<T>& level) {
  auto const n = level.unknowns();
  level.inverse = device_array<T>(stream, n);
  level.weights = device_array<T>(stream, n);
  each(stream, n, work_of(level.a),
       Diagonal<T>{view(level.a), level.near_kernel.size() > 0 ? level.near_kernel.data() : nullptr,
                   level.inverse.data(), level.weights.data()});
  T const bound = largest(stream, level.weights);
  if (!(bound <= std::numeric_limits<T>::max())) return false;
  each(stream, n, 1, Scale<T>{factor_for(bound), level.inverse.data(), level.weights.data()});
  return true;
}

/// Roots of aggregates, as marks in `numbers` that become their numbers. Returns how many.
std::int64_t find_roots(Stream& stream, std::int64_t n, std::int64_t work, Graph const& graph,
                        Buffer<Key>& keys, Buffer<std::int64_t>& numbers) {
  auto near = device_array<Key>(stream, n), far = device_array<Key>(stream, n);
  auto open = device_array<std::int32_t>(stream, 1);
  each(stream, n, work, BeginRoots{graph, keys.data()});
  do {
    zero_async(open.span(), stream);
    each(stream, n, work, LargestKey{graph, keys.data(), near.data()});
    each(stream, n, work, LargestKey{graph, near.data(), far.data()});
    each(stream, n, 1, DecideRoots{far.data(), keys.data(), open.data()});
  } while (read<std::int32_t>(stream, std::as_const(open).span(), 0) != 0);
  each(stream, n + 1, 1, MarkRoots{keys.data(), numbers.data(), n});
  scan::exclusive_sum<std::int64_t>(stream, std::as_const(numbers).span(), numbers.span());
  return read<std::int64_t>(stream, std::as_const(numbers).span(), n);
}

/// Aggregates over the strong graph; returns how many.
template <class T>
std::int64_t aggregate(Stream& stream, Level<T> const& level, Graph const& graph, T const* scale,
                       Buffer<std::int32_t>& aggregates) {
  auto const n = level.unknowns();
  auto const work = work_of(level.a);
  auto keys = device_array<Key>(stream, n);
  auto numbers = device_array<std::int64_t>(stream, n + 1);
  std::int64_t const roots = find_roots(stream, n, work, graph, keys, numbers);
  auto joined = device_array<std::int32_t>(stream, n);
  each(stream, n, work, JoinRoot{graph, keys.data(), numbers.data(), joined.data()});
  each(stream, n, work,
       JoinNeighbour<T>{view(level.a), graph, level.inverse.data(), scale, level.near_kernel.data(),
                        joined.data(), aggregates.data()});
  return roots;
}

template <class T>
Rows<T> smoothed_interpolation(Stream& stream, Level<T> const& level, Graph const& graph,
                               Buffer<std::int32_t> const& aggregates, std::int64_t count) {
  auto const n = level.unknowns();
  auto const work = work_of(level.a);
  auto inverse = device_array<T>(stream, n), dominance = device_array<T>(stream, n);
  each(stream, n, work,
       Filter<T>{view(level.a), graph.columns, level.near_kernel.data(), inverse.data(),
                 dominance.data()});
  T const omega = factor_for(largest(stream, dominance));
  Smoothed<T> const smoothed{view(level.a), graph, aggregates.data(), level.near_kernel.data()};
  Rows<T> p{n, count, device_array<std::int64_t>(stream, n + 1), {}, {}};
  each(stream, n + 1, 2 * work, CountSmoothed<T>{smoothed, p.offsets.data(), n});
  scan::exclusive_sum<std::int64_t>(stream, std::as_const(p.offsets).span(), p.offsets.span());
  auto const elements = read<std::int64_t>(stream, std::as_const(p.offsets).span(), n);
  p.column_indices = device_array<std::int32_t>(stream, elements);
  p.values = device_array<T>(stream, elements);
  each(stream, n, 2 * work,
       FillSmoothed<T>{smoothed, inverse.data(), omega, p.offsets.data(), p.column_indices.data(),
                       p.values.data()});
  return p;
}

template <class T>
Rows<T> transposed(Stream& stream, Rows<T> const& a) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() != Backend::cpu) return cuda_transposed(stream, a);
#endif
  return host_transposed(stream, a);
}

template <class T>
Rows<T> galerkin(Stream& stream, Rows<T> const& r, Rows<T> const& a, Rows<T> const& p) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() != Backend::cpu) return cuda_galerkin(stream, r, a, p);
#endif
  return host_galerkin(stream, r, a, p);
}

/// The inverse by sweeps, each of which takes one unknown from the right side to the solution. What has
/// no pivot left is held at 0, so that of a singular matrix this is a symmetric inverse, too
/// (Goodnight, "A tutorial on the SWEEP operator", The American Statistician 33 (1979)).
std::vector<double> inverse_by_sweeps(std::vector<double> a, std::size_t n, double epsilon,
                                      bool singular) {
  std::vector<double> least(n);
  for (std::size_t k = 0; k < n; ++k)
    least[k] = 8 * epsilon * static_cast<double>(n) * std::abs(a[k * n + k]);
  if (singular) least[n - 1] = std::numeric_limits<double>::infinity();
  std::vector<char> held(n, 0);
  for (std::size_t k = 0; k < n; ++k) {
    double const pivot = a[k * n + k];
    if (!(pivot > least[k])) {
      held[k] = 1;
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      double const factor = a[i * n + k] / pivot;
      if (factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j)
        if (j != k) a[i * n + j] -= factor * a[k * n + j];
      a[i * n + k] = -factor;
    }
    for (std::size_t j = 0; j < n; ++j)
      if (j != k) a[k * n + j] /= pivot;
    a[k * n + k] = 1 / pivot;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (held[i] != 0 || held[j] != 0) a[i * n + j] = 0;
  // Symmetric to the last bit.
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      a[i * n + j] = a[j * n + i] = (a[i * n + j] + a[j * n + i]) / 2;
  return a;
}

template <class U>
std::vector<U> on_host(Stream& stream, Buffer<U> const& buffer) {
  std::vector<U> values(buffer.size());
  copy_async(std::span(values), buffer.span(), stream);
  stream.synchronize();
  return values;
}

}  // namespace

template <class T>
Rows<T> on_device(Stream& stream, Csr<T> const& matrix) {
  Rows<T> rows{matrix.rows, matrix.columns, device_array<std::int64_t>(stream, matrix.rows + 1),
               device_array<std::int32_t>(stream, matrix.nonzeros()),
               device_array<T>(stream, matrix.nonzeros())};
  upload(rows.offsets.span(), std::span(matrix.offsets), stream);
  upload(rows.column_indices.span(), std::span(matrix.column_indices), stream);
  upload(rows.values.span(), std::span(matrix.values), stream);
  return rows;
}

template <class T>
Hierarchy<T>::Hierarchy(Stream& stream, Rows<T> matrix, Options const& options,
                        Buffer<T> near_kernel)
    : room_(std::max<std::int64_t>(1, options.vectors)) {
  if (matrix.rows != matrix.columns)
    throw std::invalid_argument(
        fmt::format("amg: a matrix of {} x {} is not square", matrix.rows, matrix.columns));
  levels_.push_back(std::make_unique<Level<T>>());
  if (near_kernel.size() > 0)
    require_size("amg", named("near_kernel", near_kernel.span()),
                 static_cast<std::size_t>(matrix.rows));
  levels_[0]->a = std::move(matrix);
  levels_[0]->near_kernel = std::move(near_kernel);
  if (levels_[0]->unknowns() == 0) return;
  if (!find_diagonal(stream, *levels_[0]))
    throw std::invalid_argument("amg: the diagonal is not positive, or values are not finite");
  constexpr std::size_t most_levels = 30;
  while (levels_.back()->unknowns() > options.coarsest && levels_.size() < most_levels) {
    if (!coarsen(stream, options.strength)) break;
  }
  if (levels_.back()->unknowns() <= options.coarsest) invert(stream, options.singular);
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    auto& level = *levels_[l];
    auto const n = level.unknowns() * room_;
    if (l > 0) level.b = device_array<T>(stream, n);
    if (l > 0) level.solution = device_array<T>(stream, n);
    if (l + 1 == levels_.size()) break;
    level.x = device_array<T>(stream, n);
    level.left = device_array<T>(stream, n);
  }
  stream.synchronize();
}

template <class T>
Hierarchy<T>::~Hierarchy() = default;
template <class T>
Hierarchy<T>::Hierarchy(Hierarchy&&) noexcept = default;

/// Another level; returns whether there is one, which has to be smaller by something.
template <class T>
bool Hierarchy<T>::coarsen(Stream& stream, double strength) {
  auto& level = *levels_.back();
  auto const n = level.unknowns();
  if (level.near_kernel.size() == 0) {
    level.near_kernel = device_array<T>(stream, n);
    each(stream, n, 1, SetOnes<T>{level.near_kernel.data()});
  }
  auto graph_columns = device_array<std::int32_t>(stream, level.a.nonzeros());
  Graph const graph{level.a.offsets.data(), graph_columns.data()};
  auto scale = device_array<T>(stream, n);
  each(stream, n, work_of(level.a),
       CouplingScale<T>{view(level.a), level.inverse.data(), level.near_kernel.data(),
                        scale.data()});
  each(stream, n, work_of(level.a),
       Strong<T>{view(level.a), scale.data(), static_cast<T>(strength * strength),
                 graph_columns.data()});
  auto aggregates = device_array<std::int32_t>(stream, n);
  std::int64_t const count = aggregate(stream, level, graph, scale.data(), aggregates);
  if (count == 0 || 10 * count > 9 * n) return false;
  each(stream, n, work_of(level.a), Follow<T>{view(level.a), scale.data(), graph_columns.data()});
  auto p = smoothed_interpolation(stream, level, graph, aggregates, count);
  auto r = transposed(stream, p);
  auto next = std::make_unique<Level<T>>();
  next->a = galerkin(stream, r, level.a, p);
  if (!find_diagonal(stream, *next)) return false;
  level.near_kernel = {};
  level.p = std::move(p);
  level.r = std::move(r);
  levels_.push_back(std::move(next));
  return true;
}

template <class T>
void Hierarchy<T>::invert(Stream& stream, bool singular) {
  auto& level = *levels_.back();
  auto const n = static_cast<std::size_t>(level.unknowns());
  auto const offsets = on_host(stream, level.a.offsets);
  auto const columns = on_host(stream, level.a.column_indices);
  auto const values = on_host(stream, level.a.values);
  std::vector<double> dense(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = static_cast<std::size_t>(offsets[i]);
         k < static_cast<std::size_t>(offsets[i + 1]); ++k)
      dense[i * n + static_cast<std::size_t>(columns[k])] = static_cast<double>(values[k]);
  auto const inverse =
      inverse_by_sweeps(std::move(dense), n, std::numeric_limits<T>::epsilon(), singular);
  Csr<T> rows{level.unknowns(), level.unknowns(), {}, {}, {}};
  for (std::size_t i = 0; i <= n; ++i) rows.offsets.push_back(static_cast<std::int64_t>(i * n));
  for (std::size_t i = 0; i < n * n; ++i) {
    rows.column_indices.push_back(static_cast<std::int32_t>(i % n));
    rows.values.push_back(static_cast<T>(inverse[i]));
  }
  level.solve = on_device(stream, rows);
}

template <class T>
void Hierarchy<T>::cycle(Stream& stream, std::span<T const> r, std::span<T> z) const {
  std::int64_t const n = levels_[0]->unknowns();
  auto const given = static_cast<std::int64_t>(r.size());
  std::int64_t const vectors = n > 0 ? std::max<std::int64_t>(1, given / n) : 1;
  require_size("amg", named("r", r), static_cast<std::size_t>(vectors * n));
  require_size("amg", named("z", z), static_cast<std::size_t>(vectors * n));
  require_disjoint("amg", named("r", r), named("z", z));
  if (n == 0) return;
  for (std::int64_t first = 0; first < vectors; first += room_)
    cycle_from(stream, 0, r.data() + first * n, z.data() + first * n,
               std::min(room_, vectors - first));
}

template <class T>
void Hierarchy<T>::cycle_from(Stream& stream, std::size_t index, T const* b, T* x,
                              std::int64_t vectors) const {
  auto& level = *levels_[index];
  auto const n = level.unknowns();
  if (index + 1 == levels_.size()) {
    if (level.solve.rows > 0) return products(stream, level.solve, vectors, b, Set<T>{x});
    return each(stream, n, 1, Relax<T>{level.weights.data(), b, x}, vectors);
  }
  auto& next = *levels_[index + 1];
  T* const before = level.x.data();
  T const* const weights = level.weights.data();
  each(stream, n, 1, Relax<T>{weights, b, before}, vectors);
  products(stream, level.a, vectors, before, Subtract<T>{b, level.left.data()});
  products(stream, level.r, vectors, level.left.data(), Set<T>{next.b.data()});
  cycle_from(stream, index + 1, next.b.data(), next.solution.data(), vectors);
  products(stream, level.p, vectors, next.solution.data(), Add<T>{before});
  products(stream, level.a, vectors, before, RelaxFrom<T>{weights, b, before, x});
}

template <class T>
std::vector<std::int64_t> Hierarchy<T>::unknowns() const {
  std::vector<std::int64_t> all;
  for (auto const& level : levels_) all.push_back(level->unknowns());
  return all;
}

template <class T>
double Hierarchy<T>::operator_complexity() const {
  double all = 0;
  for (auto const& level : levels_) all += static_cast<double>(level->a.nonzeros());
  return all / std::max(1.0, static_cast<double>(levels_[0]->a.nonzeros()));
}

template <class T>
Rows<T> const& Hierarchy<T>::matrix(std::size_t index) const {
  return levels_.at(index)->a;
}

template <class T>
Rows<T> const& Hierarchy<T>::interpolation(std::size_t index) const {
  return levels_.at(index)->p;
}

template <class T>
krylov::Preconditioner<T> preconditioner(std::shared_ptr<Hierarchy<T> const> hierarchy) {
  return [hierarchy = std::move(hierarchy)](Stream& stream, std::span<T const> r, std::span<T> z) {
    hierarchy->cycle(stream, r, z);
  };
}

#define GRIDSTRIDE_INSTANTIATE(T)                     \
  template Rows<T> on_device(Stream&, Csr<T> const&); \
  template class Hierarchy<T>;                        \
  template krylov::Preconditioner<T> preconditioner(std::shared_ptr<Hierarchy<T> const>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::amg
