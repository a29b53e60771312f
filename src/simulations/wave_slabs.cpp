#include "simulations/wave_slabs.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/rank_sums.hpp"
#include "core/ranks.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/support/parallel_for.hpp"
#include "model/bricks.hpp"
#include "model/rank_arrays.hpp"
#include "model/rank_files.hpp"
#include "model/values.hpp"
#include "simulations/wave_parameters.hpp"

namespace gridstride::wave {

SlabSteps slab_steps(config::RunConfig const& run, Device const& device) {
  auto const all = rows(run, device.backend());
  Obstacle const obstacles[] = {{has_array(all, "speed squared"), "with a speed that is a number"},
                                {has_array(all, "source"), "without a source"},
                                {!parameters_of(run).ricker.empty(), "without point sources"}};
  Obstacle const of_ranks[] = {{!goes_by_planes(run, all), "with simpler formulas"}};
  SlabSteps steps{.shape = {},
                  .evolved = {"u", "u_before"},
                  .needed = needed_for(obstacles),
                  .needed_of_ranks = needed_for(of_ranks),
                  .needed_of_strips = needed_of_formulas(run, all),
                  .without_whole = goes_without_whole(run, device.backend())};
  if (steps.takes_none()) return steps;
  auto const slowest = static_cast<std::size_t>(run.grid.dims - 1);
  auto const chosen = chosen_for<double>(run, device);
  int const fused = chosen.fused_steps;
  bool const is_field = has_array(all, "speed squared");
  int const coefficients = is_field + has_array(all, "source");
  steps.shape = {.grid = run.grid,
                 .periodic = run.sides_of("u")[slowest][0].kind == SideKind::periodic,
                 .reach = parameters_of(run).order / 2,
                 .fused_steps = fused,
                 .arrays = 2,
                 .made = fused > 1 ? 2 : 1,
                 .looked_beside = 1,
                 // A processor reads what it writes over anyway, a GPU does not.
                 .in_place = fused == 1 && device.backend() == Backend::cpu,
                 .alike = !depends_on_time(all) && parameters_of(run).ricker.empty(),
                 .value_bytes = size_of(run.precision),
                 .values_per_update = ((fused > 1 ? 4.0 : 3.0) + coefficients) / fused,
                 .parts = star::best_parts(chosen)};
  steps.shape.periodic_across = of_strip_axes<bool>(run.grid.dims, [&](std::size_t axis) {
    return run.sides_of("u")[axis][0].kind == SideKind::periodic;
  });
  return steps;
}

std::optional<SweepPlan> plan(config::RunConfig const& run, Device const& device) {
  return plan_slabs(run, device, rows(run, device.backend()), slab_steps(run, device));
}

MemoryForecast memory(config::RunConfig const& run, Inputs const&, Backend backend) {
  Device const device = Device::open(backend, run.device.ordinal);
  return forecast_slabs(run, device, rows(run, backend), slab_steps(run, device),
                        plan(run, device));
}

std::optional<std::int64_t> OwnPoints::place_of(std::array<std::int64_t, 3> const& at,
                                                int dims) const {
  auto here = at;
  here[static_cast<std::size_t>(dims - 1)] = 0;
  for (std::size_t which = 0; which < strip_axes; ++which) {
    auto const& [count, points, own, held] = strips[which];
    if (count == 1) continue;
    auto& point = here[static_cast<std::size_t>(axis_of_strips(dims, which))];
    if (point < own.lower || point >= own.upper) return {};
    point -= held.lower;
  }
  return place_in(grid.points, here);
}

template <class T>
PointSources<T>::PointSources(Stream& stream, std::vector<star::RickerTerm> const& terms,
                              Grid const& grid, OwnPoints const& own)
    : first_(own.planes.lower), plane_(own.grid.face_size(grid.dims - 1)) {
  int const slowest = grid.dims - 1;
  for (auto term : terms) {
    auto const at = grid.indices(term.offset);
    std::int64_t const plane = at[static_cast<std::size_t>(slowest)] - own.planes.lower;
    if (plane < 0 || plane >= own.planes.count()) continue;
    if (auto const place = own.place_of(at, grid.dims)) {
      term.offset = plane * plane_ + *place;
      terms_.push_back(term);
    }
  }
  on_device_ = on_device<star::RickerTerm>(stream, terms_);
}

template <class T>
void PointSources<T>::add(Stream& stream, star::LeapfrogStep<T> const& step, std::int64_t first,
                          evaluate::DeviceClock const* clock) const {
  std::int64_t const lowest = (first - first_) * plane_;
  auto const place = [&](std::int64_t offset) {
    return std::ranges::lower_bound(terms_, offset, {}, &star::RickerTerm::offset) - terms_.begin();
  };
  auto const begin = static_cast<std::size_t>(place(lowest)),
             end = static_cast<std::size_t>(place(lowest + step.grid.size()));
  star::add_ricker<T>(stream, std::as_const(on_device_).span().subspan(begin, end - begin), clock,
                      step.factor, step.damping_time,
                      {step.out - lowest, static_cast<std::size_t>(lowest + step.grid.size())});
}

template class PointSources<float>;
template class PointSources<double>;

namespace {

/// Of a window, but for its arrays.
template <class T>
star::LeapfrogStep<T> step_on(Window<T> const& window, star::LeapfrogStep<T> const& step,
                              AtPoints<T> const& at_points) {
  auto part = step;
  part.grid = window.grid;
  part.made = window.made;
  part.beside = window.beside;
  part.speed_squared_field = at_points.speed_squared->at(window.first);
  part.source = at_points.source->at(window.first);
  auto const slowest = static_cast<std::size_t>(part.grid.dims - 1);
  if (part.damping[slowest] != nullptr) part.damping[slowest] += window.first;
  for (std::size_t which = 0; which < strip_axes; ++which) {
    int const axis = axis_of_strips(part.grid.dims, which);
    if (axis >= 0 && part.damping[static_cast<std::size_t>(axis)] != nullptr)
      part.damping[static_cast<std::size_t>(axis)] += at_points.first_across[which];
  }
  for (std::size_t side = 0; side < 2; ++side)
    if (window.cut[0] && window.cut[1])
      part.sides[slowest][side] = SideKind::periodic;
    else if (window.cut[side])
      part.sides[slowest][side] = SideKind::free;
  return part;
}

}  // namespace

template <class T>
typename WindowSteps<T>::Pass pass_of(star::LeapfrogStep<T> const& step,
                                      star::Chosen<T> const& chosen, AtPoints<T> const& at_points) {
  return [step, chosen, at_points](Stream& stream, Window<T> const& window) {
    auto part = step_on(window, step, at_points);
    if (window.steps > 1) {
      star::WaveArrays<T> arrays{window.in[0], window.in[1], {window.out[0], window.out[1]}};
      return star::leapfrog_repeatedly(stream, part, arrays, window.steps, chosen);
    }
    part.in = window.in[0];
    part.previous = window.in[1];
    part.out = window.out[0];
    star::leapfrog(stream, part, chosen);
    if (at_points.ricker != nullptr)
      at_points.ricker->add(stream, part, window.first, at_points.clock);
    if (window.out[1] == nullptr) return;
    auto const size = static_cast<std::size_t>(part.grid.size());
    copy_async(std::span(window.out[1], size), std::span<T const>(window.in[0], size), stream);
  };
}

template WindowSteps<float>::Pass pass_of(star::LeapfrogStep<float> const&,
                                          star::Chosen<float> const&, AtPoints<float> const&);
template WindowSteps<double>::Pass pass_of(star::LeapfrogStep<double> const&,
                                           star::Chosen<double> const&, AtPoints<double> const&);

/// Pieces that a rank alone has points of are summed where these lie; of others the shares come to one of the ranks.
template <class T>
void find_energy(Stream& stream, SweepPlan const& plan, Window<T> const& window,
                 star::LeapfrogStep<T> const& step, double tau, AtPoints<T> const& at_points,
                 std::span<double> energy) {
  struct Piece {
    std::int64_t number;
    double sum;
  };
  auto part = step_on(window, step, at_points);
  part.in = window.in[0];
  part.previous = window.in[1];
  RankArrays<double> arrays(stream, plan, ranks());
  auto const alone = arrays.alone(1);
  std::int64_t const plane = plan.shape.plane_values();
  std::int64_t const before = plan.owned_by(ranks().rank()).lower - window.made[0];
  star::PointsInOrder const points{alone.first - before * plane, alone.last - alone.first};
  Buffer<double> on_device(
      stream, MemorySpace::device,
      static_cast<std::size_t>((points.count + star::energy_piece - 1) / star::energy_piece));
  if (points.count > 0) star::energy_pieces(stream, part, tau, points, on_device.span());
  std::vector<double> sums(on_device.size());
  copy_async(std::span(sums), std::as_const(on_device).span(), stream);
  stream.synchronize();
  std::vector<Piece> own;
  for (double const sum : sums)
    own.push_back({alone.first / star::energy_piece + std::ssize(own), sum});

  Brick const held{{window.first, window.first + part.grid.points[part.grid.dims - 1]},
                   plan.held_strips()};
  auto const begin = begin_of(extents_of(whole_grid(plan), held));
  auto const make = [&](std::size_t, PointBox const& box, double* shares) {
    star::PointsOfGrid box_points{begin_of(box), points_of(box)};
    for (std::size_t axis = 0; axis < 3; ++axis) box_points.first[axis] -= begin[axis];
    star::energy_shares(stream, part, tau, box_points, shares);
  };
  std::mutex mutex;
  auto const use = [&](auto const& slab) {
    auto const& shares = slab.values.front();
    std::vector<Piece> found((shares.size() + star::energy_piece - 1) / star::energy_piece);
    parallel_for(std::ssize(found), star::energy_piece, [&](std::int64_t n) {
      auto const rest = shares.subspan(static_cast<std::size_t>(n * star::energy_piece));
      auto const piece = rest.first(std::min<std::size_t>(rest.size(), star::energy_piece));
      found[static_cast<std::size_t>(n)] = {slab.first / star::energy_piece + n,
                                            star::sum_of_shares(stream.backend(), piece)};
    });
    std::scoped_lock const lock(mutex);
    own.insert(own.end(), found.begin(), found.end());
  };
  arrays.look_at_made(1, make, RankArrays<double>::Owners::all, use, {},
                      [](std::size_t) { return true; });
  auto const pieces = to_first(ranks(), own);
  std::vector<double> all(pieces.size());
  for (auto const& [number, sum] : pieces) all[static_cast<std::size_t>(number)] = sum;
  Buffer<double> together(stream, MemorySpace::device, all.size());
  copy_async(together.span(), std::span<double const>(all), stream);
  reduce::sum<double>(stream, std::as_const(together).span(), energy,
                      reduce::variant_of_blocks("auto", stream.backend()));
  stream.synchronize();
}

template void find_energy(Stream&, SweepPlan const&, Window<float> const&,
                          star::LeapfrogStep<float> const&, double, AtPoints<float> const&,
                          std::span<double>);
template void find_energy(Stream&, SweepPlan const&, Window<double> const&,
                          star::LeapfrogStep<double> const&, double, AtPoints<double> const&,
                          std::span<double>);

}  // namespace gridstride::wave
