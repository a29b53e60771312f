#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/reduce/columns.hpp"
#include "kernels/system/march.hpp"
#include "simulations/pde_globals.hpp"

/// Steps whose stages look at values over the whole grid, by the row `march` of family `system`.
///
/// What a stage looks at has to be known of its whole state before it begins. So a step is a pass for
/// each stage, which makes all stages up to it again from the step's first state and finds what the next
/// one looks at; the last one stores the new state as well, and finds what the next step begins with. Of
/// s stages that is one array read s times and written once, in place of what stages leave to each other:
/// of `rk4` 5 values a point and component in place of 13, for 10 stages in place of 4. Values of
/// expressions with such values in them take a pass more for each stage.
namespace gridstride::pde {

/// The passes of a step, and what each finds.
class GlobalPassPlan {
 public:
  /// `operands`: of the values, after those that stand in them.
  GlobalPassPlan(system::Marched const& what,
                 std::vector<equations::StencilProgram> const& operands);

  struct Pass {
    system::Marched what;
    std::vector<int> operands;  ///< that it finds, of which
    int state;                  ///< of the step, the last one of the next
  };
  /// In their order, the first of which a step needs that follows no other.
  std::vector<Pass> const& passes() const { return passes_; }
  int stages() const { return stages_; }
  int operands() const { return operands_; }
  /// The most that a pass finds.
  int most_found() const;

  /// Why `march` does not take them; empty where it does.
  std::string refusal() const;
  /// What a step should take (`system::march_cost`).
  double cost(int value_bytes) const;

 private:
  void add(system::Marched const& what, int state, int generation);

  int stages_, operands_;
  std::vector<std::unique_ptr<equations::StencilProgram>> programs_;  // of rates, then of operands
  std::vector<int> generations_;                                      // of operands
  std::vector<char> least_, greatest_;  // whether somebody asks for it
  std::vector<Pass> passes_;
};

/// Makes them on a GPU. Instantiated for float and double.
template <class T>
class GlobalPasses {
 public:
  GlobalPasses(Stream const& stream, Wraps const& wraps, GlobalPassPlan plan);

  /// Device memory that this takes (bytes).
  static std::size_t bytes(Grid const& grid, GlobalPassPlan const& plan);

  /// Of a step that follows another.
  int passes_of_step() const { return static_cast<int>(marches_.size()) - 1; }
  /// Queues a step of `part`, of which `own` are the planes that numbers are found of (none: all of
  /// them). `is_first`: the state is not what the step before has left.
  void step(Stream& stream, system::PassArrays<T> const& arrays, double dt,
            evaluate::DeviceClock const* clock, system::MarchPart const& part,
            std::optional<OwnPlanes> const& own, bool is_first);

 private:
  system::SummedRows summed_rows(GlobalPassPlan::Pass const& pass, Planes const& own,
                                 std::int64_t first) const;

  GlobalPassPlan plan_;
  std::array<std::int64_t, 3> points_;
  std::vector<system::March<T>> marches_;  // of each pass
  std::vector<Buffer<double>> columns_;    // sums, the least and the greatest of each that is found
  reduce::ColumnReduction reduction_;
  Buffer<reduce::FieldNumbers> found_;  // of each state
};

}  // namespace gridstride::pde
