#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grid/checkpoint.hpp"
#include "model/modal_products.hpp"
#include "model/modal_scheme.hpp"

namespace gridstride {

/// Steps of a system in the modes of its grid,
///
///   ∂u/∂t = L·u + N(u, t)
///
/// by a scheme of `modal_scheme`. The state is in modes, those that are kept, as coefficients: forward
/// transforms times `ModalTransform::factor`. All is queued on the stream, also into graphs: nothing
/// allocates or waits but the constructor, `prepare`, and what first makes a program ready. T is float
/// or double.
template <class T>
class ModalStepper {
 public:
  /// Throws `std::invalid_argument` with `refusal`, where there is one.
  ModalStepper(Stream const& stream, Grid const& grid, equations::ModalSystem const& system,
               std::string_view scheme, ModalVariants variants = {});

  /// Why such a system cannot be taken; empty where it can.
  static std::string refusal(Grid const& grid, equations::ModalSystem const& system,
                             std::string_view scheme);
  /// What it takes of device memory, at most, but for what transforms do, and of that what is saved.
  static std::size_t bytes(Backend backend, Grid const& grid, equations::ModalSystem const& system,
                           std::string_view scheme, ModalVariants const& variants = {});
  static std::size_t saved_bytes(Grid const& grid, equations::ModalSystem const& system,
                                 std::string_view scheme);

  int components() const { return static_cast<int>(system_.linear.size()); }
  modes::Layout const& layout() const { return layout_; }

  /// Queues the state from the values of a component at the points of the grid; frequencies that are
  /// not kept are left out. What a scheme keeps of steps before is forgotten.
  void to_modes(int component, std::span<T const> values);
  /// Queues its values at the points of the grid, 0 at those of sides where it is odd.
  void to_points(int component, std::span<T> values);
  /// The same of field `number` of `ModalSystem::held`, at the clock's present time.
  void held_to_points(int number, evaluate::DeviceClock const* clock, std::span<T> values);

  /// Waits for programs of steps that are being compiled, if any are; the first step would.
  void wait_for_programs() const { products_.wait(); }
  /// Finds what steps of this length take, where it is not there.
  void prepare(double step);
  /// Whether this step and all after it, of the same length, have what they take: then they may go
  /// into a graph.
  bool is_steady(double step) const;
  /// Queues a step from the clock's present time, whose step is this long; the clock may be null
  /// where no program needs it.
  void step(double step, evaluate::DeviceClock const* clock);

  /// Of the state in modes, component after component.
  std::span<T> state() { return array(0); }
  void save(CheckpointSink& sink) const;
  void load(CheckpointSource const& source);

  std::vector<std::string> fallbacks() const { return products_.fallbacks(); }

 private:
  /// What coefficients are for: the step, and its ratio to the one before.
  using Key = std::pair<double, double>;
  Key key_of(double step) const;
  modes::SumList sums_of(std::vector<equations::ModalSum> const& sums);
  void make_blocks();
  std::span<T> array(int number) {
    return arrays_.span().subspan(static_cast<std::size_t>(number) * array_size_, array_size_);
  }
  std::span<T const> array(int number) const {
    return arrays_.span().subspan(static_cast<std::size_t>(number) * array_size_, array_size_);
  }
  T* table(int function) {
    return table_values_.data() + static_cast<std::size_t>(function) * table_size_;
  }
  modes::SumList const& rates_of(ModalRate const& rate) const {
    return rate.is_whole ? whole_ : rest_;
  }
  void queue(ModalRate const& rate, evaluate::DeviceClock const* clock);
  void queue(ModalUpdate const& update, double step);
  void pair();
  void combine(modes::SumList const& sums, int first, int count, T const* unknowns,
               T const* products, T* out, bool is_full);

  mutable Stream stream_;
  Grid grid_;
  equations::ModalSystem system_;
  std::string scheme_name_;
  ModalVariants variants_;
  modes::Layout layout_;
  ModalProducts<T> products_;
  modes::SumList linear_, rest_, whole_, unknown_, held_;
  std::vector<modes::SumList> given_;  // of each component, from what transforms leave
  std::vector<modes::Block> blocks_;
  modes::Tables tables_;
  ModalScheme scheme_;
  std::optional<Key> key_;
  double step_before_ = 0;  // 0: none
  std::size_t array_size_, table_size_ = 0;
  Buffer<T> arrays_, table_values_;
  Buffer<modes::MatrixFunction> functions_;
};

}  // namespace gridstride
