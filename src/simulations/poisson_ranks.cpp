#include "simulations/poisson_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/ranks.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/poisson/layers.hpp"
#include "kernels/poisson/shared_transforms.hpp"
#include "kernels/poisson/transform.hpp"
#include "kernels/stencil/stencil.hpp"
#include "model/hand_out.hpp"

namespace gridstride::poisson {

namespace {

/// Why no ranks share a method.
std::string reason_of(config::RunConfig const& run, std::string const& method) {
  if (relaxation_of(run) != multigrid::Relaxation::none)
    return method + " is computed by one process, since it is there to compare with";
  return method + " is computed by one process";
}

bool is_shared(std::string const& method) {
  return method == "cg" || method == "fft" || method == "multigrid" || method == "mg_cg";
}

}  // namespace

std::string refusal_of_ranks(config::RunConfig const& run) {
  std::string const method = method_of(run);
  if (run.grid.dims == 1)
    return fmt::format(
        "a line is computed by one process (there are {}; ranks share grids of two or three axes)",
        run.ranks);
  if (!is_shared(method))
    return fmt::format("{} (there are {}; ranks share cg, fft, multigrid and mg_cg)",
                       reason_of(run, method), run.ranks);
  if (method == "fft" && unknowns(run.grid, sides_of(run), 0).count < 2)
    return fmt::format(
        "fft with one unknown along x is computed by one process (there are {}; ranks share two "
        "and more, and cg any)",
        run.ranks);
  return {};
}

namespace {

SlabSteps shares_of(config::RunConfig const& run, Device const& device,
                    std::vector<Row> const& rows) {
  std::string needed;
  if (!goes_by_planes(run, rows)) needed = "with simpler formulas";
  Precision const inner = conjugates_of(run).inner;
  Grid plane = run.grid;
  std::size_t const value_bytes = size_of(run.precision), points = 1024;
  plane.points = {static_cast<std::int64_t>(points), 1, 1};
  // What others take depends on the cuts (`with_solver`).
  bool const conjugates = method_of(run) == "cg";
  std::size_t const bytes =
      conjugates ? conjugate_bytes(plane, has_fields(run), inner) / points : 0;
  std::size_t const numbers = (bytes + value_bytes - 1) / value_bytes;
  auto const slowest = static_cast<std::size_t>(run.grid.dims - 1);
  std::int64_t together = planes_together(conjugates ? device.backend() : Backend::cpu, run.grid,
                                          sides_of(run), has_fields(run), inner);
  if (method_of(run) == "mg_cg")
    together = std::lcm(together, multigrid::planes_together(device.backend(), run.grid,
                                                             sides_of(run), has_fields(run)));
  return {.shape = {.grid = run.grid,
                    .periodic = sides_of(run)[slowest][0] == SideKind::periodic,
                    .made = 0,
                    .alike = false,
                    .scratch = static_cast<int>(numbers),
                    .value_bytes = value_bytes,
                    .together = together},
          .evolved = {"u"},
          .needed_of_ranks = needed};
}

RankCuts cuts_of(SweepPlan const& plan) {
  RankCuts cuts;
  for (int rank = 0; rank < plan.ranks; ++rank) cuts.push_back(plan.owned_by(rank).lower);
  cuts.push_back(plan.shape.planes());
  return cuts;
}

/// What transforms take, and what is eliminated between them.
std::size_t transform_bytes_of(config::RunConfig const& run, Device const& device,
                               std::vector<Row> const& rows, RankCuts const& planes) {
  auto const sides = sides_of(run);
  RankCuts const columns = SharedTransforms<double>::columns_of(run.grid, run.ranks);
  auto const most = [](RankCuts const& cuts) {
    std::int64_t part = 0;
    for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
      part = std::max(part, cuts[rank + 1] - cuts[rank]);
    return part;
  };
  std::size_t const value_bytes = size_of(run.precision);
  std::size_t bytes = RankTransposition::bytes(device.backend(), planes, columns, value_bytes);
  constexpr std::size_t at_a_time = 2;  // pieces
  bytes += at_a_time *
           transform_bytes(device.backend(), transform_shape(run.grid, sides).shape, value_bytes);
  auto const axis = eliminated_axis(run);
  if (!axis) return bytes;
  auto const varying = std::ranges::count_if(rows, [](Row const& row) {
    return (row.name == "diffusivity" || row.name == "reaction") && row.arrays > 0;
  });
  return bytes + LayerSolver<double>::bytes_of_rank(device.backend(), run.grid, sides, *axis,
                                                    most(planes), most(columns),
                                                    static_cast<int>(varying));
}

/// With what the solver takes, as if it were arrays of a rank's planes.
SweepPlan with_solver(config::RunConfig const& run, Device const& device,
                      std::vector<Row> const& rows, SweepPlan plan) {
  std::string const method = method_of(run);
  if (method == "cg") return plan;
  std::size_t const bytes =
      method == "fft"
          ? transform_bytes_of(run, device, rows, cuts_of(plan))
          : multigrid::solver_bytes(device.backend(), run.grid, sides_of(run), has_fields(run),
                                    run.precision, cycles_of(run), cuts_of(plan));
  auto const planes = static_cast<std::size_t>(plan.slab_planes + 2 * plan.rank_halo());
  std::size_t const array = planes * plan.shape.plane_bytes();
  plan.shape.scratch = static_cast<int>((bytes + array - 1) / array);
  return plan;
}

}  // namespace

std::optional<SweepPlan> plan_of_ranks(config::RunConfig const& run, Device const& device,
                                       std::vector<Row> const& rows) {
  if (run.ranks == 1) return std::nullopt;
  return plan_slabs(run, device, rows, shares_of(run, device, rows));
}

MemoryForecast memory_of_ranks(config::RunConfig const& run, Device const& device,
                               std::vector<Row> const& rows, SweepPlan const& plan) {
  auto memory = forecast_slabs(run, device, rows, shares_of(run, device, rows),
                               with_solver(run, device, rows, plan));
  memory.trips = {};
  memory.slabs = fmt::format("{} ranks share {} planes, up to {} each", plan.ranks,
                             plan.shape.planes(), plan.slab_planes);
  return memory;
}

std::vector<Row> rows_of_rank(config::RunConfig const& run, std::vector<Row> rows,
                              SweepPlan const& plan) {
  rows = rows_of_slabs(run, std::move(rows), {.shape = plan.shape, .evolved = {"u"}}, plan);
  Planes const own = plan.owned_by(ranks().rank());
  for (Row& row : rows)  // as `RankPlanes` has them, also at the ends
    if (row.planes) row.planes = {own.lower - 1, own.upper + 1};
  return rows;
}

Coefficients shared_coefficients(config::RunConfig const& run, Inputs const& inputs) {
  Coefficients found;
  if (keeps_state(run)) found = coefficients_of(run, inputs);
  if (run.ranks > 1) ranks().broadcast(std::as_writable_bytes(std::span(&found, 1)));
  return found;
}

template <class T>
RankPart<T>::RankPart(Stream& stream, config::RunConfig const& run, SweepPlan const& plan)
    : grid_(run.grid),
      most_planes_(plan.slab_planes),
      planes_(std::make_unique<RankPlanes>(
          ranks(), stream, cuts_of(plan), plan.shape.periodic,
          static_cast<std::size_t>(plan.shape.plane_values()) * sizeof(double),
          static_cast<std::size_t>(most_shared_sums(run.grid)))),
      u_(stream, MemorySpace::device, static_cast<std::size_t>(planes_->held() * line())) {}

template <class T>
std::span<T const> RankPart<T>::own() const {
  auto const plane = static_cast<std::size_t>(line());
  return u_.span().subspan(plane, u_.size() - 2 * plane);
}

template <class T>
std::int64_t RankPart<T>::first_place(std::int64_t own_place) {
  if (own_place >= 0) own_place += planes_->lower() * line();
  for (std::int64_t const place : of_all_ranks(planes_->ranks(), own_place))
    if (place >= 0) return place;
  return -1;
}

/// On its planes and those beside them, as far as they are of the grid: three at least.
template <class T>
void RankPart<T>::impose(Stream& stream, Sides const& sides, SideValues<T> const& values) {
  auto const slowest = static_cast<std::size_t>(grid_.dims - 1);
  std::int64_t const all = grid_.points[slowest];
  Planes const there = Planes{planes_->lower() - 1, planes_->upper() + 1}.within({0, all});
  Grid window = grid_;
  window.points[slowest] = there.count();
  typename stencil::DiffusionStep<T> given{};
  for (std::size_t axis = 0; axis <= slowest; ++axis)
    for (std::size_t side = 0; side < 2; ++side) {
      bool const is_end = side == 0 ? there.lower == 0 : there.upper == all;
      if (axis == slowest && !is_end) continue;
      std::int64_t const line = axis == slowest ? 0 : grid_.face_size(static_cast<int>(axis)) / all;
      T const* const first = values[axis][side];
      given.sides[axis][side] = {sides[axis][side],
                                 first == nullptr ? first : first + there.lower * line};
    }
  zero_async(u_.span(), stream);
  stencil::impose_dirichlet<T>(stream, window, given.sides,
                               u_.data() + (there.lower - planes_->lower() + 1) * line());
}

template <class T>
void RankPart<T>::gather(Stream& stream, std::span<T> whole) {
  gather_planes(stream, planes_->ranks(), planes_->cuts(), line(), own(), whole);
}

template <class T>
std::vector<NamedText> RankPart<T>::texts() const {
  return {{"ranks", fmt::format("{}, of {} planes up to {} each", planes_->ranks().count(),
                                planes_->all(), most_planes_)},
          {"transport", planes_->transport()}};
}

template class RankPart<float>;
template class RankPart<double>;

}  // namespace gridstride::poisson
