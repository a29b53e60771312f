#pragma once

#include <type_traits>

#include "kernels/star/star.hpp"

/// The functions behind the rows of the family's table, and beside them; for the family's own files
/// only.
namespace gridstride::star {

template <class T>
void host_reference(Stream&, int dims, int radius, LeapfrogArguments<T> const&);
template <class T>
void host_threads(Stream&, int dims, int radius, LeapfrogArguments<T> const&);

template <class T>
void cuda_naive(Stream&, int dims, int radius, LeapfrogArguments<T> const&);
template <class T>
void cuda_register_queue(Stream&, int dims, int radius, LeapfrogArguments<T> const&);

/// How many steps the pass over a plane makes, without source and damping: the fastest number of
/// those measured on an H200 at 8192² points. `variable`: c² is a field.
constexpr int plane_steps(int radius, bool variable) {
  constexpr int steps[] = {8, 4, 4, 3}, variable_steps[] = {3, 3, 3, 2};
  return (variable ? variable_steps : steps)[radius - 1];
}
/// The pass, from `in` and `previous` to `out`, and to `out_before` for the moment before. All four
/// are apart from each other. A block takes no more than these bytes of shared memory.
template <class T>
void cuda_temporal_plane(Stream&, int dims, int radius, LeapfrogArguments<T> const&, T* out_before);
inline constexpr std::size_t temporal_shared_bytes = 64 << 10;

/// See `energy_pieces`.
template <class T>
void host_energy(Stream&, int dims, int radius, EnergyArguments<T> const&,
                 PointsInOrder const& points, std::span<double> sums);
template <class T>
void cuda_energy(Stream&, int dims, int radius, EnergyArguments<T> const&,
                 PointsInOrder const& points, std::span<double> sums);
/// See `energy_shares`.
template <class T>
void host_energy_shares(int dims, int radius, EnergyArguments<T> const&, PointsOfGrid const& points,
                        double* shares);
template <class T>
void cuda_energy_shares(Stream&, int dims, int radius, EnergyArguments<T> const&,
                        PointsOfGrid const& points, double* shares);
/// The threads that share a piece on a GPU: each adds every 256th one, then neighbours are added.
inline constexpr int energy_threads = 256;

template <class T>
void host_ricker(Stream&, std::span<RickerTerm const>, evaluate::DeviceClock const*, double factor,
                 double damping_time, T* out);
template <class T>
void cuda_ricker(Stream&, std::span<RickerTerm const>, evaluate::DeviceClock const*, double factor,
                 double damping_time, T* out);

/// Calls `body` with the number of dimensions and the radius as compile-time constants.
template <class Body>
void with_shape(int dims, int radius, Body const& body) {
  auto const with_dims = [&](auto constant) {
    if (dims == 1)
      body(std::integral_constant<int, 1>{}, constant);
    else if (dims == 2)
      body(std::integral_constant<int, 2>{}, constant);
    else
      body(std::integral_constant<int, 3>{}, constant);
  };
  if (radius == 1)
    with_dims(std::integral_constant<int, 1>{});
  else if (radius == 2)
    with_dims(std::integral_constant<int, 2>{});
  else if (radius == 3)
    with_dims(std::integral_constant<int, 3>{});
  else
    with_dims(std::integral_constant<int, 4>{});
}

}  // namespace gridstride::star
