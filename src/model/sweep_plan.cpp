#include "model/sweep_plan.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace gridstride {

std::int64_t SweepPlan::pass_steps() const {
  return std::min<std::int64_t>(shape.fused_steps, trip_steps);
}

std::int64_t SweepPlan::kept_planes() const {
  return 2 * trip_steps * shape.reach * shape.made + 2 * halo() * (shape.arrays - shape.made);
}

std::int64_t SweepPlan::late_planes() const {
  return shape.periodic ? trip_steps * shape.reach * shape.arrays : 0;
}

Planes SweepPlan::owned_by(int rank) const {
  int const slab = slab_of(rank), all = slabs();
  auto const begin = [&](int number) {
    return number == all ? shape.planes() : shape.pieces() * number / all * shape.together;
  };
  return {begin(slab), begin(slab + 1)};
}

namespace {

/// Ranks that follow one another with the same strip of an axis.
int ranks_of_strip(SweepPlan const& plan, std::size_t which) {
  return which == 0 ? plan.strips[1].count : 1;
}

int strip_number(SweepPlan const& plan, int rank, std::size_t which) {
  return rank / ranks_of_strip(plan, which) % plan.strips[which].count;
}

/// Those of `count` along an axis, a `step` of ranks apart, of which `rank` is at `place`.
std::array<int, 2> ranks_beside(int rank, int place, int count, int step, bool around) {
  if (count == 1) return {-1, -1};
  int const turn = (count - 1) * step;
  return {place > 0 ? rank - step
          : around  ? rank + turn
                    : -1,
          place + 1 < count ? rank + step
          : around          ? rank - turn
                            : -1};
}

/// Of a rank's plan, its strip of an axis.
void set_strip(SweepPlan& plan, std::size_t which, Strips const& strips) {
  plan.strips[which] = strips;
  auto const axis = static_cast<std::size_t>(axis_of_strips(plan.shape.grid.dims, which));
  plan.shape.grid.points[axis] = strips.held.count();
}

}  // namespace

Planes SweepPlan::strip_of(int rank, std::size_t which) const {
  auto const& [count, points, own, held] = strips[which];
  if (count == 1) return {};
  int const number = strip_number(*this, rank, which);
  return {points * number / count, points * (number + 1) / count};
}

std::array<int, 2> SweepPlan::beside(int rank) const {
  return ranks_beside(rank, slab_of(rank), slabs(), parts_of_slab(), shape.periodic);
}

std::array<int, 2> SweepPlan::beside_across(int rank, std::size_t which) const {
  return ranks_beside(rank, strip_number(*this, rank, which), strips[which].count,
                      ranks_of_strip(*this, which), shape.periodic_across[which]);
}

SweepPlan SweepPlan::at_rank(int rank) const {
  SweepPlan local = *this;
  for (std::size_t which = 0; which < strip_axes; ++which) {
    if (!strips[which].are_there()) continue;
    auto strip = strips[which];
    strip.own = strip_of(rank, which);
    Planes const held{strip.own.lower - rank_halo(), strip.own.upper + rank_halo()};
    strip.held = shape.periodic_across[which] ? held : held.within({0, strip.points});
    set_strip(local, which, strip);
  }
  return local;
}

SweepPlan SweepPlan::widest() const {
  SweepPlan widest = at_rank(0);
  for (int rank = 1; rank < parts_of_slab(); ++rank) {
    auto const local = at_rank(rank);
    for (std::size_t which = 0; which < strip_axes; ++which)
      if (local.strips[which].held.count() > widest.strips[which].held.count())
        set_strip(widest, which, local.strips[which]);
  }
  return widest;
}

std::vector<std::int64_t> SweepPlan::cuts() const {
  if (has_strips()) throw std::logic_error("cuts between ranks that have no whole planes");
  std::vector<std::int64_t> cuts = {0};
  for (int rank = 0; rank < ranks; ++rank) cuts.push_back(owned_by(rank).upper);
  return cuts;
}

