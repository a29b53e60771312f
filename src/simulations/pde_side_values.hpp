#pragma once

#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/system/system.hpp"
#include "model/state.hpp"

/// What is given on sides and follows from fields.
namespace gridstride::pde {

/// Whether something that follows from fields on sides depends on time as well.
bool field_sides_depend_on_time(config::RunConfig const& run);
/// What finds such values, terms of the run's system, at the points of a side.
equations::Stencil side_stencil(config::RunConfig const& run, std::vector<equations::Term> values);
/// Adds what the values of fields at the points of a side are put in.
void add_side_values(std::vector<Row>& rows, config::RunConfig const& run);

/// Finds such values where the fields are: copies those of a side's points out of the arrays, and
/// runs a program over the face. Nothing is allocated and nobody waits for the device.
/// Instantiated for float and double.
template <class T>
class SideValues {
 public:
  /// The values become those of `state`.
  SideValues(Stream const& stream, config::RunConfig const& run, State<T>& state);

  /// Queues g and a of sides with a derivative for a step's inputs, clock and fraction.
  void fill(system::Step<T> const& step, std::string_view variant);
  /// Whether components hold values on their sides that follow from fields.
  bool holds() const { return !held_.empty(); }
  /// Queues what components hold on their Dirichlet sides, each after those that it is made of;
  /// `state` are the step's inputs, which are set.
  void hold(system::Step<T> const& step, std::span<T* const> state, std::string_view variant);

 private:
  /// A program for values on one side.
  struct Task {
    int axis, end;
    equations::StencilProgram program = {};
    std::set<int> components = {};  // that it reads
    std::vector<T*> targets = {};
    system::Prepared prepared = {};
  };
  struct Held {
    int component;
    std::vector<Task> tasks;
  };
  void run(Task& task, system::Step<T> const& step, std::string_view variant);

  Stream stream_;
  std::vector<Task> tasks_;
  std::vector<Held> held_;
  std::vector<Buffer<T>> at_side_;  // of the components that a program reads
};

}  // namespace gridstride::pde
