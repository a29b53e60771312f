#include "kernels/stencil/stencil.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/stencil/rows.hpp"

namespace gridstride::stencil {

namespace {

/// Passes over memory from array to array until all steps are made. `pass(arguments, left)` makes
/// some of those that are left, and returns how many.
template <class T, class Pass>
T* alternate(DiffusionArguments<T> arguments, Repeat<T> const& repeat, Pass const& pass) {
  T* other = repeat.in;
  std::int64_t left = repeat.steps;
  while ((left -= pass(arguments, left)) > 0) {
    arguments.in = std::exchange(arguments.out, other);
    other = const_cast<T*>(arguments.in);
  }
  return arguments.out;
}

/// The function of a row that makes one step at a time. The next one may look at any plane.
template <auto one_step, class T>
T* one_by_one(Stream& stream, int dims, DiffusionArguments<T> const& arguments,
              Repeat<T> const& repeat) {
  return alternate(arguments, repeat, [&](auto pass, std::int64_t left) {
    if (left > 1) {
      pass.made[0] = 0;
      pass.made[1] = pass.points[dims - 1];
    }
    one_step(stream, dims, pass);
    return 1;
  });
}

/// The most steps that one pass makes, up to those wanted.
int next_steps(int dims, int wanted) {
  return dims == 1   ? next_line_steps(wanted)
         : dims == 2 ? next_plane_steps(wanted)
                     : next_volume_steps(wanted);
}

#ifdef GRIDSTRIDE_WITH_CUDA

template <class T>
T* cuda_temporal(Stream& stream, int dims, DiffusionArguments<T> const& arguments,
                 Repeat<T> const& repeat) {
  return alternate(arguments, repeat, [&](auto const& pass, std::int64_t left) {
    int const wanted = static_cast<int>(std::min<std::int64_t>(left, repeat.fused_steps));
    int const steps = next_steps(dims, wanted);
    if (steps == 1)
      cuda_register_queue(stream, dims, pass);
    else if (dims == 1)
      cuda_temporal_line(stream, pass, steps);
    else if (dims == 2)
      cuda_temporal_plane(stream, pass, steps);
    else
      cuda_temporal_volume(stream, pass, steps, left < repeat.steps);
    return steps;
  });
}

/// One step from array to array, and the others in place.
template <class T>
T* cuda_resident(Stream& stream, int dims, DiffusionArguments<T> const& arguments,
                 Repeat<T> const& repeat) {
  cuda_register_queue(stream, dims, arguments);
  auto* const resident = dims == 1 ? cuda_resident_line<T>
                         : cuda_fits_plane<T>(stream.device(), arguments.points)
                             ? cuda_resident_plane<T>
                             : cuda_resident_grid<T>;
  constexpr std::int64_t most_steps = std::int64_t{1} << 30;  // of one launch
  for (std::int64_t left = repeat.steps - 1; left > 0; left -= most_steps)
    resident(stream, arguments, static_cast<int>(std::min(left, most_steps)));
  return arguments.out;
}

#endif

}  // namespace

template <class T>
std::span<Variant<DiffusionFunction<T>> const> variants() {
  static Variant<DiffusionFunction<T>> const rows[] = {
      {"reference", Backend::cpu, one_by_one<host_reference<T>>,
       "every point in turn, on one thread"},
      {"threads", Backend::cpu, one_by_one<host_threads<T>>,
       "rows shared among threads; a branch-free inner loop that the compiler vectorises"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(one_by_one<cuda_naive<T>>),
       "one thread per point, neighbours through the caches"},
      {"shared", Backend::cuda, GRIDSTRIDE_CUDA_ROW(one_by_one<cuda_shared<T>>),
       "each block stages its tile and halo in shared memory"},
      {"register_queue", Backend::cuda, GRIDSTRIDE_CUDA_ROW(one_by_one<cuda_register_queue<T>>),
       "16-byte vectors march along the slowest axis, neighbours in registers and shuffles"},
      {"temporal", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_temporal<T>),
       "several steps in one pass over memory, with wide halos computed again; neither a source "
       "nor "
       "a field of diffusivity; a step that is left over alone is one of register_queue"},
      {"resident",
       Backend::cuda,
       GRIDSTRIDE_CUDA_ROW(cuda_resident<T>),
       "lines and planes that fit stay in the registers of one cluster, or planes of all "
       "multiprocessors, for all steps, after a first one of register_queue; neither a source nor "
       "a field of diffusivity",
       {.clusters = true}},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "temporal";
}

namespace {

SideRule rule_of(SideKind kind) {
  switch (kind) {
    case SideKind::dirichlet:
      return SideRule::dirichlet;
    case SideKind::neumann:
      return SideRule::neumann;
    default:
      return SideRule::periodic;
  }
}

template <class T>
void set_sides(DiffusionArguments<T>& arguments, Grid const& grid,
               std::array<std::array<typename DiffusionStep<T>::Side, 2>, 3> const& sides) {
  for (int axis = 0; axis < 3; ++axis) {
    arguments.points[axis] = grid.points[axis];
    if (axis < grid.dims && grid.points[axis] < 3)
      throw std::invalid_argument(fmt::format("stencil: axis {} has {} points, 3 are the least",
                                              axis_names[axis], grid.points[axis]));
    for (int side = 0; side < 2; ++side) {
      auto const& [kind, values] = sides[axis][side];
      arguments.side[axis][side] = rule_of(kind);
      arguments.side_value[axis][side] = values;
      if (axis < grid.dims && kind != SideKind::periodic && values == nullptr)
        throw std::invalid_argument(
            fmt::format("stencil: a side of axis {} has no values", axis_names[axis]));
    }
  }
}

}  // namespace

template <class T>
DiffusionArguments<T> arguments_of(DiffusionStep<T> const& step) {
  if (step.in == nullptr || step.out == nullptr)
    throw std::invalid_argument("stencil: in and out are both needed");
  if (step.in == step.out) throw std::invalid_argument("stencil: out is the same array as in");
  if (step.base == nullptr && step.in_weight != 0)
    throw std::invalid_argument("stencil: in_weight needs a base");
  DiffusionArguments<T> arguments{};
  set_sides(arguments, step.grid, step.sides);
  arguments.in = step.in;
  arguments.out = step.out;
  arguments.diffusivity = step.diffusivity_field;
  arguments.source = step.source;
  arguments.base = step.base;
  arguments.in_weight = static_cast<T>(step.in_weight);
  arguments.source_weight = static_cast<T>(step.factor);
  long long const planes = step.grid.points[step.grid.dims - 1];
  auto const& [from, to] = step.made;
  if (from < 0 || to > planes || (from >= to && to != 0))
    throw std::invalid_argument(fmt::format("stencil: planes {} to {} of {}", from, to, planes));
  arguments.made[0] = from;
  arguments.made[1] = to == 0 ? planes : to;
  arguments.beside = step.beside;
  bool const variable = step.diffusivity_field != nullptr;
  for (int axis = 0; axis < 3; ++axis) {
    double const h = step.grid.spacing[axis];
    double const alpha = variable ? 1 : step.diffusivity;
    arguments.weight[axis] = static_cast<T>(step.factor * alpha / (h * h) * (variable ? 0.5 : 1.0));
    arguments.side_weight[axis] = static_cast<T>(step.factor * alpha * 2 / h);
  }
  for (auto const& term : step.terms) {
    if (term.values == nullptr) continue;
    arguments.term[arguments.term_count] = term.values;
    arguments.term_weight[arguments.term_count++] = static_cast<T>(term.weight);
  }
  return arguments;
}

namespace {

bool makes_single_steps(std::string_view variant) {
  return variant != "temporal" && variant != "resident";
}

/// The fastest single steps.
std::string_view fastest_single(Backend backend) {
  return backend == Backend::cpu ? "threads" : "register_queue";
}

}  // namespace

template <class T>
void diffuse(Stream& stream, DiffusionStep<T> const& step, std::string_view variant) {
  if (variant == "auto") variant = fastest_single(stream.backend());
  auto const& row = find_variant("stencil", variants<T>(), stream.device(), variant);
  if (!makes_single_steps(variant))
    throw std::invalid_argument(
        fmt::format("stencil: '{}' makes several steps at once, and this is one", variant));
  diffuse(stream, step, Chosen<T>{&row, &row, 1});
}

template <class T>
void diffuse(Stream& stream, DiffusionStep<T> const& step, Chosen<T> const& chosen) {
  chosen.single->run(stream, step.grid.dims, arguments_of(step), {});
}

int most_fused_steps(int dims) {
  return dims == 1 ? most_line_steps : dims == 2 ? most_plane_steps : most_volume_steps;
}

namespace {

/// What is fastest for how many points: bounds between sizes that were measured on an H200, with 32
/// steps in a graph.
struct Limits {
  std::int64_t most_resident;   // where the grid fits at all
  std::int64_t least_temporal;  // below, a pass has too little to do for all multiprocessors
};

/// For each number of dimensions.
constexpr Limits limits[] = {{1 << 13, 0}, {1 << 23, 1 << 20}, {0, 3 << 19}};

/// Open sides take a pass in 3D longer, while single steps are helped by the caches: bytes of u
/// from which on the pass is faster.
constexpr std::int64_t least_temporal_open = 24 << 20;

/// Planes of fewer points take passes of 4 steps, with less of a halo.
constexpr std::int64_t least_large_plane = 1 << 22;

/// The fastest number of steps in one pass.
template <class T>
int best_steps(Grid const& grid) {
  if (grid.dims == 2) return grid.size() < least_large_plane ? 4 : best_plane_steps<T>;
  return grid.dims == 1 ? best_line_steps<T> : best_volume_steps<T>;
}

bool has_open_side(StepKind const& kind) {
  auto const is_open = [](auto const& sides) { return sides[0] != SideKind::periodic; };
  return std::any_of(kind.sides.begin(), kind.sides.begin() + kind.grid.dims, is_open);
}

/// Whether `resident` takes a grid on a device.
template <class T>
bool fits_chip([[maybe_unused]] Device const& device, [[maybe_unused]] Grid const& grid) {
#ifdef GRIDSTRIDE_WITH_CUDA
  long long const points[3] = {grid.points[0], grid.points[1], grid.points[2]};
  if (grid.dims == 1) return cuda_fits_line<T>(device, points);
  if (grid.dims == 2)
    return cuda_fits_plane<T>(device, points) || cuda_fits_grid<T>(device, points);
#endif
  return false;
}

/// Why `temporal` does not take a grid with these sides on a device; empty if it does.
template <class T>
std::string pass_refusal([[maybe_unused]] Device const& device,
                         [[maybe_unused]] StepKind const& kind) {
  constexpr std::int64_t longest_axis = 1 << 30;  // but of lines: indices are 32 bits
  if (kind.grid.dims > 1 && std::ranges::max(kind.grid.points) > longest_axis)
    return fmt::format("takes up to {} points along an axis", longest_axis);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (kind.grid.dims == 3) {
    DiffusionArguments<T> arguments{};
    for (int axis = 0; axis < 3; ++axis) {
      arguments.points[axis] = kind.grid.points[axis];
      for (int side = 0; side < 2; ++side)
        arguments.side[axis][side] = rule_of(kind.sides[axis][side]);
    }
    if (!cuda_fits_volume(device, arguments))
      return fmt::format("needs more shared memory than a block has on {}", device.name());
  }
#endif
  return {};
}

}  // namespace

bool can_be_fused(StepKind const& kind) { return kind.alike && !kind.source && !kind.variable; }

namespace {

/// What `auto` means for such steps on a GPU.
template <class T>
std::string_view fastest(Device const& device, StepKind const& kind, int fused_steps) {
  if (!can_be_fused(kind)) return "register_queue";
  Grid const& grid = kind.grid;
  auto const& [most_resident, least_temporal] = limits[grid.dims - 1];
  bool const is_large =
      grid.dims == 3 && has_open_side(kind)
          ? grid.size() >= least_temporal_open / static_cast<std::int64_t>(sizeof(T))
          : grid.size() >= least_temporal;
  if (fused_steps == 0 && !kind.cut && grid.size() <= most_resident && fits_chip<T>(device, grid))
    return "resident";
  bool const several = fused_steps == 0 ? is_large : next_steps(grid.dims, fused_steps) > 1;
  return several && pass_refusal<T>(device, kind).empty() ? "temporal" : "register_queue";
}

/// Why a row does not make such steps on a device; empty if it does.
template <class T>
std::string refusal(Device const& device, StepKind const& kind, std::string_view variant,
                    int fused_steps) {
  if (makes_single_steps(variant)) return {};
  if (!kind.alike) return "makes several steps at once, but here each step or stage is another";
  if (kind.source) return "makes no steps with a source";
  if (kind.variable) return "makes no steps with a diffusivity that is a field";
  if (variant == "resident" && !fits_chip<T>(device, kind.grid))
    return fmt::format("keeps small lines and planes on the chip, and {} points do not fit {}",
                       format_points(kind.grid), device.name());
  if (variant == "temporal" && fused_steps == 1)
    return "makes several steps in a pass, and fused_steps is 1";
  return variant == "temporal" ? pass_refusal<T>(device, kind) : std::string();
}

}  // namespace

template <class T>
StepKind kind_of(DiffusionStep<T> const& step) {
  StepKind kind{step.grid, {}, step.diffusivity_field != nullptr, step.source != nullptr, true};
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) kind.sides[axis][side] = step.sides[axis][side].kind;
  return kind;
}

