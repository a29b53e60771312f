#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.hpp"
#include "model/state.hpp"
#include "model/sweep_plan.hpp"

/// Grids that are larger than the device, or shared by several ranks: their arrays stay in the host's
/// memory.
namespace gridstride {

/// The steps of a simulation, as far as they go by slabs.
struct SlabSteps {
  SweepShape shape;
  std::vector<std::string> evolved;  ///< rows whose arrays go so, one of each
  /// Which steps would go so, where these do not: "of the scheme ftcs"; of grids larger than the
  /// device, and of several ranks. Empty: they do.
  std::string needed = {}, needed_of_ranks = {};
  /// The same of ranks that cut the second slowest axis, too, and of those that cut the third one.
  OfStripAxes<std::string> needed_of_strips = {of_few, of_few};
  /// Of several ranks: whether nobody has the whole of the fields.
  bool without_whole = false;
  std::size_t other_bytes = 0;  ///< of several ranks: what each takes beside arrays and sides

  static constexpr char const* of_few =
      "of heat by ftcs and rk4, of wave and advection, or of pde by explicit schemes";

  bool takes_none() const { return !needed.empty() && !needed_of_ranks.empty(); }
  /// Why they do not go through the device, or over ranks, a sentence; or empty.
  std::string refusal() const;
  std::string refusal_of_ranks() const;
};

/// Something about a run that steps by slabs may not have, and what they have instead.
struct Obstacle {
  bool is_there;
  std::string_view needed;
};
/// The first that is there says what is needed; empty without any.
std::string needed_for(std::span<Obstacle const> obstacles);
/// Whether a formula can be evaluated at some planes of the grid alone, with the same bits, or at the
/// points of so many of the slowest axes.
bool goes_by_planes(expression::Expression const& formula, Grid const& grid, int axes = 1);
/// The same of all coefficients.
bool goes_by_planes(config::RunConfig const& run, std::span<Row const> rows, int axes = 1);

/// Whether fields of which ranks have parts can be compared with a run's exact solutions: formulas that can be
/// evaluated at some points alone.
bool compares_by_parts(config::RunConfig const& run);
/// Whether nothing looks at the whole of a run's fields, which ranks share.
bool goes_without_whole(config::RunConfig const& run, Backend backend);

/// What ranks that cut other axes than the slowest one need for formulas: empty, or simpler ones.
OfStripAxes<std::string> needed_of_formulas(config::RunConfig const& run,
                                            std::span<Row const> rows);

/// The parts along the other axes than the slowest one that a run wants, where it gives parts along the
/// axes.
std::optional<OfStripAxes<int>> wanted_strips(config::RunConfig const& run);
/// Whether these are several.
bool wants_strips(config::RunConfig const& run);

/// How the arrays of these rows, which are those of a run that has them in the device's memory, go
/// through the device instead, or are shared by the run's ranks; empty where they fit there, as far
/// as the run may take it, and where the steps do not go so. Throws `ConfigError` where it may take
/// too little, for more ranks than can share them, and for a limit or ranks with steps that do not
/// go so.
std::optional<SweepPlan> plan_slabs(config::RunConfig const& run, Device const& device,
                                    std::span<Row const> rows, SlabSteps const& steps);

/// The rows that are left then, with the evolved ones on the host, of several ranks on the first
/// one, where each has its planes of the coefficients.
std::vector<Row> rows_of_slabs(config::RunConfig const& run, std::vector<Row> rows,
                               SlabSteps const& steps, SweepPlan const& plan);

/// How many ranks of a run are on this machine; a check without the others takes all of them to be
/// here.
int ranks_here(config::RunConfig const& run);
/// How many of those share the device of the first one: they take the GPUs in turns.
int ranks_together(config::RunConfig const& run, Device const& device);

/// What the first rank of a run finds, on all of them, which make its simulation; in one process,
/// what that finds.
double found_by_first(config::RunConfig const& run, std::function<double()> const& find);

/// The same of a text.
std::string text_of_first(config::RunConfig const& run, std::function<std::string()> const& find);

/// Whether this process has the arrays of the run's state: where several share it, the first one.
bool keeps_state(config::RunConfig const& run);

/// What a run takes by such a plan. Throws `ConfigError` where the ranks that share a device need
/// more than it has.
MemoryForecast forecast_slabs(config::RunConfig const& run, Device const& device,
                              std::vector<Row> const& rows, SlabSteps const& steps,
                              std::optional<SweepPlan> const& plan);

/// Values on a face that is cut into planes by the slowest axis, for windows of any place, and into
/// strips by the others.
template <class T>
class WindowFace {
 public:
  WindowFace() = default;
  /// `values` are the run's own, and null where there are none.
  WindowFace(Stream& stream, SweepPlan const& plan, int axis, T const* values);

  /// Queues that they follow the run's own, which have changed.
  void renew(Stream& stream);
  /// From the first plane of a window on.
  T const* at(std::int64_t first) const {
    return values_ == nullptr ? nullptr : values_ + (first - first_) * line_;
  }

 private:
  Buffer<T> own_;  // of strips, and around a periodic axis
  T const* values_ = nullptr;
  T const* whole_ = nullptr;
  Grid face_ = {};  // of the whole
  Brick brick_ = {};
  std::int64_t line_ = 0, first_ = 0;
};

}  // namespace gridstride
