#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "model/scheme.hpp"
#include "model/simulation.hpp"
#include "model/sweep_plan.hpp"

/// The arrays of a simulation, each stated once.
namespace gridstride {

/// What an array is for.
enum class Role {
  evolved,      ///< goes through time; the simulation gives it its first values
  coefficient,  ///< has the values of a formula or a dataset at the points of the grid
  side,         ///< the same on a face, where a boundary condition has values
  scratch,      ///< a part of the simulation takes it for itself; here it is only counted
};

/// One array, or several that are alike, as they are known before there is a device. Elements have
/// the precision of the run. What a run needs of memory, what it writes, and what a checkpoint
/// holds follow from the rows.
struct Row {
  std::string name;
  Role role = Role::evolved;
  Grid grid;                        ///< its points
  int arrays = 1;                   ///< 0: there is no array, since a number says it all
  config::FieldSource source = {};  ///< of a coefficient or a side
  bool held = false;                ///< of a side: what a field that goes through time is there
  bool written = false;             ///< is a field of the results
  bool saved = false;               ///< is part of a checkpoint
  bool on_host = false;             ///< in the host's memory, pinned for a GPU
  /// Of a coefficient of several ranks: the planes that this one has, see `SweepPlan::held_by`, and of
  /// these the strips, or all; and whether it has the whole, too, on its host.
  std::optional<Planes> planes = {};
  OfStripAxes<Planes> strips = {};
  bool whole = false;
  std::string unit = "1";
};

/// A field of the simulation with so many buffers, written and saved.
Row evolved(config::RunConfig const& run, std::string_view field, int buffers);
/// A coefficient; no array where it is a number.
Row coefficient(config::RunConfig const& run, std::string_view name,
                config::FieldSource const& source);
/// A term of an equation; no array where it is zero.
Row term(config::RunConfig const& run, std::string_view name, config::FieldSource const& source);
Row scratch(config::RunConfig const& run, std::string_view name, int arrays);
/// Whether a side of this kind has values.
bool has_values(SideKind kind);
/// Adds what holds for a field, or a name with sides, on the sides of the grid: arrays for the
/// kinds that have values, two where they change and the scheme mixes them. Of a vector, for one of
/// its components, whose arrays are called as `component_variable` has it.
void add_sides(std::vector<Row>& rows, config::RunConfig const& run, std::string_view field,
               Scheme const& scheme, std::optional<std::size_t> component = {});

/// Whether the formula of a row depends on time.
bool depends_on_time(std::span<Row const> rows);
bool has_array(std::span<Row const> rows, std::string_view name);
/// What they take; the first row gives the arrays their name.
MemoryForecast forecast(config::RunConfig const& run, std::span<Row const> rows);

/// Queues the values of a formula at some planes of a grid, or at strips of them, which have the bits of
/// those of the whole; see `goes_by_planes`. Instantiated for float and double.
template <class T>
void fill_planes(Stream& stream, expression::Expression const& formula, Grid const& grid,
                 Brick const& brick, T* target, std::string_view variant);

/// The arrays of a row. Instantiated for float and double.
template <class T>
class Array {
 public:
  /// The values of a formula or a dataset are queued, at the clock's present time.
  Array(Stream& stream, Row row, config::RunConfig const& run, Inputs const& inputs,
        evaluate::DeviceClock const* clock);

  Row const& row() const { return row_; }
  /// The present values; null where there is no array.
  T* data() { return values_; }
  T const* data() const { return values_; }
  std::span<T> span() { return {values_, values_ == nullptr ? 0 : size()}; }
  std::span<T const> span() const { return {values_, values_ == nullptr ? 0 : size()}; }
  /// From a plane of the grid on, see `Window::first`.
  T const* at(std::int64_t first) const;
  /// The values at all points of the grid; null where this process does not have them.
  T const* whole() const { return row_.planes ? whole_.data() : values_; }
  /// Of a coefficient that is a number; 0 where there is an array.
  double constant() const { return constant_; }
  bool changes() const { return program_ && program_->depends_on_time(); }
  std::string fallback() const { return program_ ? program_->fallback() : std::string(); }

  T* buffer(int number) { return buffers_[static_cast<std::size_t>(number)].data(); }
  /// The present values lie in another buffer from now on.
  void place(T* values) { values_ = values; }
  /// Queues the values of a row that changes, for a stage of the clock's present step.
  void refresh(Stream& stream, evaluate::DeviceClock const* clock, Stage const& stage);

 private:
  std::int64_t plane() const;  // values of one that is here
  std::size_t size() const;
  void fill_first(Stream& stream, config::RunConfig const& run, Inputs const& inputs,
                  evaluate::DeviceClock const* clock);
  void evaluate(Stream& stream, evaluate::DeviceClock const* clock, double fraction, T* target);
  void mix(Stream& stream, evaluate::DeviceClock const* clock,
           std::array<double, 3> const& weights);

  Row row_;
  std::vector<Buffer<T>> buffers_;
  Buffer<T> whole_;
  T* values_ = nullptr;
  double constant_ = 0;
  std::optional<evaluate::Program> program_;
};

/// All arrays of a simulation, in device memory but for rows that are on the host. Instantiated for
/// float and double.
template <class T>
class State {
 public:
  State(Stream const& stream, std::vector<Row> rows, config::RunConfig const& run,
        Inputs const& inputs, evaluate::DeviceClock const* clock);

  /// Throws `std::out_of_range` for a name that no row has.
  Array<T>& operator[](std::string_view name);
  /// The values on a side for a field; null for kinds that have none.
  T* side(std::string_view field, int axis, int side);
  /// The same of a in ∂u/∂n + a·u = g.
  T* side_factor(std::string_view field, int axis, int side);
  /// Whether values of a coefficient or a side depend on time.
  bool changes() const;
  /// Queues what changes, for a stage of the clock's present step.
  void refresh(Stage const& stage);
  /// The same at a part of that step, and what is held on sides at another one.
  void refresh(double part, double part_of_held);

  std::vector<Field> fields() const;
  /// Of a grid that is cut: the arrays that go through time, where this process has them, and their names.
  std::vector<T*> swept() const;
  std::vector<std::string> names_of_swept() const;
  std::vector<std::string> fallbacks() const;
  /// How many coefficients have an array of the whole grid.
  int coefficient_arrays() const;
  void save(CheckpointSink& sink) const;
  void load(CheckpointSource const& source);

 private:
  T* find(std::string_view name);  // null where no row is called so

  mutable Stream stream_;
  evaluate::DeviceClock const* clock_;
  std::vector<std::unique_ptr<Array<T>>> arrays_;  // that others point to
};

}  // namespace gridstride
