#include "kernels/system/system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/support/parallel_for.hpp"
#include "kernels/system/interpreter.hpp"
#include "kernels/system/pieces.hpp"
#include "kernels/system/rows.hpp"

namespace gridstride::system {

template <class T>
std::span<Variant<SystemFunction<T>> const> variants() {
  static Variant<SystemFunction<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "the program at every point in turn, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "rows shared among threads; each instruction over a piece of a row, in loops that the "
       "compiler vectorises"},
      {"interpreter", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_interpreter<T>),
       "a thread for each point runs the program as code, with its values in shared memory; needs "
       "no compiler at run time"},
      {"points", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_points<T>),
       "a thread for four points of a column, with the program compiled into the kernel; "
       "neighbours come from the caches"},
      {"planes", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_planes<T>),
       "in 3D, threads march along z with vectors of the planes within reach in registers"},
      {"march", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_march<T>),
       "in 2D, warps march along y with the rows of all stages of several steps in registers"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "points";
}

std::string_view default_variant(Backend backend, int dims) {
  return backend == Backend::cuda && dims == 3 ? "planes" : default_variant(backend);
}

namespace {

[[noreturn]] void refuse(std::string const& why) { throw std::invalid_argument("system: " + why); }

template <class T>
void check_axes(Step<T> const& step) {
  Grid const& grid = step.grid;
  for (int axis = 0; axis < grid.dims; ++axis) {
    auto const a = static_cast<std::size_t>(axis);
    bool const wraps = step.inputs.empty() || step.inputs.front().sides[axis][0].wraps;
    for (Input<T> const& input : step.inputs)
      for (auto const& side : input.sides[axis])
        if (side.wraps != wraps)
          refuse(fmt::format("axis {} wraps around on some of its sides only", axis_names[a]));
    int const fewest = fewest_points(step.program->reach[a], wraps);
    if (grid.points[a] < fewest)
      refuse(
          fmt::format("axis {} has {} points, and the equations reach {} points beyond each "
                      "({} are the least)",
                      axis_names[a], grid.points[a], step.program->reach[a], fewest));
  }
}

template <class T>
void check(Step<T> const& step) {
  if (step.program == nullptr) refuse("there is no program");
  StencilProgram const& program = *step.program;
  if (std::ssize(step.inputs) < program.components || step.outputs.size() != program.results.size())
    refuse(fmt::format("{} inputs and {} outputs for a program of {} components and {} results",
                       step.inputs.size(), step.outputs.size(), program.components,
                       program.results.size()));
  if (step.is_stage && step.inputs.size() < step.outputs.size())
    refuse("a stage has more rates than components");
  if (step.addend_weights.size() > max_addends) refuse("too many addends");
  for (Output<T> const& output : step.outputs) {
    if (output.values == nullptr || (step.is_stage && output.base == nullptr))
      refuse("an output is missing");
    for (std::size_t i = 0; i < step.addend_weights.size(); ++i)
      if (output.addends[i] == nullptr) refuse("an addend is missing");
    for (Input<T> const& input : step.inputs)
      if (input.values == output.values) refuse("an output is the same array as an input");
  }
  for (Input<T> const& input : step.inputs)
    if (input.values == nullptr) refuse("an input is missing");
  if ((program.needs_clock() || step.needs_step) && step.clock == nullptr)
    refuse("the program needs a clock");
  if (program.found > 0 && step.found == nullptr) refuse("what is found beforehand is missing");
  check_axes(step);
}

}  // namespace

namespace {

template <class T>
Prepared prepared_for(Device const& device, Step<T> const& step, std::string_view variant) {
  bool const by_default = variant == "auto";
  auto const wanted = by_default ? default_variant(device.backend(), step.grid.dims) : variant;
  Prepared result = {.asked_for = std::string(variant),
                     .variant = find_variant("system", variants<T>(), device, wanted).name};
  if (result.variant == "points" || result.variant == "planes") try {
      result.module = module_of(device, step, result.variant);
    } catch (RuntimeCompilerMissing const& missing) {
      if (!by_default) throw;
      result.variant = "interpreter";
      result.fallback =
          fmt::format("system: {} gave way to interpreter ({})", wanted, missing.what());
    }
  if (result.variant == "threads")
    result.pieces = std::make_shared<PieceProgram const>(*step.program);
  if (result.variant == "interpreter") result.code = interpreter_code(device, *step.program);
  return result;
}

}  // namespace

template <class T>
void advance(Stream& stream, Step<T> const& step, std::string_view variant) {
  if (step.prepared == nullptr) {
    Prepared prepared;
    auto once = step;
    once.prepared = &prepared;
    return advance(stream, once, variant);
  }
  check(step);
  Prepared& prepared = *step.prepared;
  if (prepared.variant.empty() || prepared.asked_for != variant)
    prepared = prepared_for(stream.device(), step, variant);
  if (stream.backend() == Backend::cpu && step.needs_step && step.clock->step_size == 0) return;
  find_variant("system", variants<T>(), stream.device(), prepared.variant).run(stream, step);
}

