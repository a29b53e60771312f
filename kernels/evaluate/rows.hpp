#pragma once

#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/points.hpp"

/// The rows of the family's table, and what they share.
namespace gridstride::evaluate {

Points points_of(Grid const& grid);
Arrays arrays_of(std::span<ArrayView const> views);

namespace host {
template <class T>
EvaluateFunction<T> reference;
template <class T>
EvaluateFunction<T> threads;
template <class T>
EvaluateFunction<T> separated;
}  // namespace host

/// What kernels that are compiled at run time are for: all formulas of a source at the points.
struct CompiledWork {
  Points points = {};
  DeviceClock const* clock = nullptr;
  double fraction = 0;
  Results results = {};
  Arrays arrays = {};
};
template <class T>
void launch_compiled(Stream& stream, RuntimeModule const& module, CompiledWork const& work);

/// What tells that the compiler is missing.
std::string fallback_text(RuntimeCompilerMissing const& missing);

namespace cuda {
inline constexpr int block_threads = 128;

/// Blocks for a grid, each thread with several points where there are many.
unsigned blocks_for(Stream& stream, Points const& points);

template <class T>
EvaluateFunction<T> interpreter;
template <class T>
EvaluateFunction<T> compiled;
void set_clock(Stream& stream, DeviceClock* clock, DeviceClock const& value);
void advance_clock(Stream& stream, DeviceClock* clock);
}  // namespace cuda

/// The code that is compiled for one formula, of any arrays.
RuntimeSource source_of(expression::Expression const& formula);

}  // namespace gridstride::evaluate
