// Blocks of vectors on the host: tiles of the rows are shared among threads, and what each tile has
// found is added in the order of the tiles, so that no bit depends on threads.

#include "kernels/eigen/block.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/eigen/tiles.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::eigen {

Small product(Small const& a, Small const& b) {
  Small c(a.rows, b.columns);
  for (int i = 0; i < a.rows; ++i)
    for (int k = 0; k < a.columns; ++k) {
      double const factor = a(i, k);
      for (int j = 0; j < b.columns; ++j) c(i, j) += factor * b(k, j);
    }
  return c;
}

Small product_transposed(Small const& a, Small const& b) {
  Small c(a.rows, b.rows);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < b.rows; ++j) {
      double sum = 0;
      for (int k = 0; k < a.columns; ++k) sum += a(i, k) * b(j, k);
      c(i, j) = sum;
    }
  return c;
}

namespace {

constexpr std::int64_t strip = 256;  // places of a tile that rows are multiplied in

/// Σ w·u·v over a few places.
double dot(double const* w, double const* u, double const* v, std::int64_t count) {
  double sum = 0;
  if (w == nullptr) {
#pragma omp simd reduction(+ : sum)
    for (std::int64_t p = 0; p < count; ++p) sum += u[p] * v[p];
  } else {
#pragma omp simd reduction(+ : sum)
    for (std::int64_t p = 0; p < count; ++p) sum += w[p] * u[p] * v[p];
  }
  return sum;
}

Small host_gram(Space const& space, Rows const& u, Rows const& v) {
  int const a = u.count(), b = v.count();
  Tiles const tiles = Tiles::of(space.size);
  std::vector<Small> parts(static_cast<std::size_t>(tiles.count), Small(a, b));
  parallel_for(tiles.count, tiles.length * a * b, [&](std::int64_t tile) {
    Small& part = parts[static_cast<std::size_t>(tile)];
    for (std::int64_t p = tiles.begin(tile); p < tiles.end(tile); p += strip) {
      std::int64_t const count = std::min(strip, tiles.end(tile) - p);
      double const* const w = space.weights == nullptr ? nullptr : space.weights + p;
      for (int i = 0; i < a; ++i)
        for (int j = 0; j < b; ++j)
          part(i, j) += dot(w, u.row(i, space.size) + p, v.row(j, space.size) + p, count);
    }
  });
  Small sum(a, b);
  for (Small const& part : parts)
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += part.values[i];
  return sum;
}

void host_combine(Space const& space, Rows const& in, Small const& factors, Rows const& out) {
  Tiles const tiles = Tiles::of(space.size);
  int const a = in.count(), b = out.count();
  parallel_for(tiles.count, tiles.length * a * b, [&](std::int64_t tile) {
    std::vector<double> mixed(static_cast<std::size_t>(b * strip));
    for (std::int64_t p = tiles.begin(tile); p < tiles.end(tile); p += strip) {
      std::int64_t const count = std::min(strip, tiles.end(tile) - p);
      std::fill(mixed.begin(), mixed.end(), 0.0);
      for (int i = 0; i < b; ++i)
        for (int j = 0; j < a; ++j) {
          double const factor = factors(i, j);
          double const* const from = in.row(j, space.size) + p;
          double* const to = mixed.data() + i * strip;
          if (factor == 0) continue;
#pragma omp simd
          for (std::int64_t q = 0; q < count; ++q) to[q] += factor * from[q];
        }
      for (int i = 0; i < b; ++i)
        std::copy_n(mixed.data() + i * strip, count, out.row(i, space.size) + p);
    }
  });
}

std::vector<double> host_residuals(Space const& space, Rows const& x, Rows const& ax,
                                   std::span<double const> values, Rows const& r) {
  Tiles const tiles = Tiles::of(space.size);
  auto const rows = static_cast<std::size_t>(x.count());
  std::vector<double> parts(rows * static_cast<std::size_t>(tiles.count));
  parallel_for(std::ssize(parts), 4 * tiles.length, [&](std::int64_t item) {
    int const row = static_cast<int>(item / tiles.count);
    std::int64_t const tile = item % tiles.count, begin = tiles.begin(tile);
    double const value = values[static_cast<std::size_t>(row)];
    double const* const from = x.row(row, space.size);
    double const* const mapped = ax.row(row, space.size);
    double* const to = r.row(row, space.size);
    for (std::int64_t p = begin; p < tiles.end(tile); ++p) to[p] = mapped[p] - value * from[p];
    double const* const w = space.weights == nullptr ? nullptr : space.weights + begin;
    parts[static_cast<std::size_t>(item)] = dot(w, to + begin, to + begin, tiles.end(tile) - begin);
  });
  std::vector<double> norms(rows);
  for (std::size_t i = 0; i < parts.size(); ++i)
    norms[i / static_cast<std::size_t>(tiles.count)] += parts[i];
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

/// Calls `each(row, place)` for all places of all rows.
template <class Each>
void for_all(Space const& space, Rows const& rows, Each const& each) {
  Tiles const tiles = Tiles::of(space.size);
  parallel_for(tiles.count * rows.count(), 8 * tiles.length, [&](std::int64_t item) {
    int const row = static_cast<int>(item / tiles.count);
    std::int64_t const tile = item % tiles.count;
    for (std::int64_t p = tiles.begin(tile); p < tiles.end(tile); ++p) each(row, p);
  });
}

std::vector<double> host_tile_maxima(Space const& space, Rows const& rows) {
  Tiles const tiles = Tiles::of(space.size);
  std::vector<double> maxima(static_cast<std::size_t>(tiles.count * rows.count()));
  parallel_for(std::ssize(maxima), 2 * tiles.length, [&](std::int64_t item) {
    double const* const row = rows.row(static_cast<int>(item / tiles.count), space.size);
    std::int64_t const tile = item % tiles.count;
    double largest = 0;
    for (std::int64_t p = tiles.begin(tile); p < tiles.end(tile); ++p)
      largest = std::max(largest, std::abs(row[p]));
    maxima[static_cast<std::size_t>(item)] = largest;
  });
  return maxima;
}

}  // namespace

namespace {

/// Whether kernels do the work.
bool is_on_gpu([[maybe_unused]] Stream const& stream) {
#ifdef GRIDSTRIDE_WITH_CUDA
  return stream.backend() == Backend::cuda;
#else
  return false;
#endif
}

}  // namespace

Small gram([[maybe_unused]] Stream& stream, Space const& space, Rows const& u, Rows const& v) {
  if (u.count() == 0 || v.count() == 0) return Small(u.count(), v.count());
#ifdef GRIDSTRIDE_WITH_CUDA
  if (is_on_gpu(stream)) return cuda_gram(stream, space, u, v);
#endif
  return host_gram(space, u, v);
}

void combine([[maybe_unused]] Stream& stream, Space const& space, Rows const& in,
             Small const& factors, Rows const& out) {
  if (factors.rows != out.count() || factors.columns != in.count() || in.count() > most_combined)
    throw std::invalid_argument(
        fmt::format("combine: {} x {} factors for {} rows of {} (at most {})", factors.rows,
                    factors.columns, out.count(), in.count(), most_combined));
  if (out.count() == 0) return;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (is_on_gpu(stream)) return cuda_combine(stream, space, in, factors, out);
#endif
  host_combine(space, in, factors, out);
}

std::vector<double> residuals([[maybe_unused]] Stream& stream, Space const& space, Rows const& x,
                              Rows const& ax, std::span<double const> values, Rows const& r) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (is_on_gpu(stream)) return cuda_residuals(stream, space, x, ax, values, r);
#endif
  return host_residuals(space, x, ax, values, r);
}

