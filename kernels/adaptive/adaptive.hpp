#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "core/variant.hpp"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/integrand/integrand.hpp"

/// Kernel family `adaptive`: integrals of one variable to a tolerance, many at a time.
///
///   results_i = ∫_a^b f(x; p_i0, …, p_i(m−1)) dx
///
/// `parameters` has a row of `integrand.parameters` numbers for each integral and `results` an
/// element; both lie in the stream's device memory. T is the precision of the samples; sums and
/// results are float64. An integral is done when its estimated error is at most the goal's
/// tolerance; one that cannot be brought there has the outcome `not_reached` and its best value,
/// one with a sample that is no number `non_finite`. The same input gives the same bits on the same
/// device, and the value of an integral does not depend on the others but for the last rounding of
/// its sum.
///
/// Every function throws `std::invalid_argument` for an integrand of more than one dimension, ends
/// that are no numbers (or infinite where that is not allowed), a tolerance below 0 or not finite,
/// arrays of the wrong size, and a variant that this backend does not have.
namespace gridstride::quadrature {

/// How `gauss_kronrod` refines.
struct GaussKronrodOptions {
  int points = 21;  ///< of the rule: 15 or 21; an interval takes two samples more
  Goal tolerance = {1e-10, 0};
  int initial_intervals = 4;    ///< equal parts to begin with, 1 … 1024
  int max_intervals = 1 << 16;  ///< an integral with as many is not refined; at most 2^22
};

/// How `tanh_sinh` refines.
struct TanhSinhOptions {
  Goal tolerance = {1e-10, 0};
  int max_level = 12;  ///< 4 … 16; up to level L there are about 11·2^L samples
};

/// One piece of work for a row.
struct SweepArguments {
  Integrand const& integrand;
  Interval interval;
  double const* parameters;
  std::size_t integrals;
  Estimate* results;
};

using GaussKronrodFunction = void(Stream&, SweepArguments const&, GaussKronrodOptions const&);
using TanhSinhFunction = void(Stream&, SweepArguments const&, TanhSinhOptions const&);

/// The rows of each, from the plainest to the fastest of each backend.
template <class T>
std::span<Variant<GaussKronrodFunction> const> gauss_kronrod_variants();
template <class T>
std::span<Variant<TanhSinhFunction> const> tanh_sinh_variants();

/// What `auto` means, for both.
std::string_view default_adaptive(Backend backend);

/// Adaptive Gauss–Kronrod quadrature over a finite interval: generation by generation, all
/// intervals with more than their share of the error are halved (`decide` in intervals.hpp
/// says what that is, and why this ends). On a GPU it waits for the stream: to learn which
/// integrals are unfinished, and how many intervals these have after each generation.
template <class T>
void gauss_kronrod(Stream& stream, Integrand const& integrand, Interval interval,
                   std::span<double const> parameters, GaussKronrodOptions const& options,
                   std::span<Estimate> results, std::string_view variant = "auto");

/// Double exponential quadrature (tanh_sinh.hpp): for singularities at the ends, which are never
/// sampled, and for infinite ends. A singularity at an end other than 0 costs digits, since x there
/// is a number near that end with few digits of its distance; the estimate accounts for that.
/// Does not synchronise.
template <class T>
void tanh_sinh(Stream& stream, Integrand const& integrand, Interval interval,
               std::span<double const> parameters, TanhSinhOptions const& options,
               std::span<Estimate> results, std::string_view variant = "auto");

/// A sample of the integrand that is no number, as the host meets it: the integral with these
/// parameters is computed again. None when all samples that it takes are numbers.
std::optional<double> non_finite_sample(Integrand const& integrand, Interval interval,
                                        std::span<double const> parameters,
                                        GaussKronrodOptions const& options);
std::optional<double> non_finite_sample(Integrand const& integrand, Interval interval,
                                        std::span<double const> parameters,
                                        TanhSinhOptions const& options);

}  // namespace gridstride::quadrature