std::int64_t SweepPlan::least_planes() const {
  std::int64_t least = shape.planes();
  for (int rank = 0; rank < ranks; ++rank) least = std::min(least, owned_by(rank).count());
  return least;
}

Planes SweepPlan::held_by(int rank) const {
  Planes const own = owned_by(rank), held{own.lower - rank_halo(), own.upper + rank_halo()};
  return shape.periodic ? held : held.within({0, shape.planes()});
}

std::size_t SweepPlan::device_bytes() const {
  if (ranks > 1) {
    std::int64_t const planes = slab_planes + 2 * rank_halo();
    std::int64_t const arrays = shape.kept() + shape.scratch;
    std::size_t const bytes =
        static_cast<std::size_t>(arrays * planes + link_planes) * shape.plane_bytes() +
        (on_chip ? shape.chip_bytes : 0);
    // Halos that lie side by side, two boxes for each side, and as many on their way.
    std::int64_t const boxes = link_planes > 0 ? 8 : 4;
    std::size_t beside = 0;
    for (Strips const& strip : strips)
      if (strip.are_there())
        beside += static_cast<std::size_t>(boxes * shape.arrays * rank_halo() * planes) *
                  shape.plane_bytes() / static_cast<std::size_t>(strip.held.count());
    return bytes + beside;
  }
  return static_cast<std::size_t>(buffers() * capacity() + kept_planes() + late_planes()) *
         shape.plane_bytes();
}

/// Trips begin at the first plane or the middle one; a window is a plane longer at most.
std::int64_t SweepPlan::window_planes() const {
  std::int64_t const planes = shape.planes();
  return shape.periodic ? planes + planes / 2 + 1 - first_plane() : planes;
}

namespace {

/// Bytes per second, measured on an H200: of each direction of the bus while both are used, and of
/// the device's memory while steps are made. What counts is their ratio.
constexpr double bus_rate = 46e9, memory_rate = 3e12;

/// The planes of a slab for so many steps a trip; less than 1: they do not fit.
std::int64_t planes_that_fit(SweepPlan plan, double device_bytes) {
  plan.slab_planes = 0;
  auto const plane = static_cast<double>(plan.shape.plane_bytes());
  double const left = device_bytes - static_cast<double>(plan.device_bytes());
  if (left < 0) return 0;
  return static_cast<std::int64_t>(std::min(left / plane / plan.buffers(), 0x1p62));
}

/// Seconds for a step, in a trip of so many: the longer of the bus and the device.
double seconds_of_step(SweepPlan const& plan) {
  auto const& shape = plan.shape;
  auto const plane = static_cast<double>(shape.plane_bytes());
  auto const steps = static_cast<double>(plan.trip_steps);
  auto const halo = static_cast<double>(plan.halo());
  double const more = steps * static_cast<double>(shape.reach) * (shape.periodic ? 2 : 1);
  double const all = static_cast<double>(shape.planes()) + more;
  double const slab = static_cast<double>(plan.slab_planes);
  double const loaded = shape.periodic ? all : static_cast<double>(shape.planes());
  double const passes = steps / static_cast<double>(plan.pass_steps());
  // A pass goes over the halos, too, which are copied in before it and kept for the next slab.
  double const per_pass =
      shape.values_per_update * static_cast<double>(plan.pass_steps()) * (slab + 2 * halo) +
      8 * halo * shape.made;
  double const on_bus = shape.arrays * loaded * plane / bus_rate;
  double const on_device = all / slab * passes * per_pass * plane / memory_rate;
  return std::max(on_bus, on_device) / steps;
}

}  // namespace

