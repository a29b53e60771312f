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
void cuda_interpreter(Stream&, Step<T> const&);
template <class T>
void cuda_planes(Stream&, Step<T> const&);

/// The program of a step compiled for the row `points` or `planes` of a GPU. Throws as
/// `gridstride::compile`.
template <class T>
std::shared_ptr<RuntimeModule const> module_of(Device const& device, Step<T> const& step,
                                               std::string_view row);

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

/// The kernel `extremes` for the results of a step's program.
template <class T>
RuntimeSource extremes_source(Step<T> const& step);

template <class T>
void cuda_impose_sides(Stream&, Grid const&, Sides<T> const&, T* values);
/// The values at the points of a side, from the array of the whole grid; value number n by itself.
template <class T>
struct FaceCopy {
  long long counts[3];   // points of the side along each axis
  long long strides[3];  // of the array
  T const* values;
  T* face;

  FaceCopy(Grid const& grid, int axis, int end, T const* array, T* target)
      : values(array), face(target) {
    long long stride = 1;
    for (int a = 0; a < 3; ++a) {
      long long const points = grid.points[static_cast<std::size_t>(a)];
      counts[a] = a == axis ? 1 : points;
      strides[a] = stride;
      if (a == axis) values += inside(end, points, 0) * stride;
      stride *= points;
    }
  }
  long long size() const { return counts[0] * counts[1] * counts[2]; }
  GRIDSTRIDE_HOST_DEVICE void operator()(long long n) const {
    long long const line = n / counts[0];
    face[n] = values[n % counts[0] * strides[0] + line % counts[1] * strides[1] +
                     line / counts[1] * strides[2]];
  }
};
/// u = g at the points of sides where it is given.
template <class T>
void host_impose_sides(Grid const& grid, Sides<T> const& sides, T* values);
template <class T>
void cuda_copy_face(Stream&, FaceCopy<T> const& copy);
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
