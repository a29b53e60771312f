#pragma once

#include <cstdint>
#include <vector>

/// The taps of well-known filters, for points at a distance of 1. For a distance h, taps of a
/// derivative of order m are divided by h^m. Every function throws `std::invalid_argument` for
/// arguments outside of what it says.
namespace gridstride::convolve {

/// What a `Filter` is made of: out_i = Σ_k values_k · in(i + center − k).
struct Taps {
  std::vector<double> values;
  std::int64_t center = 0;
};

/// Points on each side of the center of a Gaussian: truncate·sigma, rounded to the nearest.
std::int64_t gaussian_radius(double sigma, double truncate);

/// A Gaussian with standard deviation sigma > 0 in points, and its derivatives:
///
///   g_k = exp(−k²/2σ²) / Σ_j exp(−j²/2σ²),   |k| ≤ radius
///   taps = dᵐ/dkᵐ of it, m = order ≥ 0: the polynomial of the derivative times g_k
///
/// as scipy.ndimage.gaussian_filter1d has them; truncate > 0.
Taps gaussian(double sigma, int order, double truncate);

/// The mean of `size` ≥ 1 points: of those from i − size/2 on (rounded down), moved by `origin`
/// points towards smaller i, as scipy.ndimage.uniform_filter1d. −size/2 ≤ origin ≤ (size − 1)/2.
Taps box(std::int64_t size, std::int64_t origin);

inline constexpr int most_derivatives = 8;
inline constexpr int most_accuracy = 16;

/// The central difference for the derivative of order m = 1 … `most_derivatives`, with an error of
/// the order hᵖ, p = accuracy, even, 2 … `most_accuracy`. It has 2·⌊(m + 1)/2⌋ − 1 + p points.
/// B. Fornberg, Generation of finite difference formulas on arbitrarily spaced grids, Math. Comp.
/// 51 (1988) 699–706.
Taps central_difference(int order, int accuracy);

inline constexpr int most_degree = 16;

/// The value in the middle, or the derivative there, of the polynomial of `degree` that fits
/// `window` points best (least squares). `window` is odd and greater than `degree`;
/// 0 ≤ derivative ≤ degree ≤ `most_degree`. A. Savitzky, M. J. E. Golay, Anal. Chem. 36 (1964)
/// 1627–1639; by Gram's orthogonal polynomials after P. A. Gorry, Anal. Chem. 62 (1990) 570–573.
Taps savitzky_golay(std::int64_t window, int degree, int derivative);

}  // namespace gridstride::convolve
