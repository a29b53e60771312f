#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/reduce/field.hpp"
#include "kernels/support/rank_planes.hpp"
#include "kernels/system/system.hpp"
#include "model/sweep_plan.hpp"

/// Values over the whole grid within equations: integrals, means, minima and maxima.
namespace gridstride::pde {

/// The axes that wrap around.
using Wraps = std::array<bool, 3>;
Wraps wraps_of(config::RunConfig const& run);

/// What a rank is to answer for of a piece of the grid: planes of the whole grid, of which the piece
/// begins at `first`, or strips of them. No part of a field (`reduce::planes_of_part`) is cut by them.
struct OwnPlanes {
  Planes own;
  std::int64_t first;
  RankPlanes* ranks;  ///< share `GlobalFinder::shared_numbers`; null where nothing is found by all
  OfStripAxes<Planes> strips = {};  ///< numbers of points of the piece; none there: all
};

/// Finds what the globals of a stencil are for a state: each operand is evaluated at all points, in
/// the order in which they need each other, and reduced in float64, all four numbers in one pass.
/// The bits are the same every time. Nothing is allocated and nobody waits for the device, so that
/// it may be part of a graph. Instantiated for float and double.
template <class T>
class GlobalFinder {
 public:
  GlobalFinder(Stream const& stream, Grid const& grid, Wraps const& wraps,
               equations::Terms const& terms, std::span<equations::Term const> operands);

  /// Device memory that one takes for so many operands.
  static std::size_t bytes(Backend backend, Grid const& grid, std::size_t operands);

  bool empty() const { return operands_.empty(); }
  /// Whether an operand is more than a component as it is, so that it needs an array.
  static bool needs_scratch(equations::Terms const& terms,
                            std::span<equations::Term const> operands);

  /// Queues it for these inputs. `scratch` has a value for each point, where one is needed.
  /// `fraction` of the step and the clock are those of `system::Step`.
  void find(std::vector<system::Input<T>> const& inputs, evaluate::DeviceClock const* clock,
            double fraction, std::span<T> scratch, std::string_view variant);
  /// The same of a piece of the grid by all ranks, each of which has one: `step` says grid, piece, inputs,
  /// clock and fraction, and `scratch` is an array over the piece.
  void find(system::Step<T> step, OwnPlanes const& planes, std::span<T> scratch,
            std::string_view variant);
  /// How many numbers ranks share of such a grid.
  static std::size_t shared_numbers(Backend backend, Grid const& grid);
  /// What `find` last found, in device memory, for `system::Step::found`.
  double const* values() const { return reinterpret_cast<double const*>(values_.data()); }
  /// The same on the host; waits for the device.
  std::vector<double> on_host() const;

 private:
  struct Operand {
    equations::StencilProgram program;
    int component = -1;  ///< that it is; −1: it has to be evaluated
    system::Prepared prepared = {};
  };

  T const* values_of(Operand& one, system::Step<T>& step, std::span<T> scratch,
                     std::string_view variant);

  mutable Stream stream_;
  Grid grid_;
  std::vector<Operand> operands_;
  Buffer<reduce::FieldNumbers> values_;                 // of each operand
  std::optional<reduce::FieldReduction<T>> reduction_;  // none without operands
};

/// What a term without unknowns, coordinates and random numbers is, by numbers that were found, in
/// float64: a condition as `min(h) < 1e-6`.
double value_of(equations::Terms const& terms, equations::Term term, double time,
                std::span<double const> found);

}  // namespace gridstride::pde