std::optional<SweepPlan> plan_sweep(SweepShape const& shape, SweepLimits const& limits) {
  constexpr std::int64_t most_passes = 4096;  // of a trip
  constexpr std::int64_t least_slabs = 8;     // such that loading, computing and storing overlap
  std::int64_t const planes = shape.planes();
  // The results of a trip must not overtake what it still has to load.
  std::int64_t const most = std::max<std::int64_t>(planes / shape.reach, 1);
  std::int64_t const wanted = limits.trip_steps.value_or(most_passes * shape.fused_steps);
  std::int64_t slab = std::max<std::int64_t>(planes / least_slabs, 1);
  if (limits.slab_bytes)
    slab = static_cast<std::int64_t>(
        std::clamp(*limits.slab_bytes / static_cast<double>(shape.plane_bytes()), 1.0,
                   static_cast<double>(planes)));
  std::optional<SweepPlan> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t steps = std::min(wanted, most); steps > 0; --steps) {
    SweepPlan plan{shape, steps, 1};
    std::int64_t const fits = planes_that_fit(plan, limits.device_bytes);
    if (fits < 1) continue;
    plan.slab_planes = std::min(slab, fits);
    if (limits.trip_steps) return plan;
    if (steps > shape.fused_steps && steps % shape.fused_steps != 0) continue;
    double const seconds = seconds_of_step(plan);
    if (seconds > least) continue;
    least = seconds;
    best = plan;
  }
  return best;
}

namespace {

/// Of a rank: bytes per second of the memory that it makes its steps in, and seconds that an
/// exchange of small messages takes. On a host most of that is waiting for the slower of two.
struct RankRates {
  double memory, exchange;
  double link;  // bytes per second, each way, of more ranks than a machine has GPUs
};

RankRates rates_of(Backend backend) {
  return backend == Backend::cuda ? RankRates{memory_rate, 20e-6, 40e9}
                                  : RankRates{8e9, 60e-6, 4e9};
}

/// Seconds of a pass above which an exchange for each, beside its parts, costs less than one for several
/// passes that nothing is made beside. In 3D, where halos are more of what a rank has, sooner.
double long_pass(SweepShape const& shape) { return shape.grid.dims == 3 ? 150e-6 : 200e-6; }

/// Planes that a rank needs at least for kernels to work on its windows.
std::int64_t least_owned(SweepShape const& shape) { return std::max<std::int64_t>(shape.reach, 2); }

}  // namespace

int most_ranks(SweepShape const& shape) {
  constexpr std::int64_t limit = 1 << 20;
  if (shape.together == 1)
    return static_cast<int>(
        std::clamp<std::int64_t>(shape.planes() / least_owned(shape), 1, limit));
  SweepPlan plan{shape};
  plan.ranks = static_cast<int>(std::min(shape.pieces(), limit));
  while (plan.ranks > 1 && plan.least_planes() < least_owned(shape)) --plan.ranks;
  return plan.ranks;
}

namespace {

/// k steps for each exchange cost its latency once, and (k − 1)·r planes more in each.
std::int64_t best_trip_steps(SweepPlan const& plan, RankRates const& rates, std::int64_t most) {
  auto const& shape = plan.shape;
  double const plane = static_cast<double>(shape.plane_bytes()) * shape.values_per_update;
  double least = std::numeric_limits<double>::infinity();
  std::int64_t best = 1;
  for (std::int64_t steps = 1; steps <= std::min<std::int64_t>(most, 1024); ++steps) {
    if (steps > shape.fused_steps && steps % shape.fused_steps != 0) continue;
    // A pass of fewer steps than the most that are fused goes over memory as often.
    double const passes = static_cast<double>((steps + shape.fused_steps - 1) / shape.fused_steps);
    double const more = static_cast<double>((steps - 1) * shape.reach);
    double const seconds = passes * shape.fused_steps *
                               (static_cast<double>(plan.slab_planes) + more) * plane /
                               rates.memory +
                           rates.exchange;
    if (seconds / static_cast<double>(steps) >= least) continue;
    least = seconds / static_cast<double>(steps);
    best = steps;
  }
  return best;
}

/// Parts of a pass, each as thick as its halos at least.
int parts_of(SweepPlan const& plan) {
  auto const& shape = plan.shape;
  std::int64_t const halo = shape.fused_steps * shape.reach;
  return static_cast<int>(std::clamp<std::int64_t>(plan.least_planes() / halo, 1, shape.parts));
}

/// Whether there is an exchange for each stage, beside what most of its planes take: where that is long
/// enough, or a trip is to be a step.
bool goes_by_stages(SweepPlan const& plan, RankRates const& rates,
                    std::optional<std::int64_t> trip_steps) {
  auto const& shape = plan.shape;
  if (shape.stages == 0 || plan.least_planes() < 4 * shape.reach / shape.stages) return false;
  if (trip_steps) return *trip_steps == 1;
  return shape.values_per_update * static_cast<double>(plan.slab_planes) *
             static_cast<double>(shape.plane_bytes()) >
         shape.stages * 3 * rates.exchange * rates.memory;
}

/// Whether trips are to be a pass each, made in parts: where one takes long, or as many steps are
/// wanted for a trip.
bool goes_in_parts(SweepPlan const& plan, RankRates const& rates,
                   std::optional<std::int64_t> trip_steps) {
  auto const& shape = plan.shape;
  if (trip_steps) return *trip_steps == shape.fused_steps;
  return shape.values_per_update * shape.fused_steps * static_cast<double>(plan.slab_planes) *
             static_cast<double>(shape.plane_bytes()) >
         long_pass(shape) * rates.memory;
}

}  // namespace

