#pragma once

#include <cmath>
#include <type_traits>

#include "expression/operations.hpp"
#include "kernels/system/arguments.cuh"
#include "kernels/system/system.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::system {

template <class T>
void host_reference(Stream&, Step<T> const&);
template <class T>
void host_threads(Stream&, Step<T> const&);
template <class T>
void cuda_points(Stream&, Step<T> const&);
template <class T>
void cuda_march(Stream&, Step<T> const&);

template <class T>
void cuda_planes(Stream&, Step<T> const&);

/// A step's numbers and arrays for a kernel.
template <class T>
StageArguments<T> arguments_of(Step<T> const& step);
/// The axes that wrap.
template <class T>
std::array<bool, 3> wraps_of(Step<T> const& step);

/// What stands before the kernels of a program: the numbers and the function that compiled.cuh asks
/// for, the function's body given.
std::string program_text(StencilProgram const& program, std::array<bool, 3> const& wraps,
                         int components, Precision precision, std::string const& body);
Place place_of(Grid const& grid, evaluate::DeviceClock const* clock, double const* found);

/// What is compiled for a program; `wraps`: the axes that do.
template <class T>
RuntimeSource source_of(StencilProgram const& program, std::array<bool, 3> const& wraps,
                        int components);

template <class T>
void cuda_impose_sides(Stream&, Grid const&, Sides<T> const&, T* values);
template <class T>
void cuda_interleave(Stream&, std::span<T const* const> arrays, std::span<T> result);
template <class T>
void cuda_separate(Stream&, std::span<T const> vectors, std::span<T* const> arrays);

/// The sides and points of a grid as value_at takes them.
struct Extents {
  long long points[3];
  explicit Extents(Grid const& grid) {
    for (int axis = 0; axis < 3; ++axis) points[axis] = grid.points[static_cast<std::size_t>(axis)];
  }
};

/// One operation in the arithmetic of T; functions are those of float64, rounded to T.
template <class T>
__attribute__((always_inline)) inline T apply_in(expression::Operation operation, T a, T b, T c) {
  using expression::Operation;
  // clang-format off
  switch (operation) {
    case Operation::negate: return -a;
    case Operation::add: return a + b;
    case Operation::subtract: return a - b;
    case Operation::multiply: return a * b;
    case Operation::divide: return a / b;
    case Operation::less: return a < b;
    case Operation::less_equal: return a <= b;
    case Operation::greater: return a > b;
    case Operation::greater_equal: return a >= b;
    case Operation::equal: return a == b;
    case Operation::not_equal: return a != b;
    case Operation::select: return a != 0 ? b : c;
    case Operation::sqrt: return std::sqrt(a);
    case Operation::abs: return std::abs(a);
    case Operation::min: return b != b || a < b ? a : b;  // as fmin, in loops that become vectors
    case Operation::max: return b != b || a > b ? a : b;
    default:
      return static_cast<T>(expression::apply(operation, static_cast<double>(a),
                                              static_cast<double>(b), static_cast<double>(c)));
  }
  // clang-format on
}

}  // namespace gridstride::system
