// What a solver takes of memory, and the levels that it has.

#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/multigrid/hierarchy.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/multigrid/relaxation.hpp"
#include "kernels/multigrid/separable.hpp"
#include "kernels/multigrid/shared_equations.hpp"
#include "kernels/multigrid/shares.hpp"
#include "kernels/support/rank_pieces.hpp"

namespace gridstride::multigrid {

namespace {

/// What of the levels one of several ranks has, at most; without cuts all.
class Part {
 public:
  Part(Levels const& plan, Grid const& grid, bool fields, RankCuts const& cuts,
       Options const& options, Backend backend)
      : planes_(grid.points[grid.dims - 1]) {
    if (cuts.empty()) return;
    constexpr auto any = std::numeric_limits<std::size_t>::max();
    int const along = fields ? 0 : along_of<double>(backend, any, options);
    shares_ = shares_of(plan, grid, cuts, options, backend, along);
    planes_ = 0;
    for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
      planes_ = std::max(planes_, cuts[rank + 1] - cuts[rank] + 2);
  }
  double points_held(Grid const& grid) const {
    return static_cast<double>(planes_ * grid.face_size(grid.dims - 1));
  }
  bool is_cut(std::size_t level, std::size_t axis) const {
    return shares_ && shares_->is_cut(level) && static_cast<int>(axis) == shares_->axis;
  }
  void take_window(std::size_t level, std::array<double, 3>& count) const {
    if (!shares_ || !shares_->is_cut(level)) return;
    int most = 0;
    for (int rank = 0; rank < shares_->ranks(); ++rank)
      most = std::max(most, shares_->window(level, rank).count());
    count[static_cast<std::size_t>(shares_->axis)] = most;
  }
  /// Bytes of what comes from other ranks.
  std::size_t sent(Levels const& plan) const {
    return pieces_bytes(plan, 0, [&](int x, int y, std::int64_t size) {
      return std::int64_t{2} * places_of_half(x, size) * (shares_->axis == 2 ? y : 1);
    });
  }
  /// The same while equations are made.
  std::size_t sent_equations(Levels const& plan) const {
    return pieces_bytes(plan, equations_more, [&](int x, int y, std::int64_t) {
      return equation_values(x, y, shares_->axis);
    });
  }

 private:
  template <class Values>
  std::size_t pieces_bytes(Levels const& plan, int more, Values const& values) const {
    if (!shares_) return 0;
    std::vector<std::int64_t> plane_values;
    for (std::size_t l = 0; l < shares_->cuts.size(); ++l) {
      auto const& [x, y, z] = plan.axes[l];
      std::int64_t const size = std::int64_t{x.unknowns()} * y.unknowns() * z.unknowns();
      plane_values.push_back(values(x.unknowns(), y.unknowns(), size));
    }
    auto const [beside, all] = sent_bytes(*shares_, plane_values, sizeof(double), more);
    return RankPieces::bytes(beside, all, shares_->ranks());
  }

