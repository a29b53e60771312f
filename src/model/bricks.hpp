#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "kernels/support/rank_transposition.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// Calls `use(whole, here, rows, count)` for each part of a brick whose planes and points lie together
/// in a grid: `rows` planes, of each of which `count` values lie together, the first ones at these
/// places of an array of the whole grid and of one of the brick, whose planes are `plane` values apart.
template <class Use>
void for_each_block(Grid const& grid, Brick const& brick, std::int64_t plane, Use const& use) {
  auto const slowest = static_cast<std::size_t>(grid.dims - 1);
  std::int64_t const whole_plane = grid.face_size(grid.dims - 1);
  auto const of_planes = [&](std::int64_t at_across, Planes const& some_across, std::int64_t line) {
    std::int64_t const beside = (some_across.lower - brick.across.lower) * line;
    for_each_stretch(brick.planes, grid.points[slowest], [&](std::int64_t at, Planes const& some) {
      use(at * whole_plane + at_across * line, (some.lower - brick.planes.lower) * plane + beside,
          some.count(), some_across.count() * line);
    });
  };
  if (brick.across.count() == 0) return of_planes(0, {0, 1}, whole_plane);
  std::int64_t const points = grid.points[slowest - 1];
  for_each_stretch(brick.across, points, [&](std::int64_t at, Planes const& some) {
    of_planes(at, some, whole_plane / points);
  });
}

/// Queues the copy of a brick, `out` of an array of the whole grid or back into it. Between any memory
/// that the stream's device and the host have.
template <class T>
void copy_brick(Stream& stream, Grid const& grid, T* whole, Brick const& brick, T* here,
                std::int64_t plane, bool out) {
  auto const bytes = [](std::int64_t values) {
    return static_cast<std::size_t>(values) * sizeof(T);
  };
  std::int64_t const whole_plane = grid.face_size(grid.dims - 1);
  for_each_block(grid, brick, plane,
                 [&](std::int64_t at, std::int64_t place, std::int64_t rows, std::int64_t count) {
                   T *const there = whole + at, *const own = here + place;
                   if (count == plane && plane == whole_plane) {  // all of it lies together
                     auto const size = static_cast<std::size_t>(rows * count);
                     std::span<T> const from(out ? there : own, size), to(out ? own : there, size);
                     return copy_async(to, std::span<T const>(from), stream);
                   }
                   auto* const far = reinterpret_cast<std::byte*>(there);
                   auto* const near = reinterpret_cast<std::byte*>(own);
                   std::size_t const far_pitch = bytes(whole_plane), pitch = bytes(plane),
                                     width = bytes(count);
                   auto const height = static_cast<std::size_t>(rows);
                   copy_rows(stream, out ? CopiedRows{far, far_pitch, near, pitch, width, height}
                                         : CopiedRows{near, pitch, far, far_pitch, width, height});
                 });
}

}  // namespace gridstride
