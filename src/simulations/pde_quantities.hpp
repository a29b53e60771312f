#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "kernels/system/system.hpp"
#include "model/simulation.hpp"
#include "model/state.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_parameters.hpp"

namespace gridstride::pde {

/// A term for each number that a quantity has at a point.
std::vector<equations::Term> terms_of(Quantity const& quantity, int dims);
/// What finds a quantity of a system on a grid, as rates.
equations::Stencil stencil_of(config::RunConfig const& run, Quantity const& quantity);

/// What quantities take of memory: an array for each scalar, for each vector one with its components
/// side by side, and those in which they are found one by one.
void add_quantities(std::vector<Row>& rows, config::RunConfig const& run);

/// Whether ranks find all of them on their own planes: none of them takes values over the whole grid. And the
/// numbers that they have at a point.
bool finds_quantities_in_parts(config::RunConfig const& run);
int quantity_numbers(config::RunConfig const& run);
/// Points along an axis that they look at.
int reach_of_quantities(config::RunConfig const& run, int axis);

/// Finds what follows from the fields of a system: derived fields, and what diagnostics look at.
/// Instantiated for float and double.
template <class T>
class QuantityFinder {
 public:
  QuantityFinder(config::RunConfig const& run, Stream const& stream);

  /// Whether any of them is `written`, or else one for diagnostics.
  bool has(bool written) const;
  /// Queues these from the present fields, at a time. The views hold until the next call.
  std::vector<Field> find(bool written, std::vector<system::Input<T>> const& inputs, double time);

 private:
  struct Task {
    Quantity const* quantity;
    equations::StencilProgram program;
    std::unique_ptr<GlobalFinder<T>> globals = {};
    system::Prepared prepared = {};
    Buffer<T> values = {};
  };
  void queue(Task& task, std::vector<system::Input<T>> const& inputs);

  Stream stream_;
  Grid grid_;
  std::string_view variant_;
  std::vector<Task> tasks_;
  std::vector<Buffer<T>> components_;  // of one vector at a time
  Buffer<T> operand_;                  // of values over the whole grid
  Buffer<evaluate::DeviceClock> clock_;
};

/// Finds derived fields, and then what diagnostics look at, on planes that a rank has. Instantiated for float and
/// double.
template <class T>
class QuantityPlanes {
 public:
  QuantityPlanes(config::RunConfig const& run, Stream const& stream);

  /// What there is that is `written`, or else for diagnostics, without values.
  std::vector<Field> described(bool written) const;
  bool has_any() const { return !tasks_.empty(); }
  /// Queues them from the fields at a time, for the grid, the piece and the inputs of a step.
  void find(system::Step<T> step, double time);
  /// What `find` has made, an array for each number, with as many points as the step's grid.
  std::vector<T const*> arrays() const;

 private:
  struct Task {
    Quantity const* quantity;
    equations::StencilProgram program;
    system::Prepared prepared = {};
    std::vector<Buffer<T>> values = {};
  };

  Stream stream_;
  config::RunConfig const& run_;
  std::vector<Task> tasks_;
  Buffer<evaluate::DeviceClock> clock_;
};

}  // namespace gridstride::pde
