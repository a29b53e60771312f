#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/system/arguments.cuh"
#include "kernels/system/inner_levels.hpp"
#include "kernels/system/system.hpp"

/// Several steps of a scheme, with all their stages, in one pass over memory: the row `march`.
namespace gridstride::system {

/// The most steps of a pass.
inline constexpr int most_march_steps = 8;

/// One stage of a scheme. State 0 is the step's first one, state i + 1 what stage i makes of state
/// i; the last one is the next step's first:
///
///   out = base + (factor·dt·L(in) + in_weight·(in − base) + Σ weight·(addend − base))
struct PassStage {
  int base = 0;                                      ///< a state
  double factor = 1;                                 ///< of the time step
  double in_weight = 0;                              ///< 0 where the base is the stage's input
  std::vector<std::pair<int, double>> addends = {};  ///< states, with their weights
  double fraction = 0;                               ///< of the step, that the time is taken at
};

/// What is compiled of a side's rule (`Side`), and what the pass is given.
struct SideRule {
  bool wraps = true, given = false;
  double sign = 1, own = 0;
  bool slopes = false;  ///< its slope is not 0
  bool has_g = false, has_a = false;
  bool operator==(SideRule const&) const = default;
};
using SideRules = std::array<std::array<SideRule, 2>, 2>;  ///< by axis and end
/// Of inputs in 2D.
template <class T>
std::vector<SideRules> side_rules(std::span<Input<T> const> inputs);

/// What a pass finds over the grid of its last state: of the one result of a program the sum, and where
/// they are asked for the least and the greatest.
struct Summed {
  StencilProgram const* program = nullptr;
  bool least = false, greatest = false;
};

/// What a pass advances: a system on a grid by a scheme.
struct Marched {
  StencilProgram const* program = nullptr;  ///< with a result for each component
  Grid grid;
  std::vector<SideRules> sides;  ///< of each component
  bool sides_change = false;     ///< values on them follow the time
  std::vector<PassStage> stages;
  /// Arrays that the program may read after the components, which stay as they are and whose values
  /// beyond sides are known (`Input::beyond`).
  int lasting = 0;
  /// Of passes over parts of the grid that may begin and end at any column: the fewest columns that one
  /// has; 0: parts have whole lines.
  std::int64_t least_columns = 0;
  /// Passes of one step: numbers that each stage has found beforehand, and what is found of the last
  /// state, in 2D. All programs have the components and the reach of the first one at most.
  int found = 0;
  std::vector<Summed> summed = {};
  bool stores = true;  ///< the last state; else there are no outputs, and maybe no stages
};

/// How many of these arrays the program reads.
int lasting_of(Marched const& what);

/// Whether anything but the same values follows beyond some axis.
bool has_sides(Marched const& what);

/// Why `march` does not take it; empty where it does: it takes one or two dimensions, with sides that
/// stay as they are, whose levels leave columns of a strip to be stored.
std::string march_refusal(Marched const& what);

/// Whether steps go by it where nothing else is asked for: it takes them, and the program is not so
/// long that arithmetic binds each stage by itself and a pass takes seconds to compile.
bool marches_by_default(Marched const& what);

/// What of inner operators are levels, too (inner_levels.hpp): those that are worth it by themselves, or also
/// what is found of two rows and asked for in the next one, in the place of the older row.
enum class Parting { none, operators, also_rows };

/// How a pass is laid out. A warp has a strip of 32·`lane_points` columns, of which `halo` at each
/// end are not stored: with each level, `reach` columns more at each end are wrong.
struct MarchShape {
  int steps = 1;
  int lane_points = 1;    ///< columns of a thread
  int vector_points = 1;  ///< of them, those that are loaded at once
  int turns = 1;          ///< rows for which the march's loop is written out; 1: the only one
  int blocks = 1;         ///< that registers leave room for on a multiprocessor
  Parting parting = Parting::none;
  bool operator==(MarchShape const&) const = default;
};

inline constexpr int march_warps = 2;   ///< of a block
inline constexpr int march_blocks = 4;  ///< with so many, a thread has all registers that it may
inline constexpr int march_side_pieces = 4;  ///< of a chunk where a strip ends at a side

/// What a shape means for a program: the rows that a thread keeps of each state, from the newest,
/// `rows_held[level]`, and of result i that parts of a stage make for later ones, `inner_held[i]`;
/// how far the newest row that a part makes is below that of its stage, `lags[part]`; and of the
/// row that is `age` rows older than the newest, how many columns beyond its own a thread takes of
/// component c for a part, `left[part·ages + age][c]` and `right[…][c]`; after the components comes
/// what parts make. Of each array that lasts, all parts together take `lasting_left` and
/// `lasting_right`.
struct MarchLayout {
  int levels = 1;
  int halo = 0, stored = 32;
  int ghosts = 0;      ///< columns of the threads that stand for what lies beyond a side of x
  int ages = 1;        ///< 2·reach + 1
  int lag = 0;         ///< rows that all levels together reach, and what looks at the last state
  int summed_lag = 0;  ///< of these, the latter's
  /// Of the first turns of a chunk, how many levels a loop of its own makes as long as no more of them make
  /// rows that are asked for, one loop after the other; 0: there is none.
  std::array<int, 2> early_levels = {};
  bool has_ends = false;  ///< x does not wrap: the first and the last strip end beyond its sides
  std::vector<int> rows_held, inner_held, lags;
  std::vector<std::vector<int>> left, right;
  std::vector<int> lasting_left, lasting_right;
  int registers = 0;  ///< 32 bits each, that it takes to hold this: an estimate
  /// What a warp that waits alone adds to each turn of the warps that share its scheduler.
  double waiting = 0.5;
};
MarchLayout layout_of(Marched const& what, int value_bytes, MarchShape const& shape);
/// The programs of a stage: its parts, or the whole as the only one; of a stage in parts beside
/// sides the whole comes after them, for points that are near these: parts know no sides. The last ones
/// are those of what is found of the last state.
std::vector<Part> march_programs(Marched const& what, Parting parting, int lane_points);
/// How many of them are parts.
std::size_t parts_among(Marched const& what, std::vector<Part> const& programs);

/// Shapes for passes of at most so many steps, one of each length, the one that should be fastest
/// first. Where `march_refusal` has nothing to say, there is one of a step.
std::vector<MarchShape> march_shapes(Marched const& what, int value_bytes, int most_steps);

/// What a step of a pass should take, and what a kernel that moves so many bytes, in the same unit.
double march_cost(Marched const& what, int value_bytes);
double copy_cost(double bytes);

/// How the grid is cut: strips beside each other, chunks of `rows` rows above each other. A strip
/// that ends at a side counts as `march_side_pieces`, which share its chunks.
struct MarchTiling {
  long long strips, chunks, rows;
};
/// What runs the warps: as many schedulers, each with so many of them at a time.
struct MarchMachine {
  long long schedulers;
  int resident;
};
/// How long the last warp takes with a cut, in what a warp issues in a turn.
double turns_of_march(MarchTiling const& tiling, MarchShape const& shape, MarchLayout const& layout,
                      MarchMachine const& machine);
/// The cut with which the last warp is done first. Where n warps share a scheduler a turn of each
/// takes what n of them issue, and a little for what none of them can. So many rows stay `together`.
MarchTiling cut_for_march(Grid const& grid, MarchShape const& shape, MarchLayout const& layout,
                          MarchMachine const& machine, long long together = 1);

/// What is compiled for passes of a shape.
template <class T>
RuntimeSource march_source(Marched const& what, MarchShape const& shape);

/// The arrays of a pass, one for each component and those that last, in device memory. No output is an
/// input. Where they, or a part's lines, are not aligned to the vectors of a shape (to 16 bytes at most),
/// a pass loads and stores single values, with the same bits.
template <class T>
struct PassArrays {
  std::vector<Input<T>> in;
  std::vector<T*> out;
};

/// What a pass works on of a larger grid: a grid with planes of it from `first` on along the last axis,
/// whose sides are those of the larger one where it ends with that. In 2D the rows from the first of
/// `rows` on and before the second one are made, the others stay as they are, and columns are those from
/// `first_column` on.
struct MarchPart {
  Grid grid;
  std::int64_t first = 0;
  std::array<std::int64_t, 2> rows = {};
  std::int64_t first_column = 0;
};

/// What a pass is given of numbers over the grid, in device memory: those that stages have found, as many
/// for each, and where those of columns go.
struct PassNumbers {
  double const* found = nullptr;
  SummedRows summed = {};
};

/// Passes of one shape on a GPU.
template <class T>
class March {
 public:
  /// The first of these shapes that spills next to no registers, if need be with all that a thread
  /// may have; where all do, the first. Throws
  /// `std::invalid_argument` for what it does not take (`march_refusal`), and as
  /// `gridstride::compile`.
  March(Device const& device, Marched const& what, std::span<MarchShape const> shapes);

