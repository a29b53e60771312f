#include "model/out_of_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/ranks.hpp"
#include "core/text.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "model/bricks.hpp"
#include "model/rank_files.hpp"

namespace gridstride {

std::optional<OfStripAxes<int>> wanted_strips(config::RunConfig const& run) {
  auto const dims = static_cast<int>(std::ssize(run.parts));
  if (dims < 2) return {};
  OfStripAxes<int> wanted = {1, 1};
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (int const axis = axis_of_strips(dims, which); axis >= 0)
      wanted[which] = static_cast<int>(run.parts[static_cast<std::size_t>(axis)]);
  return wanted;
}

bool wants_strips(config::RunConfig const& run) {
  auto const wanted = wanted_strips(run).value_or(OfStripAxes<int>{1, 1});
  return std::ranges::any_of(wanted, [](int count) { return count > 1; });
}

namespace {

/// What libraries and kernels take beside all that is counted.
constexpr double spare = 256 << 20;

/// What the arrays of a run, or of each of its ranks, may take of the device.
double room_of(config::RunConfig const& run, Device const& device) {
  if (run.limits.device_memory) return *run.limits.device_memory;
  if (device.backend() == Backend::cpu) return std::numeric_limits<double>::infinity();
  return static_cast<double>(device.free_memory()) / ranks_together(run, device) - spare;
}

/// Values that all cut faces of a run have for each plane.
std::int64_t values_of_plane(SweepShape const& shape, std::span<Row const> rows) {
  std::int64_t values = 0;
  int const slowest = shape.grid.dims - 1;
  for (Row const& row : rows)
    if (row.role == Role::side && row.grid.points[slowest] == shape.planes())
      values += row.arrays * row.grid.size() / shape.planes();
  return values;
}

/// Values that the faces at the ends of the slowest axis have.
std::int64_t values_of_ends(SweepShape const& shape, std::span<Row const> rows) {
  std::int64_t values = 0;
  for (Row const& row : rows)
    if (row.role == Role::side && row.grid.points[shape.grid.dims - 1] == 1)
      values += row.arrays * row.grid.size();
  return values;
}

/// What ranks and slabs have of sides beside the whole: at most as much.
std::size_t face_bytes(SweepPlan const& plan, std::span<Row const> rows) {
  if (!plan.shape.periodic && !plan.has_strips()) return 0;
  return static_cast<std::size_t>(values_of_plane(plan.shape, rows) * plan.window_planes() +
                                  (plan.has_strips() ? values_of_ends(plan.shape, rows) : 0)) *
         plan.shape.value_bytes;
}

bool is_evolved(Row const& row, SlabSteps const& steps) {
  return std::ranges::find(steps.evolved, row.name) != steps.evolved.end();
}

/// The most parts along each axis that may be cut: `4 parts along x and 3 along y`.
std::string most_parts_text(SweepShape const& shape, OfStripAxes<bool> const& may_cut) {
  int const dims = shape.grid.dims;
  std::string text;
  auto const add = [&](int most, int axis) {
    text += fmt::format("{}{} along {}", most, text.empty() ? " parts" : "",
                        axis_names[static_cast<std::size_t>(axis)]);
  };
  if (may_cut[1]) add(most_strips(shape, 1), axis_of_strips(dims, 1));
  if (may_cut[0]) {
    text += text.empty() ? "" : ", ";
    add(most_strips(shape, 0), axis_of_strips(dims, 0));
  }
  text += " and ";
  add(most_ranks(shape), dims - 1);
  return text;
}

/// How the ranks of a run share it.
SweepPlan plan_shares(config::RunConfig const& run, Device const& device, SlabSteps const& steps) {
  auto const refuse = [&](std::string_view key, std::string message) {
    return ConfigError({run.problem(run.location(key), std::move(message))});
  };
  auto const& shape = steps.shape;
  if (auto const refusal = steps.refusal_of_ranks(); !refusal.empty())
    throw refuse("simulation", fmt::format("{} (there are {})", refusal, run.ranks));
  auto const too_many = [&](int count, std::string_view what, int axis, int most) {
    return refuse("grid.points",
                  fmt::format("{} {} are too many for {} points along {}: up to {} can share them",
                              count, what, shape.grid.points[static_cast<std::size_t>(axis)],
                              axis_names[static_cast<std::size_t>(axis)], most));
  };
  std::optional<std::int64_t> trip_steps;
  if (run.limits.trip_steps) trip_steps = static_cast<std::int64_t>(*run.limits.trip_steps);
  auto const wanted = wanted_strips(run);
  int const slowest = run.grid.dims - 1, slabs = most_ranks(shape);
  OfStripAxes<bool> may_cut = {};
  for (std::size_t which = 0; which < strip_axes; ++which) {
    int const axis = axis_of_strips(run.grid.dims, which), most = most_strips(shape, which);
    auto const& needed = steps.needed_of_strips[which];
    if (wanted && (*wanted)[which] > 1 && !needed.empty())
      throw refuse("ranks", fmt::format("parts along {} take steps {}",
                                        which == 0 ? "two axes" : "a third axis", needed));
    if (wanted && (*wanted)[which] > most) throw too_many((*wanted)[which], "parts", axis, most);
    may_cut[which] = axis >= 0 && needed.empty();
  }
  bool const may_choose = !wanted && (may_cut[0] || may_cut[1]);
  auto const strips = wanted ? *wanted
                      : may_choose
                          ? best_strips(shape, run.ranks, device.backend(), trip_steps, may_cut)
                          : OfStripAxes<int>{1, 1};
  int const parts = strips[0] * strips[1];
  if (parts == 0)
    throw refuse("grid.points", fmt::format("{} ranks are too many for {} points: up to {} can "
                                            "share them",
                                            run.ranks, format_points(shape.grid),
                                            most_parts_text(shape, may_cut)));
  if (run.ranks / parts > slabs)
    throw too_many(run.ranks / parts, parts > 1 ? "parts" : "ranks", slowest, slabs);
  return plan_ranks(shape, run.ranks, device.backend(), trip_steps, strips).at_rank(ranks().rank());
}

std::string slabs_text(SweepPlan const& plan) {
  return fmt::format("larger than the device: slabs of {} of {} planes, up to {} steps a trip",
                     plan.slab_planes, plan.shape.planes(), plan.trip_steps);
}

/// How ranks share a grid, by the rank with the most of it.
std::string shares_text(SweepPlan const& plan) {
  std::string across;
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (auto const& [count, points, own, held] = plan.strips[which]; count > 1)
      across += fmt::format(
          "{} {} parts along {}, up to {} of {} points each", across.empty() ? " of" : " and",
          count, axis_names[static_cast<std::size_t>(axis_of_strips(plan.shape.grid.dims, which))],
          own.count(), points);
  return fmt::format(
      "{} ranks share {} planes{}, up to {}{} each, with {} more on each side for up to {} steps",
      plan.ranks, plan.shape.planes(), across, plan.slab_planes, plan.has_strips() ? " planes" : "",
      plan.rank_halo(), plan.trip_steps);
}

/// Of a run that has not begun: later, other ranks have taken what they need.
void require_room(config::RunConfig const& run, Device const& device,
                  MemoryForecast const& memory) {
  auto const needed = static_cast<double>(memory.rank_bytes);
  double const room = room_of(run, device);
  if (needed <= room) return;
  bool const is_limit = run.limits.device_memory.has_value();
  int const together = memory.ranks_beside + 1;
  throw ConfigError({run.problem(
      run.location(is_limit ? "limits.device_memory" : "grid.points"),
      fmt::format(
          "the part of each of {} ranks takes {}, of {} that it may take{}", run.ranks,
          format_bytes(needed), format_bytes(std::max(room, 0.0)),
          together > 1 && !is_limit ? fmt::format(" ({} of them share a GPU)", together) : ""))});
}

}  // namespace

int ranks_here(config::RunConfig const& run) {
  return ranks().count() == 1 ? run.ranks : ranks().local_count();
}

int ranks_together(config::RunConfig const& run, Device const& device) {
  if (run.ranks == 1) return 1;
  int const here = ranks_here(run);
  if (device.backend() == Backend::cpu || run.device.has_ordinal) return here;
  int const gpus = std::max(static_cast<int>(Device::available().size()) - 1, 1);
  return (here + gpus - 1) / gpus;
}

std::string SlabSteps::refusal() const {
  return needed.empty() ? needed
                        : fmt::format("grids larger than the device take steps {}", needed);
}

std::string SlabSteps::refusal_of_ranks() const {
  return needed_of_ranks.empty() ? needed_of_ranks
                                 : fmt::format("several ranks take steps {}", needed_of_ranks);
}

std::string needed_for(std::span<Obstacle const> obstacles) {
  auto const first = std::ranges::find_if(obstacles, &Obstacle::is_there);
  return first == obstacles.end() ? std::string() : std::string(first->needed);
}

bool goes_by_planes(expression::Expression const& formula, Grid const& grid, int axes) try {
  auto by_index = formula;
  for (int axis = grid.dims - 1; axis >= std::max(grid.dims - axes, 0); --axis)
    by_index = evaluate::by_index(by_index, grid, axis);
  return true;
} catch (Error const&) {
  return false;  // with the index for a coordinate it is too long or too deep
}

bool goes_by_planes(config::RunConfig const& run, std::span<Row const> rows, int axes) {
  return std::ranges::all_of(rows, [&](Row const& row) {
    return row.role != Role::coefficient || !row.source.file.empty() ||
           goes_by_planes(row.source.formula.expression, run.grid, axes);
  });
}

bool compares_by_parts(config::RunConfig const& run) {
  return std::ranges::all_of(run.verify.exact, [&](auto const& exact) {
    return goes_by_planes(exact.second.expression, run.grid, run.grid.dims);
  });
}

bool goes_without_whole(config::RunConfig const& run, Backend backend) {
  return is_written_in_parts(run, backend) && compares_by_parts(run);
}

OfStripAxes<std::string> needed_of_formulas(config::RunConfig const& run,
                                            std::span<Row const> rows) {
  OfStripAxes<std::string> needed;
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (!goes_by_planes(run, rows, static_cast<int>(which) + 2))
      needed[which] = "with simpler formulas";
  return needed;
}

double found_by_first(config::RunConfig const& run, std::function<double()> const& find) {
  double found = keeps_state(run) ? find() : 0;
  if (run.ranks > 1) ranks().broadcast(std::as_writable_bytes(std::span(&found, 1)));
  return found;
}

std::string text_of_first(config::RunConfig const& run, std::function<std::string()> const& find) {
  std::string found = keeps_state(run) ? find() : std::string();
  if (run.ranks == 1) return found;
  std::size_t size = found.size();
  ranks().broadcast(std::as_writable_bytes(std::span(&size, 1)));
  found.resize(size);
  if (size > 0) ranks().broadcast(std::as_writable_bytes(std::span(found)));
  return found;
}

bool keeps_state(config::RunConfig const& run) { return run.ranks == 1 || ranks().is_first(); }

std::vector<Row> rows_of_slabs(config::RunConfig const& run, std::vector<Row> rows,
                               SlabSteps const& steps, SweepPlan const& plan) {
  for (Row& row : rows) {
    if (row.role == Role::coefficient || row.role == Role::scratch) row.strips = plan.held_strips();
    if (row.role == Role::coefficient && row.arrays > 0 && plan.ranks > 1) {
      row.planes = plan.held_by(ranks().rank());
      row.whole = keeps_state(run) && row.whole;
    }
    if (row.role == Role::scratch && plan.ranks > 1) row.planes = plan.owned_by(ranks().rank());
    if (row.role != Role::evolved) continue;
    row.on_host = is_evolved(row, steps);
    row.arrays = row.on_host && keeps_state(run) && !steps.without_whole ? 1 : 0;
  }
  return rows;
}

std::optional<SweepPlan> plan_slabs(config::RunConfig const& run, Device const& device,
                                    std::span<Row const> rows, SlabSteps const& steps) {
  if (run.ranks > 1) return plan_shares(run, device, steps);
  double const room = room_of(run, device);
  std::size_t const needed = forecast(run, rows).bytes();
  if (static_cast<double>(needed) <= room) return {};
  bool const is_limit = run.limits.device_memory.has_value();
  auto const refuse = [&](std::string message) {
    return ConfigError({run.problem(run.location(is_limit ? "limits.device_memory" : "grid.points"),
                                    std::move(message))});
  };
  if (auto const refusal = steps.refusal(); !refusal.empty()) {
    if (!is_limit) return {};
    throw refuse(fmt::format("the arrays take {}, and {}",
                             format_bytes(static_cast<double>(needed)), refusal));
  }
  // Beside the slabs: sides, and what diagnostics take of a device that nobody set a limit for.
  SweepPlan longest{steps.shape,
                    std::max<std::int64_t>(steps.shape.planes() / steps.shape.reach, 1)};
  auto const left = rows_of_slabs(run, {rows.begin(), rows.end()}, steps, longest);
  double const others =
      static_cast<double>(forecast(run, left).bytes() + face_bytes(longest, rows));
  SweepLimits limits{(is_limit ? room : 0.9 * room) - others, run.limits.chunk, {}};
  if (run.limits.trip_steps) limits.trip_steps = static_cast<std::int64_t>(*run.limits.trip_steps);
  if (auto const plan = plan_sweep(steps.shape, limits)) return plan;
  SweepPlan const least{steps.shape};
  throw refuse(
      fmt::format("{} are left for slabs, and one of a single line along the slowest axis takes {}",
                  format_bytes(std::max(limits.device_bytes, 0.0)),
                  format_bytes(static_cast<double>(least.device_bytes()))));
}

namespace {

/// Of a GPU, what diagnostics make of fields at a time: values of formulas, and what these read; lengths of vectors.
constexpr std::size_t diagnosed_slabs = 2;

/// Errors, on the host, in slabs as files have them; of a GPU the rank's planes are there, too.
std::size_t comparison_bytes(SweepPlan const& plan, Backend backend) {
  std::size_t const errors = static_cast<std::size_t>(whole_grid(plan).size()) * sizeof(double);
  std::size_t const own = static_cast<std::size_t>(plan.slab_planes) * plan.shape.plane_bytes();
  return file_slabs_bytes(Backend::cpu, errors) + (backend == Backend::cuda ? own : 0);
}

}  // namespace

MemoryForecast forecast_slabs(config::RunConfig const& run, Device const& device,
                              std::vector<Row> const& rows, SlabSteps const& steps,
                              std::optional<SweepPlan> const& given) {
  auto const plan = given ? std::optional(given->widest()) : std::nullopt;
  auto left = plan ? rows_of_slabs(run, rows, steps, *plan) : rows;
  for (Row& row : left)  // of a rank with as many as any
    if (row.planes && row.role == Role::coefficient)
      row.planes = {0, plan->slab_planes + 2 * plan->rank_halo()};
    else if (row.planes)
      row.planes = {0, plan->slab_planes};
  auto memory = forecast(run, left);
  if (!plan) {
    memory.beyond = steps.refusal();
    return memory;
  }
  memory.other_bytes += plan->device_bytes() + face_bytes(*plan, rows);
  memory.trip_steps = plan->trip_steps;
  memory.trips = plan->ranks > 1 ? "exchanges" : "trips";
  memory.slabs = plan->ranks > 1 ? shares_text(*plan) : slabs_text(*plan);
  if (plan->ranks == 1) return memory;
  if (steps.without_whole) {
    memory.host_bytes += file_slabs_bytes(device.backend(), memory.field_bytes);
    if (device.backend() == Backend::cuda && !run.diagnostics.empty())
      memory.other_bytes += diagnosed_slabs * std::min(memory.field_bytes, slab_of_files);
    if (!run.verify.exact.empty()) memory.host_bytes += comparison_bytes(*plan, device.backend());
    for (config::FieldInfo const& field : run.fields) memory.streamed.push_back(field.name);
  }
  memory.other_bytes += steps.other_bytes;
  memory.rank_bytes = memory.bytes();
  memory.ranks_beside = ranks_together(run, device) - 1;
  require_room(run, device, memory);
  return memory;
}

template <class T>
WindowFace<T>::WindowFace(Stream& stream, SweepPlan const& plan, int axis, T const* values)
    : values_(values), whole_(values) {
  auto const& shape = plan.shape;
  int const slowest = shape.grid.dims - 1;
  bool const has_planes = axis != slowest;
  face_ = shape.grid;
  for (std::size_t which = 0; which < strip_axes; ++which) {
    int const cut = axis_of_strips(shape.grid.dims, which);
    if (!plan.strips[which].are_there() || cut == axis) continue;
    brick_.strips[which] = plan.strips[which].held;
    face_.points[static_cast<std::size_t>(cut)] = plan.strips[which].points;
  }
  face_.points[static_cast<std::size_t>(axis)] = 1;
  bool const has_strips = brick_.strips[0].count() > 0 || brick_.strips[1].count() > 0;
  if (values == nullptr || (!has_planes && !has_strips)) return;
  std::int64_t const planes = has_planes ? shape.planes() : 1;
  std::int64_t const held = shape.grid.face_size(axis) / planes;
  if (has_planes) line_ = held;
  if (!has_strips && !shape.periodic) return;
  bool const goes_on = has_planes && shape.periodic;
  if (goes_on) first_ = plan.first_plane();
  brick_.planes = goes_on ? Planes{first_, first_ + plan.window_planes()} : Planes{0, planes};
  own_ = Buffer<T>(stream, MemorySpace::device,
                   static_cast<std::size_t>(held * brick_.planes.count()));
  values_ = own_.data();
  renew(stream);
}

template <class T>
void WindowFace<T>::renew(Stream& stream) {
  if (own_.size() == 0) return;
  copy_brick(stream, face_, const_cast<T*>(whole_), brick_, own_.data(), points_of(face_, brick_),
             true);
}

template class WindowFace<float>;
template class WindowFace<double>;

}  // namespace gridstride
