#pragma once

#include <type_traits>

#include "kernels/stencil/stencil.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::stencil {

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
