#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `tridiagonal`: many systems of linear equations, each row of which has three
/// coefficients. T is float or double.
///
///   a_i·x_(i−1) + b_i·x_i + c_i·x_(i+1) = d_i,   i = 0 … n−1
///
/// x_(−1) and x_n are 0, and a_0 and c_(n−1) of no influence; where the systems are periodic, they
/// are x_(n−1) and x_0. Arrays lie in the stream's device memory, anywhere a `Strides` can say: lines
/// along an axis of a grid, right-hand sides that share coefficients (an axis of systems along which
/// the coefficients' stride is 0), coefficients that are one number (all strides 0). Nothing
/// synchronises.
///
/// Only rows named `pivoted` exchange rows or take pivots of two; the others need no more where every
/// row is diagonally dominant, |b| ≥ |a| + |c|. What went wrong is in `Findings`: a pivot that is of
/// no use, and, once any row was not dominant, the backward error of every row, which is measured
/// then. The bits of a system are the same in every run and whatever other systems are solved with
/// it; where they lie may change them.
namespace gridstride::tridiagonal {

/// Where element i of system (p, q, r) lies: at i·element + p·of[0] + q·of[1] + r·of[2].
struct Strides {
  std::int64_t element = 1;
  std::array<std::int64_t, 3> of = {0, 0, 0};
};

/// Many systems of one size.
struct Shape {
  std::int64_t size = 0;  ///< unknowns of a system
  std::array<std::int64_t, 3> systems = {1, 1, 1};
  Strides coefficients, values;  ///< of a, b and c; of d and x
  bool periodic = false;

  std::int64_t count() const { return systems[0] * systems[1] * systems[2]; }
};

/// Systems that lie one after the other without gaps, each with coefficients of its own.
Shape contiguous(std::int64_t size, std::int64_t systems);
/// Systems side by side: element i of system s at i·systems + s.
Shape interleaved(std::int64_t size, std::int64_t systems);

/// Elements that arrays with such strides have to have.
std::int64_t extent(Shape const& shape, Strides const& strides);

/// Throws `std::invalid_argument`, beginning with the family's name, for negative sizes and strides,
/// and for values that share memory with each other.
void require_shape(std::string_view family, Shape const& shape);
/// The same for an array that is shorter than an `extent`.
void require_extent(std::string_view family, std::string_view array, std::size_t elements,
                    std::int64_t least);

/// What solves have met, all of them since it was set to zero, in device memory.
struct Findings {
  std::uint64_t bad_pivot;       ///< 0, or the complement of system·n + row of the first
  std::uint64_t measured;        ///< whether some row was not dominant, so that rows are judged
  std::uint64_t backward_error;  ///< the bits of a double: the largest of any row
};

/// The same for people.
struct Report {
  struct Place {
    std::int64_t system, row;  ///< systems are counted with the first axis fastest
  };
  std::optional<Place> bad_pivot;  ///< zero, or too small for a reciprocal
  /// max |d − a·x_(i−1) − b·x_i − c·x_(i+1)| / ((|a| + |b| + |c|)·X + |d|) over all rows, with X the
  /// largest |x| among the row's 4096 (those of i/4096, rounded down; fewer by `pivoted` on GPUs,
  /// which makes it larger, if anything); nothing where all rows were dominant, infinity where it cannot be told, since the solution has taken the place of the
  /// right-hand side, or is not finite.
  std::optional<double> backward_error;

  /// What is wrong with the solution, in words; empty where nothing is: no bad pivot, and no
  /// backward error above 1024·ε, where elimination of dominant rows leaves a few ε.
  template <class T>
  std::string fault() const;
};

/// Waits for the stream and reads.
Report read(Stream& stream, Shape const& shape, std::span<Findings const> findings);

template <class T>
struct Coefficients {
  std::span<T const> lower, diagonal, upper;  ///< a, b, c
};

/// Queues the solution of all systems. `solution` may be the very array `right`. `findings` has one
/// element, to which this solve adds what it meets. Throws `std::invalid_argument` for arrays that
/// are shorter than `extent`, values that share memory with each other or with coefficients,
/// negative strides, and for a variant that this backend does not have or that does not take the
/// shape.
template <class T>
void solve(Stream& stream, Shape const& shape, Coefficients<T> const& coefficients,
           std::type_identity_t<std::span<T const>> right, std::span<T> solution,
           std::span<Findings> findings, std::string_view variant = "auto");

/// One piece of work for a rung: at least one system of at least one unknown.
template <class T>
struct Arguments {
  Shape shape;
  T const *lower, *diagonal, *upper, *right;
  T* solution;
  Findings* findings;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that takes every shape.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::tridiagonal
