#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "simulations/pde_stability.hpp"

namespace gridstride::pde {

/// What limits the explicit steps of a run: one linearisation of its equations, or several where parts
/// of them are explicit by themselves. The least limit counts.
/// Instantiated for float and double.
template <class T>
class StepLimits {
 public:
  using Finder = StabilityFinder<T>;

  StepLimits(Stream const& stream, config::RunConfig const& run);

  /// Of all of them.
  LimitFollows follows() const;
  Finder& finder(std::size_t number) { return finders_[number]; }
  /// While the host waits for what the first look at present finds, this is queued, from now on.
  void while_waiting(std::function<void()> queue) {
    finders_.front().while_waiting(std::move(queue));
  }
  /// Compiles and loads what looks at such inputs take.
  void prepare(std::vector<system::Input<T>> const& inputs) {
    for (Finder& finder : finders_) finder.prepare(inputs);
  }
  /// Throws `ConfigError` where waves of the present state grow the faster the shorter they are; `look`
  /// is how a finder looks at it.
  void refuse_ill_posed(std::function<typename Finder::Look(Finder&)> const& look);
  /// The least of what `find` gives for each finder, by its number.
  equations::StepLimit least(
      std::function<equations::StepLimit(Finder&, std::size_t number)> const& find);

 private:
  Stream stream_;
  config::RunConfig const& run_;
  std::vector<Finder> finders_;
};

}  // namespace gridstride::pde