int most_strips(SweepShape const& shape, std::size_t which) {
  int const axis = axis_of_strips(shape.grid.dims, which);
  if (axis < 0) return 1;
  constexpr std::int64_t limit = 1 << 20;
  std::int64_t const points = shape.grid.points[static_cast<std::size_t>(axis)];
  return static_cast<int>(std::clamp<std::int64_t>(points / least_owned(shape), 1, limit));
}

namespace {

/// The most steps for an exchange: halos come from the ranks beside.
std::int64_t most_trip_steps(SweepPlan const& plan) {
  if (!plan.shape.alike) return 1;
  std::int64_t least = plan.slabs() > 1 || !plan.has_strips()
                           ? plan.least_planes()
                           : std::numeric_limits<std::int64_t>::max();
  for (Strips const& strip : plan.strips)
    if (strip.are_there()) least = std::min(least, strip.points / strip.count);
  return least / plan.shape.reach;
}

/// Seconds of a step, where so many are made for each exchange: docs/scaling.md. Halos along several axes
/// are exchanged one after the other.
double seconds_of_step(SweepPlan const& plan, RankRates const& rates, std::int64_t steps) {
  auto const& shape = plan.shape;
  bool const has_slabs = plan.slabs() > 1;
  std::int64_t const halo = steps * shape.reach;
  auto const planes = static_cast<double>(plan.slab_planes + (has_slabs ? halo - shape.reach : 0));
  auto const held = static_cast<double>(plan.slab_planes + (has_slabs ? 2 * halo : 0));
  double plane = static_cast<double>(shape.plane_bytes());  // with the halos of its strips
  OfStripAxes<double> widths = {};
  for (std::size_t which = 0; which < strip_axes; ++which) {
    auto const& [count, points, own, there] = plan.strips[which];
    if (count == 1) continue;
    widths[which] = static_cast<double>((points + count - 1) / count + 2 * halo);
    plane *= widths[which] / static_cast<double>(points);
  }
  double const passes = static_cast<double>((steps + shape.fused_steps - 1) / shape.fused_steps);
  double const made =
      passes * shape.fused_steps * shape.values_per_update * planes * plane / rates.memory;
  auto const sent = 2.0 * shape.arrays * static_cast<double>(halo) * plane;
  int const exchanges = plan.by_stages ? shape.stages : 1;
  double exchanged = 0;
  if (has_slabs) exchanged += exchanges * rates.exchange + sent / rates.link;
  for (double const width : widths)
    if (width > 0) exchanged += rates.exchange + sent / width * held / rates.link;
  bool const meanwhile =
      plan.by_stages || (!plan.has_strips() && steps == shape.fused_steps && plan.parts > 1);
  return (meanwhile ? std::max(made, exchanged) : made + exchanged) / static_cast<double>(steps);
}

/// The steps that take the least, whole passes where there are several.
std::int64_t best_steps_of_strips(SweepPlan const& plan, RankRates const& rates,
                                  std::int64_t most) {
  std::int64_t best = 1;
  for (std::int64_t steps = 2; steps <= std::min<std::int64_t>(most, 1024); ++steps) {
    if (steps > plan.shape.fused_steps && steps % plan.shape.fused_steps != 0) continue;
    if (seconds_of_step(plan, rates, steps) < seconds_of_step(plan, rates, best)) best = steps;
  }
  return best;
}

}  // namespace

