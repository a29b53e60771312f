#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "equations/system.hpp"
#include "kernels/system/system.hpp"
#include "model/rank_files.hpp"
#include "model/state.hpp"

namespace gridstride::pde {

/// The fields of a system: which arrays are their components, what holds on their sides, their
/// first values, and how they are written. Instantiated for float and double.
template <class T>
class SystemFields {
 public:
  /// `evolved`: the arrays of all components, in the order of the unknowns.
  SystemFields(Stream const& stream, config::RunConfig const& run, State<T>& state,
               std::span<Array<T>* const> evolved);

  /// What stages read: the components, then the arrays of names with sides. Those of the components
  /// have no values, which differ from stage to stage.
  std::vector<system::Input<T>> const& inputs() const { return inputs_; }
  /// Adds a name with sides; `values` are the arrays of its components.
  void add_name(equations::Unknown const& name, std::span<T* const> values);

  /// Queues the first values that are formulas of space or files.
  void fill_given(Inputs const& inputs);
  /// Queues those that are made of other fields', which are there. `clock` is that of the present
  /// time.
  void fill_read(evaluate::DeviceClock const* clock);

  /// What there is, without values.
  std::vector<Field> described() const;
  /// What its arrays hold.
  std::vector<OwnField> own() const;
  /// The present values: those of a vector with its components side by side, by a kernel that is
  /// queued.
  std::vector<Field> written() const;

 private:
  /// A field with its components, and the array in which they lie side by side.
  struct Written {
    equations::Unknown unknown;
    std::string unit;
    std::span<Array<T>* const> components;
    mutable Buffer<T> together = {};
  };

  void set_sides(system::Input<T>& input, config::Sides const& sides, std::string_view name,
                 int component);
  void fill_given(Written const& field, Inputs const& inputs);
  void fill_read(Written const& field, equations::System const& initial,
                 evaluate::DeviceClock const* clock);
  void impose_sides(equations::Unknown const& unknown);

  mutable Stream stream_;
  config::RunConfig const& run_;
  Grid grid_;
  State<T>& state_;
  std::span<Array<T>* const> evolved_;
  std::vector<Written> fields_;
  std::vector<system::Input<T>> inputs_;
};

}  // namespace gridstride::pde
