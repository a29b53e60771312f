#pragma once

#include "kernels/fft/blocks/line.cuh"

/// Roots of one that are not in a table, for NVRTC: exp(−2πi·m/n), m < n. The nearest quarter of a
/// turn is taken from the angle by numbers that are exact, and sin and cos of the rest, up to π/4,
/// are polynomials: those of fdlibm (Sun Microsystems, 1993) for float64, of Cephes (S. L. Moshier)
/// for float32.
namespace gridstride::fft {

template <class T>
__device__ __forceinline__ Number<T> turned_by_quarters(Number<T> w, int quarters) {
  Number<T> const odd = (quarters & 1) != 0 ? Number<T>{w.im, -w.re} : w;
  return (quarters & 2) != 0 ? Number<T>{-odd.re, -odd.im} : odd;
}

__device__ __forceinline__ Number<double> root_at(unsigned m, Turn const& turn, double) {
  double const given = m, quarters = rint(given * turn.quarters);
  double const x = fma(-quarters, turn.n, 4 * given) * turn.angle, z = x * x;
  double sine = 1.58969099521155010221e-10;
  sine = fma(sine, z, -2.50507602534068634195e-08);
  sine = fma(sine, z, 2.75573137070700676789e-06);
  sine = fma(sine, z, -1.98412698298579493134e-04);
  sine = fma(sine, z, 8.33333333332248946124e-03);
  sine = fma(sine, z, -1.66666666666666324348e-01);
  double cosine = -1.13596475577881948265e-11;
  cosine = fma(cosine, z, 2.08757232129817482790e-09);
  cosine = fma(cosine, z, -2.75573143513906633035e-07);
  cosine = fma(cosine, z, 2.48015872894767294178e-05);
  cosine = fma(cosine, z, -1.38888888888741095749e-03);
  cosine = fma(cosine, z, 4.16666666666666019037e-02);
  return turned_by_quarters(
      Number<double>{fma(cosine * z, z, fma(-0.5, z, 1.0)), -fma(sine * z, x, x)},
      static_cast<int>(quarters));
}

__device__ __forceinline__ Number<float> root_at(unsigned m, Turn const& turn, float) {
  // In units of 2⁻³² of a turn.
  auto const phase = static_cast<unsigned>((m * turn.fraction) >> 32);
  unsigned const quarters = (phase + (1U << 29)) >> 30;
  float const x = static_cast<float>(static_cast<int>(phase - (quarters << 30))) * 1.4629180793e-9F;
  float const z = x * x;
  float sine = -1.9515295891e-4F;
  sine = fma(sine, z, 8.3321608736e-3F);
  sine = fma(sine, z, -1.6666654611e-1F);
  float cosine = 2.443315711809948e-5F;
  cosine = fma(cosine, z, -1.388731625493765e-3F);
  cosine = fma(cosine, z, 4.166664568298827e-2F);
  return turned_by_quarters(
      Number<float>{fma(cosine * z, z, fma(-0.5F, z, 1.0F)), -fma(sine * z, x, x)},
      static_cast<int>(quarters));
}

}  // namespace gridstride::fft