template <class T>
Chosen<T> choose(Device const& device, StepKind const& kind, Repetition const& wanted) {
  int const dims = kind.grid.dims, most = most_fused_steps(dims);
  if (wanted.fused_steps < 0 || wanted.fused_steps > most)
    throw std::invalid_argument(fmt::format("stencil: {} fused steps, 1 to {} are possible in {}D",
                                            wanted.fused_steps, most, dims));
  auto const find = [&](std::string_view name) {
    return &find_variant("stencil", variants<T>(), device, name);
  };
  auto variant = wanted.variant;
  if (variant == "auto")
    variant = device.backend() == Backend::cpu ? default_variant(Backend::cpu)
                                               : fastest<T>(device, kind, wanted.fused_steps);
  auto const* const row = find(variant);
  if (auto const why = refusal<T>(device, kind, variant, wanted.fused_steps); !why.empty())
    throw std::invalid_argument(fmt::format("stencil: '{}' {}", variant, why));
  if (makes_single_steps(variant)) return {row, row, 1};
  int const fused = wanted.fused_steps > 0 ? wanted.fused_steps : best_steps<T>(kind.grid);
  return {row, find(fastest_single(device.backend())),
          variant == "temporal" ? next_steps(dims, fused) : 1};
}

template <class T>
std::size_t chip_bytes([[maybe_unused]] Device const& device,
                       [[maybe_unused]] Chosen<T> const& chosen,
                       [[maybe_unused]] Grid const& grid) {
#ifdef GRIDSTRIDE_WITH_CUDA
  long long const points[3] = {grid.points[0], grid.points[1], grid.points[2]};
  if (chosen.row->name == "resident" && grid.dims == 2 && !cuda_fits_plane<T>(device, points))
    return cuda_grid_bytes<T>(device, points);
#endif
  return 0;
}

