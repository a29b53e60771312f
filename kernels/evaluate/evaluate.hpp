#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/buffer.hpp"
#include "core/variant.hpp"
#include "expression/expression.hpp"
#include "expression/operations.hpp"
#include "grid/grid.hpp"
#include "kernels/evaluate/points.hpp"
#include "kernels/evaluate/separated.hpp"
#include "kernels/support/runtime_compiler.hpp"

/// Kernel family `evaluate`: a formula at every point of a grid, of space, time and of arrays.
namespace gridstride::evaluate {

using expression::Instruction;

/// A formula made ready for one device. The stream must be the one that evaluates it.
class Program {
 public:
  /// `variant` is a row of the family, or `auto`: on a GPU `compiled` for a formula that depends on
  /// time, since it is evaluated again and again, else `interpreter`. Where NVRTC is missing,
  /// the `compiled` of `auto` becomes `interpreter`; one that is asked for by name throws
  /// `RuntimeCompilerMissing`.
  Program(Stream& stream, expression::Expression const& expression,
          std::string_view variant = "auto");

  std::span<Instruction const> code() const { return code_.span(); }  // in device memory
  int stack_depth() const { return formula_.stack_depth(); }
  bool depends_on_time() const { return depends_on_time_; }
  /// Its parts by an axis, where it goes by the row `separated`.
  Separated const& separated(int axis) const { return separated_[static_cast<std::size_t>(axis)]; }
  /// How many arrays the formula needs.
  int array_count() const;
  /// The row that evaluates it.
  std::string_view variant() const { return variant_; }
  /// Why it is not the one that was meant, as "evaluate: compiled gave way to interpreter (...)";
  /// empty when it is.
  std::string const& fallback() const { return fallback_; }
  /// The kernels of `compiled`; compiled when they are first asked for.
  RuntimeModule const& module(Device const& device) const;

 private:
  expression::Expression formula_;
  Buffer<Instruction> code_;
  std::array<Separated, 3> separated_;
  bool depends_on_time_;
  std::string variant_;
  std::string fallback_;
  mutable std::shared_ptr<RuntimeModule const> module_;
};

/// An array in device memory with a value at each point of the grid, x fastest.
struct ArrayView {
  void const* data = nullptr;
  Precision precision = Precision::float64;
};

/// Arguments of one evaluation: result[i] = f(x_i, y_i, z_i, t, a_i, b_i, ...), computed in float64
/// and rounded to T. `clock` (device memory) gives t; it may be null for formulas that do not
/// depend on t. The values a_i, b_i, ... of the arrays are the variables from
/// `expression::first_array` on.
template <class T>
struct Evaluation {
  Program const* program = nullptr;
  Grid grid;  ///< an axis with one point evaluates at its origin; faces of a grid are such grids
  DeviceClock const* clock = nullptr;
  double fraction = 0;
  T* result = nullptr;  ///< grid.size() values in device memory, none of the arrays
  Arrays arrays = {};   ///< as many as the program needs
};

template <class T>
using EvaluateFunction = void(Stream&, Evaluation<T> const&);

/// Every variant of the family, from the plainest to the fastest of each backend. GPU rows of a
/// build without CUDA have no function.
template <class T>
std::span<Variant<EvaluateFunction<T>> const> variants();

/// The variant that is used for a formula that is evaluated once.
std::string_view default_variant(Backend backend);

/// Queues an evaluation by the program's variant. Throws `std::invalid_argument` when `result` is
/// smaller than the grid, or a clock or an array is needed and missing. Never synchronises.
template <class T>
void evaluate(Stream& stream, Program const& program, Grid const& grid, DeviceClock const* clock,
              double fraction, std::span<T> result, std::span<ArrayView const> arrays = {});

/// Queues an assignment to a clock in device memory, without waiting for the device as a copy from
/// the host would. Throws `std::invalid_argument` when it is null.
void set_clock(Stream& stream, DeviceClock* clock, DeviceClock const& value);

/// Queues steps += 1 on a clock in device memory. Throws `std::invalid_argument` when it is null.
void advance_clock(Stream& stream, DeviceClock* clock);

}  // namespace gridstride::evaluate