SweepPlan plan_ranks(SweepShape const& shape, int ranks, Backend backend,
                     std::optional<std::int64_t> trip_steps, OfStripAxes<int> const& strips) {
  RankRates const rates = rates_of(backend);
  SweepPlan plan{shape, 1, 0, ranks};
  for (std::size_t which = 0; which < strip_axes; ++which) {
    plan.strips[which].count = strips[which];
    if (strips[which] > 1)
      plan.strips[which].points =
          shape.grid.points[static_cast<std::size_t>(axis_of_strips(shape.grid.dims, which))];
  }
  std::int64_t const most = most_trip_steps(plan);
  for (int rank = 0; rank < ranks; ++rank)
    plan.slab_planes = std::max(plan.slab_planes, plan.owned_by(rank).count());
  if (!plan.has_strips()) {
    plan.on_chip = shape.chip_steps > 0 && !trip_steps;
    if (!plan.on_chip && goes_in_parts(plan, rates, trip_steps)) plan.parts = parts_of(plan);
    plan.by_stages = goes_by_stages(plan, rates, trip_steps);
  }
  plan.trip_steps = plan.on_chip        ? shape.chip_steps
                    : plan.parts > 1    ? shape.fused_steps
                    : plan.by_stages    ? 1
                    : trip_steps        ? std::clamp<std::int64_t>(*trip_steps, 1, most)
                    : plan.has_strips() ? best_steps_of_strips(plan, rates, most)
                                        : best_trip_steps(plan, rates, most);
  constexpr std::int64_t boxes = 4;  // of each array: two in each direction
  if (backend == Backend::cuda) plan.link_planes = boxes * shape.arrays * plan.rank_halo();
  return plan;
}

namespace {

/// An arrangement of ranks, and the seconds of a step that it takes by the model.
struct Arrangement {
  OfStripAxes<int> strips = {0, 0};
  double seconds = std::numeric_limits<double>::infinity();
};

}  // namespace

OfStripAxes<int> best_strips(SweepShape const& shape, int ranks, Backend backend,
                             std::optional<std::int64_t> trip_steps,
                             OfStripAxes<bool> const& may_cut) {
  constexpr int few = 8;
  constexpr double worth = 0.8;
  int const slabs = most_ranks(shape);
  if (ranks <= std::min(few, slabs)) return {1, 1};
  OfStripAxes<int> most;
  for (std::size_t which = 0; which < strip_axes; ++which)
    most[which] = may_cut[which] ? std::min(most_strips(shape, which), ranks) : 1;
  // Of slabs, pencils and bricks the best of each.
  std::array<Arrangement, 3> best;
  for (int second = 1; second <= most[1]; ++second) {
    if (ranks % second != 0) continue;
    for (int first = 1; first <= std::min(most[0], ranks / second); ++first) {
      int const parts = first * second;
      if (ranks % parts != 0 || ranks / parts > slabs) continue;
      auto const plan = plan_ranks(shape, ranks, backend, trip_steps, {first, second});
      double const seconds = seconds_of_step(plan, rates_of(backend), plan.trip_steps);
      auto& alike = best[second > 1 ? 2 : first > 1 ? 1 : 0];
      if (seconds < alike.seconds) alike = {{first, second}, seconds};
    }
  }
  auto chosen = best[0];
  if (best[1].seconds < worth * chosen.seconds) chosen = best[1];
  bool const goes = chosen.strips[0] > 0;
  if (best[2].seconds < worth * chosen.seconds && (ranks > few || !goes)) chosen = best[2];
  return chosen.strips;
}

}  // namespace gridstride