  int steps() const { return shape_.steps; }
  /// Queues a pass: `steps()` steps of dt, with the bits of as many steps by `points`. The clock is
  /// the first step's, and stays as it is; it may be null where the program does not depend on
  /// time. Throws `std::invalid_argument` for arrays that are missing, and for sides that are not of
  /// the kinds that it was made for.
  void queue(Stream& stream, PassArrays<T> const& arrays, double dt,
             evaluate::DeviceClock const* clock) const;
  /// The same of a part of the grid. What is made within the reach of all levels from an end that is no
  /// side of the grid does not count.
  void queue(Stream& stream, PassArrays<T> const& arrays, double dt,
             evaluate::DeviceClock const* clock, MarchPart const& part,
             PassNumbers const& numbers = {}) const;

 private:
  void take_arrays(MarchArguments<T>& a, PassArrays<T> const& arrays) const;
  bool has_vectors(MarchArguments<T> const& a) const;
  RuntimeModule const& of_single_values(Device const& device) const;
  MarchTiling tiling_of(Grid const& grid, long long together) const;

  Marched what_;
  MarchShape shape_;
  MarchLayout layout_;  // of this shape
  MarchMachine machine_ = {};
  mutable std::map<std::array<std::int64_t, 3>, MarchTiling>
      tilings_;  // by points, and rows together
  std::shared_ptr<RuntimeModule const> module_;
  mutable std::shared_ptr<RuntimeModule const> of_single_values_;  // once they are needed
};

}  // namespace gridstride::system