template <class T>
int steps_of_pass(Chosen<T> const& chosen, int dims, std::int64_t left) {
  return next_steps(dims, static_cast<int>(std::min<std::int64_t>(left, chosen.fused_steps)));
}

template <class T>
int best_parts(Chosen<T> const& chosen, int dims) {
  if (dims == 1 || chosen.fused_steps == 1 || chosen.row->name != "temporal") return 1;
  return dims == 2 ? 6 : 4;  // in 3D the march of each part repeats planes of those beside it
}

template <class T>
T* diffuse_repeatedly(Stream& stream, DiffusionStep<T> step, T* first, T* second,
                      std::int64_t steps, Chosen<T> const& chosen) {
  if (steps < 0) throw std::invalid_argument(fmt::format("stencil: {} steps", steps));
  int const dims = step.grid.dims;
  if (step.made[1] != 0 && best_parts(chosen, dims) > 1 &&
      steps > steps_of_pass(chosen, dims, steps))
    throw std::invalid_argument("stencil: several passes of a part of the planes");
  bool const has_terms = std::ranges::any_of(step.terms, &DiffusionStep<T>::Term::values);
  if (step.base != nullptr || has_terms)
    throw std::invalid_argument("stencil: repeated steps have neither a base nor terms");
  step.in = first;
  step.out = second;
  auto const arguments = arguments_of(step);
  if (steps == 0) return first;
  auto const& row = steps == 1 ? *chosen.single : *chosen.row;
  return row.run(stream, step.grid.dims, arguments, {steps, chosen.fused_steps, first});
}

