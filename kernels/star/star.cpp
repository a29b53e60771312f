#include "kernels/star/star.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/star/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::star {

namespace {

/// The function of a row that makes one step at a time.
template <auto one_step, class T>
void single(Stream& stream, int dims, int radius, LeapfrogArguments<T> const& arguments, T*) {
  one_step(stream, dims, radius, arguments);
}

}  // namespace

template <class T>
std::span<Variant<LeapfrogFunction<T>> const> variants() {
  static Variant<LeapfrogFunction<T>> const rows[] = {
      {"reference", Backend::cpu, single<host_reference<T>>, "every point in turn, on one thread"},
      {"threads", Backend::cpu, single<host_threads<T>>,
       "rows shared among threads; branch-free inner loops that the compiler vectorises"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(single<cuda_naive<T>>),
       "one thread per point, neighbours through the caches"},
      {"register_queue", Backend::cuda, GRIDSTRIDE_CUDA_ROW(single<cuda_register_queue<T>>),
       "16-byte vectors march along the slowest axis, the lines within reach in registers"},
      {"temporal",
       Backend::cuda,
       GRIDSTRIDE_CUDA_ROW(cuda_temporal_plane<T>),
       "planes: several steps in one pass over memory, with wide halos computed again; neither a "
       "source nor damping; a step that is left over alone is one of register_queue",
       {.shared_bytes = temporal_shared_bytes}},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "temporal";
}

std::span<double const> central_weights(int order) {
  static constexpr double second[] = {1.0}, fourth[] = {4.0 / 3, -1.0 / 12},
                          sixth[] = {3.0 / 2, -3.0 / 20, 1.0 / 90},
                          eighth[] = {8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};
  switch (order) {
    case 2:
      return second;
    case 4:
      return fourth;
    case 6:
      return sixth;
    case 8:
      return eighth;
    default:
      throw std::invalid_argument(fmt::format("star: there is no order {} (2, 4, 6, 8)", order));
  }
}

double largest_eigenvalue(Grid const& grid, int order) {
  double of_unit_spacing = 0;  // 4·(w_1 + w_3): at sign changes, pairs of even distance cancel
  auto const weights = central_weights(order);
  for (std::size_t k = 0; k < weights.size(); k += 2) of_unit_spacing += 4 * weights[k];
  double sum = 0;
  for (int axis = 0; axis < grid.dims; ++axis)
    sum += of_unit_spacing / (grid.spacing[axis] * grid.spacing[axis]);
  return sum;
}

namespace {

SideRule rule_of(SideKind kind) {
  switch (kind) {
    case SideKind::periodic:
      return SideRule::wrap;
    case SideKind::fixed:
      return SideRule::odd;
    case SideKind::free:
      return SideRule::even;
    default:
      throw std::invalid_argument("star: a side is neither periodic nor fixed nor free");
  }
}

/// What a step and the energy have in common: the state and where it lies.
template <class T>
LeapfrogArguments<T> state_of(LeapfrogStep<T> const& step) {
  int const radius = static_cast<int>(central_weights(step.order).size());
  if (step.in == nullptr || step.previous == nullptr)
    throw std::invalid_argument("star: in and previous are both needed");
  LeapfrogArguments<T> state{};
  state.in = step.in;
  state.previous = step.previous;
  for (int axis = 0; axis < 3; ++axis) {
    state.points[axis] = step.grid.points[axis];
    if (axis >= step.grid.dims) continue;
    if (step.grid.points[axis] < radius + 1)
      throw std::invalid_argument(fmt::format("star: axis {} has {} points, order {} needs {}",
                                              axis_names[axis], step.grid.points[axis], step.order,
                                              radius + 1));
    for (int side = 0; side < 2; ++side) state.side[axis][side] = rule_of(step.sides[axis][side]);
    if ((state.side[axis][0] == SideRule::wrap) != (state.side[axis][1] == SideRule::wrap))
      throw std::invalid_argument(
          fmt::format("star: axis {} is periodic on one side alone", axis_names[axis]));
  }
  return state;
}

template <class T>
LeapfrogArguments<T> arguments_of(LeapfrogStep<T> const& step) {
  if (step.out == nullptr) throw std::invalid_argument("star: out is needed");
  LeapfrogArguments<T> arguments = state_of(step);
  auto const size = static_cast<std::size_t>(step.grid.size());
  auto const out = named("out", std::span(step.out, size));
  require_disjoint("star", out, named("in", std::span(step.in, size)));
  require_disjoint_or_same("star", out, named("previous", std::span(step.previous, size)));
  arguments.out = step.out;
  long long const planes = step.grid.points[step.grid.dims - 1];
  auto const& [from, to] = step.made;
  if (from < 0 || to > planes || (from >= to && to != 0))
    throw std::invalid_argument(fmt::format("star: planes {} to {} of {}", from, to, planes));
  arguments.made[0] = from;
  arguments.made[1] = to == 0 ? planes : to;
  arguments.beside = step.beside;
  arguments.speed_squared = step.speed_squared_field;
  arguments.source = step.source;
  arguments.ratio = static_cast<T>(step.ratio);
  arguments.factor = static_cast<T>(step.factor);
  arguments.damping_time = static_cast<T>(step.damping_time);
  auto const weights = central_weights(step.order);
  double const speed_squared = step.speed_squared_field ? 1 : step.speed_squared;
  for (int axis = 0; axis < step.grid.dims; ++axis) {
    arguments.damping[axis] = step.damping[axis];
    double const h = step.grid.spacing[axis];
    for (std::size_t k = 0; k < weights.size(); ++k)
      arguments.weight[axis][k] =
          static_cast<T>(step.factor * speed_squared * weights[k] / (h * h));
  }
  return arguments;
}

}  // namespace

namespace {

bool makes_single_steps(std::string_view variant) { return variant != "temporal"; }

/// The fastest single steps.
std::string_view fastest_single(Backend backend) {
  return backend == Backend::cpu ? "threads" : "register_queue";
}

}  // namespace

template <class T>
void leapfrog(Stream& stream, LeapfrogStep<T> const& step, std::string_view variant) {
  if (variant == "auto") variant = fastest_single(stream.backend());
  auto const& row = find_variant("star", variants<T>(), stream.device(), variant);
  if (!makes_single_steps(variant))
    throw std::invalid_argument(
        fmt::format("star: '{}' makes several steps at once, and this is one", variant));
  leapfrog(stream, step, Chosen<T>{&row, &row, 1});
}

template <class T>
void leapfrog(Stream& stream, LeapfrogStep<T> const& step, Chosen<T> const& chosen) {
  chosen.single->run(stream, step.grid.dims, step.order / 2, arguments_of(step), nullptr);
}

int most_fused_steps(int dims, int order) {
  int const radius = static_cast<int>(central_weights(order).size());
  return dims == 2 ? std::max(plane_steps(radius, false), plane_steps(radius, true)) : 1;
}

namespace {

constexpr std::int64_t longest_axis = 1 << 30;  // of a pass, whose indices are 32 bits

/// Why `temporal` does not make such steps; empty if it does.
std::string refusal(StepKind const& kind, int fused_steps) {
  int const fused = plane_steps(kind.order / 2, kind.variable);
  if (kind.grid.dims != 2) return "makes steps on planes alone";
  if (!kind.plain) return "makes neither steps with a source nor with damping";
  if (std::ranges::max(kind.grid.points) > longest_axis)
    return fmt::format("takes up to {} points along an axis", longest_axis);
  if (fused_steps > 0 && fused_steps < fused)
    return fmt::format("makes {} steps in a pass here, and fused_steps is {}", fused, fused_steps);
  return {};
}

/// What `auto` means.
std::string_view fastest(Backend backend, StepKind const& kind, int fused_steps) {
  // Points below which a pass has too little to do for all multiprocessors, for each order: bounds
  // between sizes that were measured on an H200 for orders 2 and 8, and in between for the others.
  constexpr std::int64_t least_temporal[] = {1 << 20, 1 << 22, 1 << 23, 1 << 25};
  bool const worthwhile = fused_steps > 0 || kind.grid.size() >= least_temporal[kind.order / 2 - 1];
  bool const together =
      backend == Backend::cuda && worthwhile && refusal(kind, fused_steps).empty();
  return together ? "temporal" : fastest_single(backend);
}

}  // namespace

int fused_steps(Backend backend, StepKind const& kind, Repetition const& wanted) {
  auto const variant =
      wanted.variant == "auto" ? fastest(backend, kind, wanted.fused_steps) : wanted.variant;
  return makes_single_steps(variant) ? 1 : plane_steps(kind.order / 2, kind.variable);
}

template <class T>
Chosen<T> choose(Device const& device, StepKind const& kind, Repetition const& wanted) {
  int const most = most_fused_steps(kind.grid.dims, kind.order);
  if (wanted.fused_steps < 0 || wanted.fused_steps > most)
    throw std::invalid_argument(fmt::format("star: {} fused steps, 1 to {} are possible in {}D",
                                            wanted.fused_steps, most, kind.grid.dims));
  auto const find = [&](std::string_view name) {
    return &find_variant("star", variants<T>(), device, name);
  };
  auto const variant = wanted.variant == "auto"
                           ? fastest(device.backend(), kind, wanted.fused_steps)
                           : wanted.variant;
  auto const* const row = find(variant);
  if (makes_single_steps(variant)) return {row, row, 1};
  if (auto const why = refusal(kind, wanted.fused_steps); !why.empty())
    throw std::invalid_argument(fmt::format("star: '{}' {}", variant, why));
  return {row, find(fastest_single(device.backend())), fused_steps(device.backend(), kind, wanted)};
}

namespace {

/// Steps from `in` and `previous` to `out`, and the moment before it, in one pass over memory.
template <class T>
void pass(Stream& stream, LeapfrogStep<T> const& step, T* out_before, Chosen<T> const& chosen) {
  if (step.out == nullptr || out_before == nullptr)
    throw std::invalid_argument("star: several steps in one pass need two spare arrays");
  auto const size = static_cast<std::size_t>(step.grid.size());
  auto const out = named("spare 0", std::span(step.out, size)),
             before = named("spare 1", std::span(out_before, size));
  require_disjoint("star", out, before);
  for (auto const& result : {out, before}) {
    require_disjoint("star", result, named("now", std::span(step.in, size)));
    require_disjoint("star", result, named("before", std::span(step.previous, size)));
  }
  chosen.row->run(stream, step.grid.dims, step.order / 2, arguments_of(step), out_before);
}

}  // namespace

template <class T>
void leapfrog_repeatedly(Stream& stream, LeapfrogStep<T> step, WaveArrays<T>& arrays,
                         std::int64_t steps, Chosen<T> const& chosen) {
  if (steps < 0) throw std::invalid_argument(fmt::format("star: {} steps", steps));
  if (step.made[1] != 0 && best_parts(chosen) > 1 && steps > 1 && steps != chosen.fused_steps)
    throw std::invalid_argument("star: several passes of a part of the planes");
  for (; chosen.fused_steps > 1 && steps >= chosen.fused_steps; steps -= chosen.fused_steps) {
    step.in = arrays.now;
    step.previous = arrays.before;
    step.out = arrays.spare[0];
    pass(stream, step, arrays.spare[1], chosen);
    std::swap(arrays.now, arrays.spare[0]);
    std::swap(arrays.before, arrays.spare[1]);
  }
  auto const made = step.made;
  for (; steps > 0; --steps) {
    step.made =
        steps == 1 ? made : std::array<std::int64_t, 2>{};  // the next may look at any plane
    step.in = arrays.now;
    step.previous = step.out = arrays.before;
    leapfrog(stream, step, chosen);
    std::swap(arrays.now, arrays.before);
  }
}

template <class T>
void leapfrog_repeatedly(Stream& stream, LeapfrogStep<T> const& step, WaveArrays<T>& arrays,
                         std::int64_t steps, Repetition const& wanted) {
  bool const plain = step.source == nullptr &&
                     std::ranges::all_of(step.damping, [](T const* sigma) { return !sigma; });
  StepKind const kind{step.grid, step.order, step.speed_squared_field != nullptr, plain};
  leapfrog_repeatedly(stream, step, arrays, steps, choose<T>(stream.device(), kind, wanted));
}

namespace {

template <class T>
EnergyArguments<T> energy_arguments_of(LeapfrogStep<T> const& step, double tau) {
  if (tau == 0) throw std::invalid_argument("star: the energy of a step of no time");
  EnergyArguments<T> arguments{};
  arguments.state = state_of(step);
  arguments.speed_squared = step.speed_squared;
  arguments.speed_squared_field = step.speed_squared_field;
  arguments.rate = 1 / tau;
  arguments.cell = 0.5;
  auto const weights = central_weights(step.order);
  for (int axis = 0; axis < step.grid.dims; ++axis) {
    double const h = step.grid.spacing[axis];
    arguments.cell *= h;
    for (std::size_t k = 0; k < weights.size(); ++k)
      arguments.weight[axis][k] = weights[k] / (h * h);
  }
  return arguments;
}

}  // namespace

template <class T>
void energy(Stream& stream, LeapfrogStep<T> const& step, double tau, std::span<double> result) {
  auto const pieces = (step.grid.size() + energy_piece - 1) / energy_piece;
  Buffer<double> sums(stream, MemorySpace::device, static_cast<std::size_t>(pieces));
  energy_pieces(stream, step, tau, {0, step.grid.size()}, sums.span());
  reduce::sum<double>(stream, sums.span(), result,
                      reduce::variant_of_blocks("auto", stream.backend()));
}

template <class T>
void energy_pieces(Stream& stream, LeapfrogStep<T> const& step, double tau,
                   PointsInOrder const& points, std::span<double> sums) {
  auto const arguments = energy_arguments_of(step, tau);
  auto const& [first, count] = points;
  require_size("star::energy_pieces", named("sums", sums),
               static_cast<std::size_t>((count + energy_piece - 1) / energy_piece));
  if (first < 0 || count < 0 || first + count > step.grid.size())
    throw std::invalid_argument("star: the energy of points that are not there");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_energy(stream, step.grid.dims, step.order / 2, arguments, points, sums);
#endif
  host_energy(stream, step.grid.dims, step.order / 2, arguments, points, sums);
}

template <class T>
void energy_shares([[maybe_unused]] Stream& stream, LeapfrogStep<T> const& step, double tau,
                   PointsOfGrid const& points, double* shares) {
  auto const arguments = energy_arguments_of(step, tau);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_energy_shares(stream, step.grid.dims, step.order / 2, arguments, points, shares);
#endif
  host_energy_shares(step.grid.dims, step.order / 2, arguments, points, shares);
}

double sum_of_shares(Backend backend, std::span<double const> shares) {
  if (backend == Backend::cpu) return std::accumulate(shares.begin(), shares.end(), 0.0);
  std::array<double, energy_threads> sums{};
  for (std::size_t i = 0; i < shares.size(); ++i) sums[i % sums.size()] += shares[i];
  for (std::size_t distance = 1; distance < sums.size(); distance *= 2)
    for (std::size_t i = 0; i < sums.size(); i += 2 * distance) sums[i] += sums[i + distance];
  return sums[0];
}

template <class T>
void add_ricker(Stream& stream, std::span<RickerTerm const> terms,
                evaluate::DeviceClock const* clock, double factor, double damping_time,
                std::span<T> out) {
  if (terms.empty()) return;
  if (clock == nullptr) throw std::invalid_argument("star: point sources need a clock");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_ricker(stream, terms, clock, factor, damping_time, out.data());
#endif
  host_ricker(stream, terms, clock, factor, damping_time, out.data());
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                  \
  template std::span<Variant<LeapfrogFunction<T>> const> variants<T>();                            \
  template void leapfrog(Stream&, LeapfrogStep<T> const&, std::string_view);                       \
  template void leapfrog(Stream&, LeapfrogStep<T> const&, Chosen<T> const&);                       \
  template Chosen<T> choose<T>(Device const&, StepKind const&, Repetition const&);                 \
  template void leapfrog_repeatedly(Stream&, LeapfrogStep<T>, WaveArrays<T>&, std::int64_t,        \
                                    Chosen<T> const&);                                             \
  template void leapfrog_repeatedly(Stream&, LeapfrogStep<T> const&, WaveArrays<T>&, std::int64_t, \
                                    Repetition const&);                                            \
  template void energy(Stream&, LeapfrogStep<T> const&, double, std::span<double>);                \
  template void energy_pieces(Stream&, LeapfrogStep<T> const&, double, PointsInOrder const&,       \
                              std::span<double>);                                                  \
  template void energy_shares(Stream&, LeapfrogStep<T> const&, double, PointsOfGrid const&,        \
                              double*);                                                            \
  template void add_ricker(Stream&, std::span<RickerTerm const>, evaluate::DeviceClock const*,     \
                           double, double, std::span<T>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::star