void randomise([[maybe_unused]] Stream& stream, Space const& space, Rows const& rows,
               std::uint64_t seed) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (is_on_gpu(stream)) return cuda_randomise(stream, space, rows, seed);
#endif
  for_all(space, rows, [&](int row, std::int64_t p) {
    bool const is_unknown = weight_at(space, p) != 0;
    rows.row(row, space.size)[p] = is_unknown ? random_at(seed, row, p) : 0;
  });
}

void scale_points([[maybe_unused]] Stream& stream, Space const& space, double const* factors,
                  Rows const& rows) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (is_on_gpu(stream)) return cuda_scale_points(stream, space, factors, rows);
#endif
  for_all(space, rows,
          [&](int row, std::int64_t p) { rows.row(row, space.size)[p] *= factors[p]; });
}

std::vector<Peak> peaks(Stream& stream, Space const& space, Rows const& rows) {
  constexpr double apart = 1e-3;
  Tiles const tiles = Tiles::of(space.size);
  std::vector<double> maxima;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (is_on_gpu(stream)) maxima = cuda_tile_maxima(stream, space, rows);
#endif
  if (!is_on_gpu(stream)) maxima = host_tile_maxima(space, rows);
  std::vector<Peak> found;
  for (int row = 0; row < rows.count(); ++row) {
    auto const of_row = maxima.begin() + row * tiles.count;
    double const least = (1 - apart) * *std::max_element(of_row, of_row + tiles.count);
    std::int64_t const tile =
        std::find_if(of_row, of_row + tiles.count, [&](double m) { return m >= least; }) - of_row;
    std::vector<double> values(static_cast<std::size_t>(tiles.end(tile) - tiles.begin(tile)));
    double const* const there = rows.row(row, space.size) + tiles.begin(tile);
    copy_async(std::span(values), std::span<double const>(there, values.size()), stream);
    stream.synchronize();
    auto const first =
        std::find_if(values.begin(), values.end(), [&](double v) { return std::abs(v) >= least; });
    found.push_back({tiles.begin(tile) + (first - values.begin()), *first < 0});
  }
  return found;
}

template <class T>
void deliver([[maybe_unused]] Stream& stream, Space const& space, Rows const& rows,
             std::span<double const> factors, T* out, std::int64_t point_stride,
             std::int64_t row_stride) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (is_on_gpu(stream))
    return cuda_deliver(stream, space, rows, factors, out, point_stride, row_stride);
#endif
  for_all(space, rows, [&](int row, std::int64_t p) {
    double const value = factors[static_cast<std::size_t>(row)] * rows.row(row, space.size)[p];
    out[p * point_stride + row * row_stride] = static_cast<T>(value);
  });
}

template void deliver(Stream&, Space const&, Rows const&, std::span<double const>, float*,
                      std::int64_t, std::int64_t);
template void deliver(Stream&, Space const&, Rows const&, std::span<double const>, double*,
                      std::int64_t, std::int64_t);

}  // namespace gridstride::eigen
