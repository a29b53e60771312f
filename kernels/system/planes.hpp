#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/support/runtime_compiler.hpp"
#include "kernels/system/arguments.cuh"
#include "kernels/system/system.hpp"

/// Stages in 3D by marches along z: the row `planes`.
namespace gridstride::system {

/// Why `planes` does not take a grid; empty where it does.
std::string planes_refusal(Grid const& grid);

/// Values of a component in a line along x, `dy` lines and `dz` planes away: those at the thread's
/// own vector, and how many beside it on either side.
struct PlanesLine {
  int component = 0, dy = 0, dz = 0;
  int left = 0, right = 0;
  bool operator==(PlanesLine const&) const = default;
};

/// Each line that a program reads, once.
std::vector<PlanesLine> lines_read(StencilProgram const& program);

/// How a program is compiled: for vectors of `width` points, with the loop over planes written out
/// `turns` times, and registers that leave room for so many blocks on a multiprocessor.
struct PlanesShape {
  int width = 1;
  int turns = 1;
  int blocks = 1;
  bool operator==(PlanesShape const&) const = default;
};

inline constexpr int planes_threads = 256;  ///< of a block

/// The shape for a program where vectors may have up to `most_width` points; `has_shell`: some axis
/// has sides that do not wrap to the value itself.
PlanesShape planes_shape(StencilProgram const& program, int components, int value_bytes,
                         int most_width, bool has_shell = false);

/// What is compiled for a step: its program, its axes, and vectors that its lines and arrays allow.
/// Throws `std::invalid_argument` for a grid that it does not take.
template <class T>
RuntimeSource planes_source(Step<T> const& step);

/// How the threads of a launch share the grid.
struct PlanesTiling {
  unsigned lanes = 32, lines = planes_threads / 32;  ///< of a block
  long long x_tiles = 0, y_tiles = 0, chunks = 0;
  long long planes = 1;  ///< of a chunk
  long long shell = 0;   ///< points that are not in the core
};

/// The core is what lies `margin` points inside each side. A lane has `width` points, the most that
/// its vectors may have. Chunks are shorter where the grid would not fill so many multiprocessors.
PlanesTiling tile_planes(Grid const& grid, std::array<long long, 3> const& margin, int width,
                         int processors);

/// What the kernel is launched with.
template <class T>
struct PlanesLaunch {
  PlanesArguments<T> arguments;
  LaunchShape shape;
};
template <class T>
PlanesLaunch<T> planes_launch(Step<T> const& step, int processors);

}  // namespace gridstride::system
