#include "simulations/heat_implicit_ranks.hpp"

#include <algorithm>

#include "core/ranks.hpp"
#include "model/adaptive_steps.hpp"
#include "simulations/heat_multigrid.hpp"
#include "simulations/heat_schemes.hpp"

namespace gridstride::heat {

namespace {

/// The axis that is cut where a rank has all planes.
std::size_t axis_of_columns(Grid const& grid) { return static_cast<std::size_t>(grid.dims - 2); }

/// Which places of that axis each rank has: in two dimensions sixteen together, so that they lie in
/// whole vectors, and that no rank has one alone.
RankCuts cuts_of_columns(Grid const& grid, int ranks) {
  std::int64_t const points = grid.points[axis_of_columns(grid)];
  std::int64_t const together = grid.dims == 2 ? 16 : 1;
  RankCuts cuts;
  for (int rank = 0; rank < ranks; ++rank)
    cuts.push_back(points / together * rank / ranks * together);
  cuts.push_back(points);
  return cuts;
}

/// The same in values of a plane.
RankCuts cuts_of_values(Grid const& grid, RankCuts cuts) {
  for (std::int64_t& cut : cuts) cut *= grid.dims == 2 ? 1 : grid.points[0];
  return cuts;
}

Grid across_of(Grid grid, RankCuts const& cuts, int rank) {
  auto const at = static_cast<std::size_t>(rank);
  grid.points[axis_of_columns(grid)] = cuts[at + 1] - cuts[at];
  return grid;
}

std::int64_t most_across(Grid const& grid, RankCuts const& cuts) {
  std::int64_t most = 0;
  for (int rank = 0; rank + 1 < std::ssize(cuts); ++rank)
    most = std::max(most, across_of(grid, cuts, rank).size());
  return most;
}

/// Whether ranks have as many parts of the lines across planes each, of which they tell each other, where
/// no other kernel solves for any stage.
bool tells_of_parts(config::RunConfig const& run, Device const& device, SweepShape shape) {
  if (alternates(run, device)) return true;
  if (takes_multigrid(run)) return false;
  shape.together = stencil::SharedLines<double>::planes_together;
  if (!run.time.step || has_field(run) || shape.pieces() % run.ranks != 0) return false;
  auto const& scheme = implicit_scheme(run);
  return with_zero_of(run.precision, [&](auto zero) {
    auto const diffusion = constant_diffusion<decltype(zero)>(run);
    return std::ranges::all_of(std::array{scheme.part / 2, scheme.backward}, [&](double theta) {
      int const slowest = run.grid.dims - 1;
      return theta == 0 ||
             stencil::takes_lines(device, stencil::line_solve(diffusion, theta, slowest));
    });
  });
}

std::int64_t planes_of(SweepShape const& shape, int ranks) {
  return (shape.planes() + ranks - 1) / ranks;
}

/// What a rank takes beside the rows of its planes: those on both sides of arrays, boxes, lines across
/// planes, and coefficients.
std::size_t bytes_beside(config::RunConfig const& run, Device const& device,
                         SweepShape const& shape) {
  std::size_t const bytes =
      static_cast<std::size_t>(2 * Work(run).arrays() + 4) * shape.plane_bytes();
  SweepPlan plan{shape};
  plan.ranks = run.ranks;
  if (takes_multigrid(run))
    return bytes + with_zero_of(run.precision, [&](auto zero) {
             return WholeSystem<decltype(zero)>::bytes(run, device.backend(), plan.cuts());
           });
  if (shape.together > 1)
    return bytes + with_zero_of(run.precision, [&](auto zero) {
             return stencil::SharedLines<decltype(zero)>::bytes(run.grid, run.ranks);
           });
  auto const cuts = cuts_of_columns(run.grid, run.ranks);
  std::int64_t const across = most_across(run.grid, cuts);
  std::int64_t const own = planes_of(shape, run.ranks) * shape.plane_values();
  std::int64_t const coefficients = has_rows(run)
                                        ? across + 3 * std::max<std::int64_t>(across - own, 0)
                                        : 3 * *std::ranges::max_element(run.grid.points);
  return bytes + static_cast<std::size_t>(coefficients) * shape.value_bytes +
         RankTransposition::bytes(device.backend(), plan.cuts(), cuts_of_values(run.grid, cuts),
                                  shape.value_bytes);
}

}  // namespace

SlabSteps implicit_slabs(config::RunConfig const& run, Device const& device,
                         std::vector<Row> const& rows) {
  Obstacle const of_ranks[] = {{run.grid.dims == 1, "in two or three dimensions"},
                               {!goes_by_planes(run, rows), "with simpler formulas"}};
  SlabSteps steps{.shape = {},
                  .evolved = {"u"},
                  .needed = "of the scheme ftcs",
                  .needed_of_ranks = needed_for(of_ranks),
                  .without_whole = goes_without_whole(run, device.backend())};
  auto& shape = steps.shape;
  shape.grid = run.grid;
  shape.periodic = run.sides_of("u")[run.grid.dims - 1][0].kind == SideKind::periodic;
  shape.value_bytes = size_of(run.precision);
  shape.alike = false;
  if (run.ranks == 1 || !steps.needed_of_ranks.empty()) return steps;
  if (tells_of_parts(run, device, shape))
    shape.together = stencil::SharedLines<double>::planes_together;
  if (takes_multigrid(run))
    shape.together = WholeSystem<double>::planes_together(run, device.backend());
  if (run.ranks > most_ranks(shape)) return steps;
  std::size_t const array =
      static_cast<std::size_t>(planes_of(shape, run.ranks) + 2) * shape.plane_bytes();
  shape.scratch = static_cast<int>((bytes_beside(run, device, shape) + array - 1) / array);
  return steps;
}

template <class T>
ImplicitPart<T>::ImplicitPart(Stream& stream, SweepPlan const& plan,
                              stencil::Diffusion<T> const& whole, State<T>& state, bool has_rows,
                              bool lines)
    : slowest_(plan.shape.grid.dims - 1),
      line_(plan.shape.plane_values()),
      own_(plan.owned_by(ranks().rank())),
      columns_(cuts_of_columns(plan.shape.grid, plan.ranks)),
      diffusion_(whole),
      planes_(ranks(), stream, plan.cuts(), plan.shape.periodic,
              static_cast<std::size_t>(line_) * sizeof(double), worst_numbers(plan.ranks)),
      across_(across_of(plan.shape.grid, columns_, ranks().rank())),
      sides_across_(whole.sides),
      systems_(stream, plan.shape.grid, has_rows, std::max(own_.count() * line_, across_.size())) {
  for (int axis = 0; axis <= slowest_; ++axis)
    for (std::size_t side = 0; side < 2; ++side) {
      auto const a = static_cast<std::size_t>(axis);
      faces_[a][side] = {stream, plan, axis, whole.sides[a][side].values};
    }
  place(whole, state);
  auto const columns = axis_of_columns(across_);
  auto const rank = static_cast<std::size_t>(ranks().rank());
  if (columns_[rank] > 0) sides_across_[columns][0] = {};
  if (columns_[rank + 1] < columns_.back()) sides_across_[columns][1] = {};
  errors_ =
      Buffer<system::WorstError>(stream, MemorySpace::device,
                                 static_cast<std::size_t>(system::error_parts(diffusion_.grid, 1)));
  zero_async(errors_.span(), stream);
  if (!lines) return;
  if (plan.shape.together > 1) {
    step_.grid = whole.grid;
    step_.diffusivity = whole.diffusivity;
    step_.sides = whole.sides;
    lines_.emplace(planes_, stream, whole.grid);
    return;
  }
  transposition_.emplace(planes_, stream, cuts_of_values(whole.grid, columns_), sizeof(T));
  if (!has_rows) return;
  to_columns(stream, diffusion_.diffusivity_field);
  auto const columns_of = transposition_->template columns<T>();
  diffusivity_across_ = Buffer<T>(stream, MemorySpace::device, columns_of.size());
  copy_async(diffusivity_across_.span(), std::span<T const>(columns_of), stream);
  transposition_->send_columns(stream, 0, transposition_->own_columns());
  transposition_->await_planes(stream);
}

/// Where the grid goes on, the equation's sides have nothing to say.
template <class T>
void ImplicitPart<T>::place(stencil::Diffusion<T> const& whole, State<T>& state) {
  std::int64_t const all = whole.grid.points[slowest_];
  bool const wraps = whole.sides[slowest_][0].kind == SideKind::periodic;
  diffusion_.grid.points[slowest_] = own_.count();
  diffusion_.goes_on = {own_.lower > 0 || wraps, own_.upper < all || wraps};
  diffusion_.diffusivity_field = state["diffusivity"].at(own_.lower);
  diffusion_.source = state["source"].at(own_.lower);
  for (std::size_t axis = 0; axis <= static_cast<std::size_t>(slowest_); ++axis)
    for (std::size_t side = 0; side < 2; ++side)
      diffusion_.sides[axis][side].values = faces_[axis][side].at(own_.lower);
  for (std::size_t side = 0; side < 2; ++side)
    if (diffusion_.goes_on[side]) diffusion_.sides[slowest_][side] = {};
}

template <class T>
Buffer<T> ImplicitPart<T>::make_array(Stream& stream) const {
  return {stream, MemorySpace::device, own_values() + 2 * static_cast<std::size_t>(line_)};
}

template <class T>
void ImplicitPart<T>::copy(Stream& stream, std::span<T> to, std::span<T> from) const {
  copy_async(held_of(to), std::span<T const>(held_of(from)), stream);
}

template <class T>
void ImplicitPart<T>::renew_faces(Stream& stream) {
  for (auto& of_axis : faces_)
    for (auto& face : of_axis) face.renew(stream);
}

template <class T>
void ImplicitPart<T>::exchange(Stream& stream, std::span<T> values) {
  planes_.exchange(stream, held_of(values));
}

/// Whether systems along the slowest axis are solved does not depend on the planes of a rank, nor do
/// the strides that their bits depend on, but for the columns' number, which is more than one.
template <class T>
void ImplicitPart<T>::solve(Stream& stream, stencil::Diffusion<T> const& split, double theta,
                            T const* start, T* right, T* x) {
  for (int axis = 0; axis < slowest_; ++axis) {
    systems_.hold_axis(stream, split, theta, start, right, axis);
    systems_.solve_axis(stream, split, theta, right, x, axis);
    right = x;
  }
  systems_.hold_axis(stream, split, theta, start, right, slowest_);
  if (lines_) {
    auto whole = split;
    whole.grid = step_.grid;
    whole.sides = step_.sides;
    auto lines = stencil::line_solve(whole, theta, slowest_);
    lines.in = right;
    lines.out = x;
    return lines_->solve(stream, lines);
  }
  to_columns(stream, right);
  if (across_.size() > 0) {
    auto across = split;
    across.grid = across_;
    across.sides = sides_across_;
    across.goes_on = {};
    if (split.diffusivity_field != nullptr) across.diffusivity_field = diffusivity_across_.data();
    T* const values = transposition_->template columns<T>().data();
    systems_.solve_axis(stream, across, theta, values, values, slowest_);
  }
  transposition_->send_columns(stream, 0, transposition_->own_columns());
  transposition_->await_planes(stream);
  copy_async(std::span(x, own_values()), std::span<T const>(transposition_->template planes<T>()),
             stream);
}

template <class T>
void ImplicitPart<T>::to_columns(Stream& stream, T const* planes) {
  copy_async(transposition_->template planes<T>(), std::span(planes, own_values()), stream);
  transposition_->send_planes(stream, 0, own_.count());
  transposition_->await_columns(stream);
}

template <class T>
void ImplicitPart<T>::alternate(Stream& stream, double step, std::span<T> u, std::span<T> work,
                                std::span<T> out) {
  step_.step = step;
  step_.u = u.data();
  step_.work = work.data();
  lines_->step(stream, step_, out.data());
}

template <class T>
std::string_view ImplicitPart<T>::transport() const {
  return lines_ ? lines_->transport() : transposition_->transport();
}

template <class T>
void ImplicitPart<T>::find_worst(Stream& stream, system::Slopes<T> const& slopes,
                                 system::ErrorScale scale, evaluate::DeviceClock const* clock,
                                 std::span<system::WorstError> parts) {
  double const weight = 1;
  system::worst_error<T>(stream, diffusion_.grid, std::span(&slopes, 1), std::span(&weight, 1),
                         scale, clock, errors_.span());
  share_worst(stream, planes_, std::as_const(errors_).span(), own_.lower * line_, parts);
}

template class ImplicitPart<float>;
template class ImplicitPart<double>;

}  // namespace gridstride::heat
