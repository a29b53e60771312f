#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `fft`: fast Fourier, sine and cosine transforms along the axes of arrays, of any
/// length. T is float or double.
///
/// Results are not scaled: forward and back multiplies by `round_trip`. Lengths whose prime factors
/// are 2, 3, 5 and 7 are the fast ones; others take a few times as long. Relative errors are a few
/// ε·√log n. The bits of a transform are the same in every run and whatever else is in its batch;
/// whether lines lie one after the other or side by side may change them.
/// Arrays lie in the stream's device memory. Nothing synchronises.
namespace gridstride::fft {

/// What an axis of n points is expanded in; X are the coefficients of x. The kinds of reals are the
/// modes of differences between points, and named by what holds at the first and the last side. A
/// point that a Dirichlet side holds is not among the n; one on a Neumann side is.
enum class Kind {
  none,                 ///< nothing: the axis is a batch
  complex,              ///< X_k = Σ_j x_j·exp(−2πi·jk/n); back with exp(2πi·jk/n)
  periodic,             ///< reals. X_k = Σ_j x_j·cos(2πjk/n) for k ≤ n/2, and
                        ///< X_(n−k) = −Σ_j x_j·sin(2πjk/n) for 0 < k < n/2
  dirichlet_dirichlet,  ///< X_k = 2Σ_j x_j·sin(π(j+1)(k+1)/(n+1)): DST-I
  neumann_neumann,  ///< X_k = x_0 + (−1)^k·x_(n−1) + 2Σ_(0<j<n−1) x_j·cos(πjk/(n−1)): DCT-I, n ≥ 2
  dirichlet_neumann,  ///< X_k = (−1)^k·x_(n−1) + 2Σ_(j<n−1) x_j·sin(π(j+1)(2k+1)/(2n)): DST-III;
                      ///< back by DST-II
  neumann_dirichlet,  ///< X_k = x_0 + 2Σ_(0<j) x_j·cos(πj(2k+1)/(2n)): DCT-III; back by DCT-II
};

enum class Direction { forward, inverse };

/// Where element (x, y, z) of array b of a batch lies: at Σ axes[i]·index[i] + b·batch. In elements
/// of the array: a complex number is one.
struct Strides {
  std::array<std::int64_t, 3> axes = {1, 0, 0};
  std::int64_t batch = 0;
};

/// Arrays of up to three axes, all alike.
struct Shape {
  std::array<std::int64_t, 3> points = {1, 1, 1};
  std::array<Kind, 3> kinds = {Kind::none, Kind::none, Kind::none};
  std::int64_t batch = 1;
  Strides in, out;

  std::int64_t size() const { return points[0] * points[1] * points[2] * batch; }
};

/// Without gaps, the first axis fastest.
Strides dense(std::array<std::int64_t, 3> const& points);
/// Arrays without gaps, one after the other, in and out.
Shape dense(std::array<std::int64_t, 3> const& points, std::array<Kind, 3> const& kinds,
            std::int64_t batch = 1);

/// What forward and back multiply by: the product of n for complex and periodic axes, of 2(n+1),
/// 2(n−1) and 2n for the others in their order.
double round_trip(Shape const& shape);

/// The angle θ of each coefficient's mode, which goes from point to point as exp(iθj). Second
/// differences, x_(j−1) − 2x_j + x_(j+1), multiply it by −4·sin²(θ/2), derivatives by (iθ/h)^m.
/// Periodic and complex: of X_k and X_(n−k) the same, 2πk/n; else π(k+1)/(n+1), πk/(n−1), π(2k+1)/2n.
std::vector<double> angles(Kind kind, std::int64_t points);

/// All functions: `out` may be the very array `in` where the strides are the same. They throw
/// `std::invalid_argument` for a shape without an axis to transform, or with kinds that are not of
/// the function's type; for arrays that are too short or share memory; for strides that let
/// elements of an array share memory; and for a variant that this backend does not have, or that
/// does not take the shape.

/// Axes of kind `complex`.
template <class T>
void transform(Stream& stream, Shape const& shape, Direction direction,
               std::type_identity_t<std::span<std::complex<T> const>> in,
               std::span<std::complex<T>> out, std::string_view variant = "auto");

/// Axes of any kinds but `complex`: as many coefficients as values.
template <class T>
void transform(Stream& stream, Shape const& shape, Direction direction,
               std::type_identity_t<std::span<T const>> in, std::span<T> out,
               std::string_view variant = "auto");

/// Reals to complex numbers: the one axis of kind `periodic` gets n/2 + 1 coefficients, those of
/// exp(2πi·jk/n) for k ≤ n/2; the others are `complex` or `none`. `shape.points` are the reals'.
template <class T>
void transform(Stream& stream, Shape const& shape, std::type_identity_t<std::span<T const>> in,
               std::span<std::complex<T>> out, std::string_view variant = "auto");
/// The same back, which uses up `in`.
template <class T>
void transform(Stream& stream, Shape const& shape, std::span<std::complex<T>> in, std::span<T> out,
               std::string_view variant = "auto");

/// An operator that has the modes of a shape: eigenvalue constant + Σ axes[i][index[i]], in device
/// memory, as many along an axis as it has points. An axis of kind `none` may have them too; an
/// empty one adds nothing.
template <class T>
struct Eigenvalues {
  T constant = 0;
  std::array<std::span<T const>, 3> axes = {};
  double round_trip = 1;  ///< along axes that are transformed elsewhere
};

/// Solves: forward, divided by the eigenvalues and by what `round_trip` gives, and back. Where an eigenvalue
/// is 0 the coefficient becomes 0. Kinds of reals.
template <class T>
void solve(Stream& stream, Shape const& shape, Eigenvalues<T> const& eigenvalues,
           std::type_identity_t<std::span<T const>> in, std::span<T> out,
           std::string_view variant = "auto");

// ------------------------------------------------------------------------------- for the rungs

/// What the arrays of a piece of work hold.
enum class Form { complex, real, real_to_complex, complex_to_real, solve };

/// One piece of work for a rung: at least one number. Complex numbers are two of T.
template <class T>
struct Arguments {
  Shape shape;
  Form form;
  Direction direction;
  T* in;  ///< written to by `complex_to_real` alone
  T* out;
  Eigenvalues<T> eigenvalues;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that takes every shape.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::fft
