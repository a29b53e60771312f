#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "equations/discretise.hpp"
#include "grid/grid.hpp"
#include "kernels/evaluate/points.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "kernels/system/sides.cuh"

/// Kernel family `system`: stages of explicit schemes for systems of partial differential
/// equations, by programs of differences (equations/discretise.hpp).
namespace gridstride::system {

using equations::StencilProgram;

/// Arrays that a stage has beside `in`, `out` and `base`, at most.
inline constexpr int max_addends = 2;

/// What becomes of a result of the program. All arrays lie in device memory.
template <class T>
struct Output {
  T* values = nullptr;  ///< none of the inputs; may be `base` or an addend
  T const* base = nullptr;
  std::array<T const*, max_addends> addends = {};  ///< all that `Step::addend_weights` has
};

/// A grid as a piece of a larger one, which may lie beyond its sides. Along an axis that wraps, points
/// there count around the larger one.
struct Piece {
  std::array<std::int64_t, 3> first = {};  ///< the number of its first point there
  std::array<std::int64_t, 3> whole = {};  ///< the points there
};

struct InterpreterCode;
struct PieceProgram;

/// A program made ready for a device by a row that runs it. Copies share what is in it.
struct Prepared {
  std::string asked_for = {};     ///< the variant that was
  std::string_view variant = {};  ///< the row that runs it; empty: nothing is ready yet
  std::shared_ptr<RuntimeModule const> module = {};  ///< of rows that are compiled for a GPU
  std::shared_ptr<InterpreterCode const> code = {};  ///< of `interpreter`
  std::shared_ptr<PieceProgram const> pieces = {};   ///< of `threads`
  /// Why it is not the row that was meant, as "system: points gave way to interpreter (...)"; empty
  /// where it is.
  std::string fallback = {};
};

/// One evaluation of a program L at every point of a grid, from the components `inputs` (`in`).
/// Where `is_stage`, result r is the rate of component r (what the program reads beside may follow
/// these), and
///
///   out = base + (factor·L + in_weight·(in − base) + Σ weight·(addend − base))
///
/// but for points on a side that is `given` for the component, which hold its g (`held_by`). Else
/// out = L, at all points.
///
/// Every component has an array of its own, `grid.size()` values, x fastest, without ghost points:
/// what an instruction loads beyond a side is `value_at`. Along an axis either all sides wrap or
/// none. Coordinates are origin + i·h in float64, rounded to T, where i counts around an axis that
/// wraps and beyond the sides else; the time is the clock's, rounded to T. Random numbers are those
/// of random.cuh, where noise is of the clock's present step. Numbers are rounded to T, operations
/// are those of `apply_in`, in the order of the program.
template <class T>
struct Step {
  StencilProgram const* program = nullptr;
  Grid grid;
  std::vector<Input<T>> inputs;    ///< at least as many as the program's components
  std::vector<Output<T>> outputs;  ///< as many as its results
  bool is_stage = true;
  double factor = 0;     ///< s: the time step, or a share of it
  double in_weight = 0;  ///< 0 where `base` is `in`
  std::vector<double> addend_weights = {};
  /// In device memory, needed where the program depends on time, which is taken at `fraction` of
  /// the step, or has noise.
  evaluate::DeviceClock const* clock = nullptr;
  double fraction = 0;
  /// In device memory: the numbers that the program has found beforehand, at least as many as it
  /// looks at.
  double const* found = nullptr;
  /// Nothing is done where the clock has no step, which then has to be given.
  bool needs_step = false;
  /// Where the grid is a piece of a larger one, coordinates, random numbers and what lies on a side are
  /// those of that; its origin is the larger one's.
  std::optional<Piece> piece = {};
  /// The program made ready, by the first `advance`, and kept from one evaluation to the next that
  /// differs in arrays, numbers and weights alone; null: `advance` makes it ready each time. It is
  /// best made with arrays that begin at multiples of 16 bytes.
  Prepared* prepared = nullptr;
};

template <class T>
using SystemFunction = void(Stream&, Step<T> const&);

/// Every variant, from the textbook's to the fastest of each backend. GPU rows of a build without
/// CUDA have no function. All variants of a backend give the same bits, the host and the GPU agree
/// but for rounding.
template <class T>
std::span<Variant<SystemFunction<T>> const> variants();

/// The variant that `auto` means; in 3D a GPU has another one. Without NVRTC that becomes
/// `interpreter`, which has the same bits.
std::string_view default_variant(Backend backend);
std::string_view default_variant(Backend backend, int dims);

/// Queues an evaluation. `variant` is a row's name or "auto". Throws `std::invalid_argument` for a
/// missing array, clock or numbers, an output that is an input, numbers of arrays that do not fit
/// the program, axes that wrap on one side or for one component only, an axis with too few points
/// for what the program reads beyond its sides (`fewest_points`), or a variant that this backend
/// does not have. On a GPU it throws as `gridstride::compile` where a variant is asked for by name,
/// and `Error` for a program that is too long for `interpreter`. Never synchronises, but where a
/// program is made ready.
template <class T>
void advance(Stream& stream, Step<T> const& step, std::string_view variant = "auto");

/// The fewest points along an axis with which a program of this reach has what it reads: as many as
/// it reaches where the axis wraps, one more else.
inline int fewest_points(int reach, bool wraps) { return reach + (wraps ? 0 : 1); }

/// The rule of a kind of side, of second order, on an axis with a spacing of h:
///
///   periodic      u(−j) = u(n − j)
///   antiperiodic  u(−j) = −u(n − j)
///   dirichlet     the side's points hold g, and u(−j) = 2u(0) − u(j)
///   neumann       u(−j) = u(j) + 2jh·g, g the derivative along the outward normal
///   robin         u(−j) = u(j) + 2jh·(g − a·u(0)), where that derivative is g − a·u
///   wall          u(−j) = u(j); as dirichlet with g = 0 for the component along the normal
///   outflow, flux u(−j) = 2u(0) − u(j): a straight line
///
/// Throws `std::invalid_argument` for other kinds.
template <class T>
Side<T> side_of(SideKind kind, double spacing, T const* g, T const* a = nullptr,
                bool is_along_normal = false);

/// Queues u = g at the points of sides where it is given.
template <class T>
void impose_sides(Stream& stream, Grid const& grid, Sides<T> const& sides, T* values);

/// Queues a copy of a component's values at the points of a side, in the order of `face_place`.
template <class T>
void copy_face(Stream& stream, Grid const& grid, int axis, int end, T const* values, T* face);

/// Queues result[c + components·i] = arrays[c][i]: a vector's components side by side.
template <class T>
void interleave(Stream& stream, std::span<T const* const> arrays, std::span<T> result);
/// The other way round.
template <class T>
void separate(Stream& stream, std::span<T const> vectors, std::span<T* const> arrays);

}  // namespace gridstride::system
