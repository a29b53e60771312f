#pragma once

#include <initializer_list>
#include <string_view>

#include "model/phase_times.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// A simulation without time: one step is the whole computation, whose phases are measured.
class OneShot : public Simulation {
 public:
  Clock clock() const override { return {done_ ? 1 : 0, 0}; }
  bool finished() const override { return done_; }
  void advance(std::int64_t max_steps, double) override {
    if (done_ || max_steps < 1) return;
    compute();
    done_ = true;
  }
  /// The seconds of the phases.
  std::vector<NamedValue> diagnostics() const override { return times_.values(); }

 protected:
  OneShot(Stream const& stream, std::initializer_list<std::string_view> phases)
      : stream_(stream), times_(stream, phases) {}

  /// All of it, done when this returns.
  virtual void compute() = 0;

  Stream stream_;
  PhaseTimes times_;

 private:
  bool done_ = false;
};

}  // namespace gridstride
