#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "kernels/stencil/stencil.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::stencil {

/// A step as kernels take it. Throws as `diffuse` does.
template <class T>
DiffusionArguments<T> arguments_of(DiffusionStep<T> const& step);
/// Whether several such steps can be made at once.
bool can_be_fused(StepKind const& kind);

template <class T>
void host_reference(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void host_threads(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void host_impose(Stream&, int dims, DiffusionArguments<T> const&);

template <class T>
void cuda_naive(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void cuda_shared(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void cuda_register_queue(Stream&, int dims, DiffusionArguments<T> const&);
/// `steps` plain steps (`is_plain`, no field of diffusivity) in one pass over memory, from `in` to
/// `out`, with the bits of as many single ones. `steps` is one of those that next_line_steps,
/// next_plane_steps and so on return: of so many wanted, how many the next pass takes.
inline constexpr int most_line_steps = 32, most_plane_steps = 8, most_volume_steps = 2;
constexpr int next_line_steps(int wanted) {
  return wanted < most_line_steps ? wanted : most_line_steps;
}
constexpr int next_plane_steps(int wanted) {
  return wanted >= 8 ? 8 : wanted >= 4 ? 4 : wanted >= 2 ? 2 : 1;
}
constexpr int next_volume_steps(int wanted) {
  return wanted < most_volume_steps ? wanted : most_volume_steps;
}
/// The fastest measured on an H200, at 2^27, 8192² and 512³ points.
template <class T>
inline constexpr int best_line_steps = 32;
template <class T>
inline constexpr int best_plane_steps = 8;
template <class T>
inline constexpr int best_volume_steps = 2;
template <class T>
void cuda_temporal_line(Stream&, DiffusionArguments<T> const&, int steps);
template <class T>
void cuda_temporal_plane(Stream&, DiffusionArguments<T> const&, int steps);
/// Whether a block of the device has the shared memory that two steps at once take with these
/// sides.
template <class T>
bool cuda_fits_volume(Device const&, DiffusionArguments<T> const&);
/// `imposed`: whether `in` has on Dirichlet sides what they hold, as after any step.
template <class T>
void cuda_temporal_volume(Stream&, DiffusionArguments<T> const&, int steps, bool imposed);

/// Whether the kernels that keep all of a grid on the chip take it on this device.
template <class T>
bool cuda_fits_line(Device const&, long long const (&points)[3]);
template <class T>
bool cuda_fits_plane(Device const&, long long const (&points)[3]);  // on one cluster
template <class T>
bool cuda_fits_grid(Device const&, long long const (&points)[3]);  // a plane, on all of it
/// `steps` plain steps with constant diffusivity of the values in `out`, in place, where the answer
/// to the question above was yes; u has to be given on Dirichlet sides already.
template <class T>
void cuda_resident_line(Stream&, DiffusionArguments<T> const&, int steps);
template <class T>
void cuda_resident_plane(Stream&, DiffusionArguments<T> const&, int steps);
template <class T>
void cuda_resident_grid(Stream&, DiffusionArguments<T> const&, int steps);
/// What the last of them takes of the device's memory.
template <class T>
std::size_t cuda_grid_bytes(Device const&, long long const (&points)[3]);

/// How a plane is cut into tiles, one for each multiprocessor, `columns` × `rows` of them on a GPU.
/// Columns have `lanes` lanes of own points, but the last one what is left; rows as many lines as the
/// others, up to one.
struct TileCut {
  int shape;  // of the kernels there are
  int columns, rows, lanes, warps;
  int depth;   // lines and points beyond a tile's own, and steps between two exchanges: at least 2
  int across;  // the same of tiles beside other GPUs, a multiple of it; 0: there are none
  int less;    // own lines that these tiles have less than the others

  bool operator==(TileCut const&) const = default;
};
/// The most multiples of `depth` that are between exchanges with other GPUs.
inline constexpr int most_across = 3;

/// Some lines of a plane that several GPUs share, and at how many ends it goes on in another one.
struct SharedLines {
  long long lines;
  int cuts;

  bool operator==(SharedLines const&) const = default;
};
/// How GPUs like this one each keep their lines of a plane, of so many points, all of them cut the same
/// way; empty where they do not fit. `cuda_shared_bytes`: what it takes of each one's memory.
template <class T>
std::optional<TileCut> cuda_shared_cut(Device const&, long long points,
                                       std::span<SharedLines const> lines);
template <class T>
std::size_t cuda_shared_bytes(TileCut const&);
/// What blocks exchange lies in memory that all GPUs reach, full of zeros before the first kernel.
struct SharedTiles {
  TileCut cut;
  std::byte* memory;
  std::array<std::byte*, 2> beside;  // of the GPUs with the lines before these, and after; or null
  std::uint32_t exchanges = 0, across = 0;  // before: all of them, and those with other GPUs
};
/// As `cuda_resident_grid`, of lines that all GPUs make at the same time: each waits for those beside.
template <class T>
void cuda_shared_grid(Stream&, DiffusionArguments<T> const&, SharedTiles const&, int steps);

template <class T>
void cuda_impose(Stream&, int dims, DiffusionArguments<T> const&);

/// Calls `body` with the number of dimensions and whether α is a field as compile-time constants.
template <class T, class Body>
void with_shape(int dims, DiffusionArguments<T> const& arguments, Body const& body) {
  auto const with_dims = [&](auto variable) {
    if (dims == 1)
      body(std::integral_constant<int, 1>{}, variable);
    else if (dims == 2)
      body(std::integral_constant<int, 2>{}, variable);
    else
      body(std::integral_constant<int, 3>{}, variable);
  };
  if (arguments.diffusivity)
    with_dims(std::true_type{});
  else
    with_dims(std::false_type{});
}

}  // namespace gridstride::stencil