template <class T>
T* diffuse_repeatedly(Stream& stream, DiffusionStep<T> const& step, T* first, T* second,
                      std::int64_t steps, Repetition const& wanted) {
  return diffuse_repeatedly(stream, step, first, second, steps,
                            choose<T>(stream.device(), kind_of(step), wanted));
}

template <class T>
void impose_dirichlet(Stream& stream, Grid const& grid,
                      std::array<std::array<typename DiffusionStep<T>::Side, 2>, 3> const& sides,
                      T* values) {
  DiffusionArguments<T> arguments{};
  set_sides(arguments, grid, sides);
  arguments.out = values;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_impose(stream, grid.dims, arguments);
#endif
  host_impose(stream, grid.dims, arguments);
}

double euler_limit(Grid const& grid, double largest_diffusivity) {
  double sum = 0;
  for (int axis = 0; axis < grid.dims; ++axis) sum += 1 / (grid.spacing[axis] * grid.spacing[axis]);
  return 1 / (2 * largest_diffusivity * sum);
}

double most_multiple(Precision precision) {
  return with_zero_of(precision, [](auto zero) {
    return 0x1p-10 / static_cast<double>(std::numeric_limits<decltype(zero)>::epsilon());
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template std::span<Variant<DiffusionFunction<T>> const> variants<T>();                 \
  template void diffuse(Stream&, DiffusionStep<T> const&, std::string_view);             \
  template void diffuse(Stream&, DiffusionStep<T> const&, Chosen<T> const&);             \
  template StepKind kind_of(DiffusionStep<T> const&);                                    \
  template DiffusionArguments<T> arguments_of(DiffusionStep<T> const&);                  \
  template std::size_t chip_bytes(Device const&, Chosen<T> const&, Grid const&);         \
  template int steps_of_pass(Chosen<T> const&, int, std::int64_t);                       \
  template int best_parts(Chosen<T> const&, int);                                        \
  template Chosen<T> choose(Device const&, StepKind const&, Repetition const&);          \
  template T* diffuse_repeatedly(Stream&, DiffusionStep<T>, T*, T*, std::int64_t,        \
                                 Chosen<T> const&);                                      \
  template T* diffuse_repeatedly(Stream&, DiffusionStep<T> const&, T*, T*, std::int64_t, \
                                 Repetition const&);                                     \
  template void impose_dirichlet(Stream&, Grid const&,                                   \
                                 std::array<std::array<DiffusionStep<T>::Side, 2>, 3> const&, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil
