#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/poisson/poisson.hpp"
#include "kernels/support/rank_planes.hpp"
#include "model/out_of_core.hpp"
#include "model/state.hpp"
#include "simulations/poisson_parameters.hpp"

/// Equations that several ranks share: those of conjugate gradients, of transforms, and of cycles of
/// multigrid.
namespace gridstride::poisson {

/// Why ranks do not share a run's equation, a sentence; or empty.
std::string refusal_of_ranks(config::RunConfig const& run);

/// How ranks share it; empty for one. Throws `ConfigError` for more than can.
std::optional<SweepPlan> plan_of_ranks(config::RunConfig const& run, Device const& device,
                                       std::vector<Row> const& rows);
/// What one of them takes.
MemoryForecast memory_of_ranks(config::RunConfig const& run, Device const& device,
                               std::vector<Row> const& rows, SweepPlan const& plan);
/// The rows that a rank has: u alone on the host of the first one.
std::vector<Row> rows_of_rank(config::RunConfig const& run, std::vector<Row> rows,
                              SweepPlan const& plan);

/// What the first rank finds, which has the files.
Coefficients shared_coefficients(config::RunConfig const& run, Inputs const& inputs);

/// The planes of a rank of them, and its part of u.
template <class T>
class RankPart {
 public:
  /// All ranks make one.
  RankPart(Stream& stream, config::RunConfig const& run, SweepPlan const& plan);

  RankPlanes& planes() { return *planes_; }
  std::span<T> u() { return u_.span(); }
  std::span<T const> own() const;
  /// The place on the grid of a number of those, the first that any rank has; negative where none
  /// has one.
  std::int64_t first_place(std::int64_t own_place);
  /// Queues that u has its values on sides where it is given, of all of a side.
  void impose(Stream& stream, Sides const& sides, SideValues<T> const& values);
  /// `whole` is that of the first rank.
  void gather(Stream& stream, std::span<T> whole);
  std::vector<NamedText> texts() const;

 private:
  std::int64_t line() const { return grid_.face_size(grid_.dims - 1); }

  Grid grid_;
  std::int64_t most_planes_;
  std::unique_ptr<RankPlanes> planes_;  // the equation points to it
  Buffer<T> u_;
};

}  // namespace gridstride::poisson