template <class T>
Side<T> side_of(SideKind kind, double spacing, T const* g, T const* a, bool is_along_normal) {
  switch (kind) {
    case SideKind::periodic:
      return {};
    case SideKind::antiperiodic:
      return {.sign = -1};
    case SideKind::dirichlet:
      return {.wraps = false, .given = true, .sign = -1, .own = 2, .g = g};
    case SideKind::neumann:
      return {.wraps = false, .slope = static_cast<T>(2 * spacing), .g = g};
    case SideKind::robin:
      return {.wraps = false, .slope = static_cast<T>(2 * spacing), .g = g, .a = a};
    case SideKind::wall:
      return {.wraps = false, .given = is_along_normal, .sign = T(is_along_normal ? -1 : 1)};
    case SideKind::flux:
    case SideKind::outflow:
      return {.wraps = false, .sign = -1, .own = 2};
    default:
      refuse("there is no rule for this kind of side");
  }
}

template <class T>
void host_impose_sides(Grid const& grid, Sides<T> const& sides, T* values) {
  Extents const extents(grid);
  auto const [nx, ny, nz] = extents.points;
  parallel_for(ny * nz, 8, [&, nx = nx, ny = ny, nz = nz](std::int64_t line) {
    long long const j = line % ny, k = line / ny;
    auto const impose = [&](long long i) {
      auto const held = held_by<T>(sides, grid.dims, extents.points, i, j, k);
      if (held.axis < 3)
        values[line * nx + i] = held_value<T>(sides, extents.points, held, i, j, k);
    };
    bool const on_side =
        (grid.dims > 1 && (j == 0 || j == ny - 1)) || (grid.dims > 2 && (k == 0 || k == nz - 1));
    long long const step = on_side || nx == 1 ? 1 : nx - 1;
    for (long long i = 0; i < nx; i += step) impose(i);
  });
}

template <class T>
void impose_sides([[maybe_unused]] Stream& stream, Grid const& grid, Sides<T> const& sides,
                  T* values) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_impose_sides(stream, grid, sides, values);
#endif
  host_impose_sides(grid, sides, values);
}

template <class T>
void copy_face([[maybe_unused]] Stream& stream, Grid const& grid, int axis, int end,
               T const* values, T* face) {
  FaceCopy<T> const copy(grid, axis, end, values, face);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_copy_face(stream, copy);
#endif
  long long const rows = copy.counts[1] * copy.counts[2];
  parallel_for(rows, copy.counts[0], [&](std::int64_t row) {
    for (long long i = 0; i < copy.counts[0]; ++i) copy(row * copy.counts[0] + i);
  });
}

namespace {
constexpr std::int64_t piece = 4096;  // points that are worth handing to a thread

template <class Body>
void for_each_point(std::size_t points, Body const& body) {
  auto const count = static_cast<std::int64_t>(points);
  parallel_for((count + piece - 1) / piece, 2 * piece, [&](std::int64_t p) {
    for (std::int64_t i = p * piece; i < std::min(count, (p + 1) * piece); ++i)
      body(static_cast<std::size_t>(i));
  });
}
}  // namespace

template <class T>
void interleave([[maybe_unused]] Stream& stream, std::span<T const* const> arrays,
                std::span<T> result) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_interleave(stream, arrays, result);
#endif
  for_each_point(result.size() / arrays.size(), [&](std::size_t i) {
    for (std::size_t c = 0; c < arrays.size(); ++c) result[i * arrays.size() + c] = arrays[c][i];
  });
}

template <class T>
void separate([[maybe_unused]] Stream& stream, std::span<T const> vectors,
              std::span<T* const> arrays) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_separate(stream, vectors, arrays);
#endif
  for_each_point(vectors.size() / arrays.size(), [&](std::size_t i) {
    for (std::size_t c = 0; c < arrays.size(); ++c) arrays[c][i] = vectors[i * arrays.size() + c];
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                             \
  template std::span<Variant<SystemFunction<T>> const> variants<T>();         \
  template void advance(Stream&, Step<T> const&, std::string_view);           \
  template Side<T> side_of(SideKind, double, T const*, T const*, bool);       \
  template void impose_sides(Stream&, Grid const&, Sides<T> const&, T*);      \
  template void host_impose_sides(Grid const&, Sides<T> const&, T*);          \
  template void copy_face(Stream&, Grid const&, int, int, T const*, T*);      \
  template void interleave(Stream&, std::span<T const* const>, std::span<T>); \
  template void separate(Stream&, std::span<T const>, std::span<T* const>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::system
