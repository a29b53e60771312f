#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "equations/discretise.hpp"
#include "equations/modal_split.hpp"
#include "grid/checkpoint.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/system/system.hpp"
#include "simulations/pde_globals.hpp"

namespace gridstride::pde {

/// Watches that constraints can hold: the mean of what they leave open has to be 0. Instantiated
/// for float and double.
template <class T>
class Balances {
 public:
  /// `run` and `split` must outlive it.
  Balances(config::RunConfig const& run, equations::ModalSplit const& split, Stream const& stream);
  /// Of device memory.
  static std::size_t bytes(config::RunConfig const& run, equations::ModalSplit const& split,
                           Backend backend);

  /// Throws `ConfigError` where such a mean is not 0 but for the rounding of values that were
  /// given. Waits for the device.
  void check_given(double time, std::vector<system::Input<T>> const& inputs);
  /// Throws `NumericalError` where steps moved such a mean away from 0 by more than roundings of
  /// many steps do: by √ε of the largest size that there was so far. What is not finite is left to
  /// those who look for that.
  void check(double time, std::vector<system::Input<T>> const& inputs);

  void save(CheckpointSink& sink) const;
  void load(CheckpointSource const& source);

 private:
  struct Balance {
    equations::Term of;
    int constraint;
    equations::Stencil stencil;
    GlobalFinder<T> finder;
    double mean = 0, largest = 0;  ///< now; the largest size so far
  };
  void find(double time, std::vector<system::Input<T>> const& inputs);
  std::string open_part(Balance const& balance) const;
  std::string text_of_constraint(Balance const& balance) const;

  config::RunConfig const& run_;
  equations::System system_;
  Stream stream_;
  Buffer<evaluate::DeviceClock> clock_;
  Buffer<T> scratch_;  // what a mean is of
  std::vector<Balance> balances_;
};

}  // namespace gridstride::pde