  std::optional<Shares> shares_;
  std::int64_t planes_;
};

}  // namespace

std::vector<std::array<std::int64_t, 3>> level_points(Grid const& grid, poisson::Sides const& sides,
                                                      bool fields, Options const& options) {
  std::vector<std::array<std::int64_t, 3>> all;
  for (auto const& [x, y, z] :
       levels_of(grid, sides, most_inverted(options, fields, grid.dims)).axes)
    all.push_back({x.unknowns(), y.unknowns(), z.unknowns()});
  return all;
}

std::int64_t planes_together(Backend backend, Grid const& grid, poisson::Sides const& sides,
                             bool fields) {
  if (backend == Backend::cpu || !fields) return 1;
  std::int64_t points = 1;
  for (int axis = 0; axis < grid.dims; ++axis) points *= poisson::unknowns(grid, sides, axis).count;
  return piece_of_columns(points);
}

std::size_t solver_bytes(Backend backend, Grid const& grid, poisson::Sides const& sides,
                         bool fields, Precision precision, Options const& given,
                         RankCuts const& cuts) {
  Options const options = complete(given, fields);
  if (std::ranges::max(grid.points) > most_points_of_axis)
    return std::numeric_limits<std::size_t>::max() / 16;
  bool const relaxes = options.relaxation != Relaxation::none;
  int const inverted = most_inverted(options, fields, grid.dims);
  auto const plan = relaxes ? finest_of(grid, sides) : levels_of(grid, sides, inverted);
  bool const one_level = plan.changes.empty();
  constexpr auto any = std::numeric_limits<std::size_t>::max();
  bool const has_modes = !fields && along_of<double>(backend, any, options) > 0;
  Part const part(plan, grid, fields, cuts, options, backend);
  double numbers = has_modes ? 3 * (2 * most_direct + 1) * most_direct : inverted * inverted;
  double meanwhile = 0, later = 0;  // while levels are made, and beside them afterwards
  double values = 0, field = 0;     // of the finest level, of which a is also beside the points
  for (std::size_t l = 0; l < plan.axes.size(); ++l) {
    std::array<double, 3> count{};
    for (std::size_t i = 0; i < 3; ++i) {
      count[i] = plan.axes[l][i].unknowns();
      numbers += 9 * count[i];  // tables
    }
    auto const points = [&] { return count[0] * count[1] * count[2]; };
    // Masses, and faces, one more than points along their axis.
    auto const equations = [&] {
      double sum = points();
      for (std::size_t i = 0; i < static_cast<std::size_t>(grid.dims); ++i)
        sum += points() * (1 + 1 / count[i]);
      return sum;
    };
    auto const points_of_level = static_cast<std::int64_t>(count[0] * count[1] * count[2]);
    part.take_window(l, count);
    double const of_colour =
        places_of_half(static_cast<int>(count[0]), points_of_level) * count[1] * count[2];
    numbers += 3 * 2 * of_colour;  // u, f and r
    if (l == 0) {
      values = 2 * of_colour;
      field = (count[0] + 16) * (count[1] + 2) * (count[2] + 2);
    }
    if (!fields) continue;
    if (backend == Backend::cuda) numbers += of_colour;  // reciprocals
    // What is kept of them has a quarter of the size, in rows of up to fifteen places more; an only
    // level keeps them. Weights are two of half the size, and of an eighth as they are kept.
    double now = equations();
    later += 0.25 * now * (1 + 15 / count[0]);
    meanwhile = std::max(meanwhile, later + now);
    if (one_level) later += now;
    for (std::size_t i = 0; i < 3 && l < plan.changes.size(); ++i) {
      if (!plan.changes[l][i] && !part.is_cut(l, i)) continue;
      double const weights = plan.changes[l][i] ? points() : 0;
      later += 0.5 * weights;
      count[i] = plan.axes[l + 1][i].unknowns();
      if (part.is_cut(l, i)) part.take_window(l + 1, count);
      double const next = equations();
      meanwhile = std::max(meanwhile, later + now + next + weights);
      now = next;
    }
  }
  // Behind sweeps the error is looked for, with arrays for it and for the residual.
  std::size_t of_error = 0;
  if (relaxes && fields && options.error_counts)
    of_error = solver_bytes(backend, grid, sides, fields, precision, options_of_error()) +
               static_cast<std::size_t>(grid.size()) * 2 * sizeof(double);
  meanwhile += static_cast<double>(fields ? part.sent_equations(plan) : 0) / sizeof(double);
  double const held = part.points_held(grid);
  if (precision == Precision::float32) later += held;
  if (!fields && !options.conjugates) later += held;
  if (options.conjugates) {
    // Directions and products, and parts of sums along them: two numbers of a line, or a block.
    constexpr double blocks = 8192;
    double const lines = held / static_cast<double>(grid.points[0]);
    later += std::max(held, values) + values + 2 * (lines + held / 256 + blocks);
    if (backend == Backend::cuda && fields && grid.dims == 3) later += field;  // that products take
  }
  return static_cast<std::size_t>(sizeof(double) * (numbers + std::max(meanwhile, later))) +
         part.sent(plan) + of_error;
}

}  // namespace gridstride::multigrid
