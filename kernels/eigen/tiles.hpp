#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/eigen/block.hpp"

/// What is done with blocks tile by tile, on the host and on the GPU; for the family's own files only.
namespace gridstride::eigen {

/// Places of rows cut into tiles, whose number depends on the size alone, so that sums do, too.
struct Tiles {
  std::int64_t size, length, count;

  static Tiles of(std::int64_t size) {
    constexpr std::int64_t shortest = 1024, most = 1024, step = 64;
    std::int64_t const share = (size + most - 1) / most;
    std::int64_t const length = std::max(shortest, (share + step - 1) / step * step);
    return {size, length, std::max<std::int64_t>(1, (size + length - 1) / length)};
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t begin(std::int64_t tile) const { return tile * length; }
  GRIDSTRIDE_HOST_DEVICE std::int64_t end(std::int64_t tile) const {
    return (tile + 1) * length < size ? (tile + 1) * length : size;
  }
};

/// A number in (−1, 1) for a place of a row: the mixing function of splitmix64 (Steele, Lea and Flood,
/// OOPSLA 2014), twice.
GRIDSTRIDE_HOST_DEVICE inline double random_at(std::uint64_t seed, std::int64_t row,
                                               std::int64_t place) {
  auto const mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  std::uint64_t const of_row = mix(seed * golden + static_cast<std::uint64_t>(row) + 1);
  std::uint64_t const bits = mix(of_row + golden * (static_cast<std::uint64_t>(place) + 1));
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-52 - 1;
}

GRIDSTRIDE_HOST_DEVICE inline double weight_at(Space const& space, std::int64_t place) {
  return space.weights == nullptr ? 1.0 : space.weights[place];
}

/// On a GPU.
Small cuda_gram(Stream&, Space const&, Rows const& u, Rows const& v);
void cuda_combine(Stream&, Space const&, Rows const& in, Small const& factors, Rows const& out);
std::vector<double> cuda_residuals(Stream&, Space const&, Rows const& x, Rows const& ax,
                                   std::span<double const> values, Rows const& r);
void cuda_randomise(Stream&, Space const&, Rows const& rows, std::uint64_t seed);
void cuda_scale_points(Stream&, Space const&, double const* factors, Rows const& rows);
/// The largest |u_p| of each tile of each row: rows × tiles.
std::vector<double> cuda_tile_maxima(Stream&, Space const&, Rows const& rows);
template <class T>
void cuda_deliver(Stream&, Space const&, Rows const& rows, std::span<double const> factors, T* out,
                  std::int64_t point_stride, std::int64_t row_stride);

}  // namespace gridstride::eigen
