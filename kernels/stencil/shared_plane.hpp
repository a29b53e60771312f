#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/rank_sums.hpp"
#include "core/ranks.hpp"
#include "kernels/stencil/stencil.hpp"

/// Planes that ranks with a GPU each keep in the registers of all of these, for all steps.
namespace gridstride::stencil {

/// How they do.
struct SharedPlan {
  int steps;          ///< for each exchange between two GPUs, of as many lines
  std::size_t bytes;  ///< of the memory of each
};

/// The plan of steps on GPUs like this one, of which each has the lines between two `cuts`; empty where
/// they do not fit or are not of that kind, and where another way is wanted.
template <class T>
std::optional<SharedPlan> plan_shared(Device const& device, StepKind const& kind,
                                      RankCuts const& cuts, Repetition const& wanted);

/// What the ranks have for it.
template <class T>
class SharedPlane {
 public:
  /// All ranks make one, of steps that have a plan.
  SharedPlane(Ranks& ranks, Stream const& stream, StepKind const& kind, RankCuts const& cuts);
  SharedPlane(SharedPlane const&) = delete;
  SharedPlane& operator=(SharedPlane const&) = delete;
  ~SharedPlane();

  /// Why they cannot, the same on all ranks; empty where they can.
  std::string const& failure() const { return failure_; }

  /// Queues steps, as many on all ranks, of the rank's own lines, which are `step.grid`, in the place of
  /// `u`; it has on Dirichlet sides what they hold. `other`: as many values. The sides where the grid
  /// goes on do not count; of those that are normal to x the values of as many lines beyond count as
  /// the plan has steps.
  void make(Stream& stream, DiffusionStep<T> step, T* u, T* other, std::int64_t steps);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string failure_;
};

}  // namespace gridstride::stencil
