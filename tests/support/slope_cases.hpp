#pragma once

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/system/slopes.hpp"
#include "kernels/system/system.hpp"

/// Combinations of slopes on any device, compared on the host.
namespace gridstride::test {

/// What comes of two components with random slopes.
template <class T>
struct SlopesFound {
  std::vector<std::vector<T>> values;  ///< of both components
  system::WorstError worst;
};

inline std::vector<Grid> slope_grids() {
  std::vector<Grid> grids;
  for (auto const& points : {std::array<std::int64_t, 3>{1, 1, 1},
                             {2, 1, 1},
                             {31, 1, 1},
                             {257, 1, 1},
                             {20011, 1, 1},
                             {33, 32, 1},
                             {130, 67, 1},
                             {5, 4, 3},
                             {31, 33, 8},
                             {512, 4099, 1}})
    grids.push_back({.dims = points[2] > 1   ? 3
                             : points[1] > 1 ? 2
                                             : 1,
                     .points = points,
                     .origin = {},
                     .spacing = {1, 1, 1}});
  return grids;
}

/// The first component holds g = 3 on the lower side of x, the second one wraps. `spoilt`: a place
/// whose slope is not finite.
template <class T>
SlopesFound<T> run_slopes(Stream& stream, Grid const& grid, double dt, std::int64_t spoilt = -1,
                          system::ErrorStrips const& strips = {}) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Buffer<T>> kept;
  auto const filled = [&](std::int64_t size, std::int64_t bad = -1) {
    std::vector<T> values(static_cast<std::size_t>(size));
    for (T& value : values) value = static_cast<T>(uniform(random));
    if (bad >= 0) values[static_cast<std::size_t>(bad)] = std::numeric_limits<T>::quiet_NaN();
    kept.emplace_back(stream, MemorySpace::device, values.size());
    copy_async(kept.back().span(), std::span<T const>(values), stream);
    stream.synchronize();
    return kept.back().data();
  };
  std::vector<double> const weights = {0.5, -0.25, 2};
  std::vector<system::Slopes<T>> components(2);
  for (auto& one : components) {
    one.state = filled(grid.size());
    one.value = filled(grid.size());
    for (std::size_t s = 0; s < weights.size(); ++s) one.slopes[s] = filled(grid.size());
  }
  std::vector<T> const threes(static_cast<std::size_t>(grid.face_size(0)), T(3));
  T* const g = filled(grid.face_size(0));
  copy_async(kept.back().span(), std::span<T const>(threes), stream);
  if (spoilt >= 0) components[1].slopes[1] = filled(grid.size(), spoilt);
  for (int axis = 0; axis < grid.dims; ++axis)
    for (int side = 0; side < 2; ++side)
      components[0].sides[axis][side] =
          system::side_of<T>(SideKind::neumann, 1, static_cast<T const*>(nullptr));
  components[0].sides[0][0] = system::side_of<T>(SideKind::dirichlet, 1, g);
  Buffer<evaluate::DeviceClock> clock(stream, MemorySpace::device, 1);
  evaluate::set_clock(stream, clock.data(), {0.5, dt, 0});
  std::vector<system::WorstError> parts(
      static_cast<std::size_t>(system::error_parts(grid, components.size())));
  Buffer<system::WorstError> device_parts(stream, MemorySpace::device, parts.size());
  copy_async(device_parts.span(), std::span<system::WorstError const>(parts), stream);
  system::combine<T>(stream, grid, components, weights, clock.data());
  system::worst_error<T>(stream, grid, components, weights, {0.5, 0.25}, clock.data(),
                         device_parts.span(), strips);
  constexpr std::int64_t first = 1000;  // of the points of a part
  Buffer<system::WorstError> device_worst(stream, MemorySpace::device, 1);
  system::find_worst(stream, std::as_const(device_parts).span(), first, device_worst.data());
  SlopesFound<T> found;
  for (auto const& one : components) {
    auto& values = found.values.emplace_back(static_cast<std::size_t>(grid.size()));
    copy_async(std::span(values), std::span<T const>(one.value, values.size()), stream);
  }
  copy_async(std::span(parts), std::as_const(device_parts).span(), stream);
  copy_async(std::span(&found.worst, 1), std::as_const(device_worst).span(), stream);
  stream.synchronize();
  found.worst.point -= first;
  auto const worst = *std::max_element(parts.begin(), parts.end());
  EXPECT_EQ(found.worst.value, worst.value);
  EXPECT_EQ(found.worst.point, worst.point);
  EXPECT_EQ(found.worst.component, worst.component);
  return found;
}

/// Of strips along these axes, the second slowest or the third one, errors beside them do not count, and
/// others have their places in the wider grid.
template <class T>
void expect_errors_of_strips(Stream& stream, std::vector<std::size_t> const& along) {
  int compared = 0;
  for (Grid const& grid : slope_grids()) {
    auto const axis_of = [&](std::size_t which) {
      return static_cast<std::size_t>(grid.dims - 2) - which;
    };
    if (grid.dims < 2 + static_cast<int>(along.back()) || grid.size() > 100000) continue;
    system::ErrorStrips strips;
    Grid wider = grid;
    for (std::size_t const which : along) {
      std::int64_t const held = grid.points[axis_of(which)], points = held + 20;
      strips[which] = {1, held - 1, 7 + static_cast<std::int64_t>(which), points};
      wider.points[axis_of(which)] = points;
    }
    for (std::int64_t place = 0; place < grid.size(); place += 1 + grid.size() / 40) {
      auto at = grid.indices(place);
      auto const found = run_slopes<T>(stream, grid, 0.5, place, strips);
      bool counts = true;
      for (std::size_t const which : along) {
        auto& point = at[axis_of(which)];
        counts = counts && point >= strips[which].lower && point < strips[which].upper;
        point += strips[which].first;
      }
      EXPECT_EQ(std::isinf(found.worst.value), counts) << format_points(grid) << ' ' << place;
      if (counts) {
        EXPECT_EQ(wider.indices(found.worst.point), at) << format_points(grid) << ' ' << place;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
}

}  // namespace gridstride::test
