#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/system/system.hpp"
#include "model/scheme.hpp"
#include "model/state.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_names.hpp"
#include "simulations/pde_side_values.hpp"

namespace gridstride::pde {

/// Evaluations of a system's equations for buffers that somebody has: what lies on sides, names with sides and
/// values over the whole grid are found before, and kernels are kept. Instantiated for float and double.
template <class T>
class Evaluations {
 public:
  /// Of the whole grid, if this process has it; else the programs and the values over the grid alone are of
  /// use. Values on sides become those of `state`.
  Evaluations(Stream const& stream, config::RunConfig const& run, equations::Stencil const& stencil,
              State<T>& state, bool has_whole);

  equations::StencilProgram const& program() const { return program_; }
  /// Also the rates that leapfrog needs no program for.
  equations::StencilProgram const& all_rates() const { return all_rates_; }
  GlobalFinder<T>& globals() { return globals_; }
  /// The arrays of a name with sides, or null where the grid is not.
  std::vector<T*> arrays_of(equations::Unknown const& name);

  /// Queues what a step's inputs have on sides with a derivative, for its clock and fraction.
  void fill_sides(system::Step<T> const& step);
  /// And names with sides.
  void fill_sides_and_names(system::Step<T> const& step);
  /// Queues values over the whole grid, of what is filled.
  void find_globals(system::Step<T> const& step);
  /// All of these, and has the step evaluate the rates.
  void complete(system::Step<T>& step);
  bool holds_sides() const { return side_values_.holds(); }
  /// Queues what `state`, a step's inputs, holds on Dirichlet sides that follow from fields.
  void hold_sides(system::Step<T> const& step, std::span<T* const> state);
  /// Queues an evaluation for a stage, or with null of rates alone.
  void queue(system::Step<T>& step, Stage const* stage);
  /// What one of those that have been queued goes by; null before the first.
  system::Prepared const* prepared() const {
    return prepared_.empty() ? nullptr : &prepared_.begin()->second;
  }

 private:
  Stream stream_;
  config::RunConfig const& run_;
  SideValues<T> side_values_;
  std::optional<SidedNames<T>> names_;
  GlobalFinder<T> globals_;
  Buffer<T> operand_;  // for these
  equations::StencilProgram program_, all_rates_;
  std::map<Stage const*, system::Prepared> prepared_;
};

}  // namespace gridstride::pde
