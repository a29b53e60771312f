#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/tridiagonal/tridiagonal.hpp"

/// Kernel family `pentadiagonal`: many systems of linear equations, each row of which has five
/// coefficients, as implicit steps of fourth derivatives do. T is float or double.
///
///   a_i·x_(i−2) + b_i·x_(i−1) + c_i·x_i + d_i·x_(i+1) + e_i·x_(i+2) = f_i,   i = 0 … n−1
///
/// What would multiply unknowns before the first or behind the last one is of no influence. Shapes,
/// places of numbers and findings are those of family `tridiagonal`, without periodic systems.
/// Nothing synchronises.
///
/// Rows are exchanged with the next one at most. No more is needed where every row is diagonally
/// dominant, |c| ≥ |a| + |b| + |d| + |e|, or the matrix symmetric and positive definite, as that of a
/// biharmonic step is. What went wrong is in `Findings`: a pivot that is of no use, and, once any row
/// was not dominant, the backward error of every row, which is measured then. The bits of a system
/// are the same in every run and whatever other systems are solved with it.
namespace gridstride::pentadiagonal {

using tridiagonal::Findings;
using tridiagonal::Shape;

template <class T>
struct Coefficients {
  std::span<T const> a, b, c, d, e;
};

/// Queues the solution of all systems. `solution` may be the very array `right`. `findings` has one
/// element, to which this solve adds what it meets; `tridiagonal::read` tells them, with the sum of
/// five magnitudes in the place of three. Throws `std::invalid_argument` for periodic systems, for
/// arrays that are shorter than `extent`, values that share memory with each other or with
/// coefficients, negative strides, and for a variant that this backend does not have.
template <class T>
void solve(Stream& stream, Shape const& shape, Coefficients<T> const& coefficients,
           std::type_identity_t<std::span<T const>> right, std::span<T> solution,
           std::span<Findings> findings, std::string_view variant = "auto");

/// One piece of work for a rung: at least one system of at least one unknown.
template <class T>
struct Arguments {
  Shape shape;
  T const *a, *b, *c, *d, *e, *right;
  T* solution;
  Findings* findings;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::pentadiagonal
