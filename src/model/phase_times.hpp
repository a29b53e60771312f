#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/named_value.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// How long each phase of a computation without time has taken so far (s).
class PhaseTimes {
 public:
  PhaseTimes(Stream const& stream, std::initializer_list<std::string_view> phases);

  /// Does `work`, waits for what it queued on the stream, and adds the time that this took.
  void measure(std::string_view phase, std::function<void()> const& work);

  /// Adds what was measured elsewhere.
  void add(std::string_view phase, double seconds) { phases_[index_of(phase)].seconds += seconds; }

  double seconds(std::string_view phase) const;
  /// Each phase's seconds as `seconds.PHASE`, in their order.
  std::vector<NamedValue> values() const;

 private:
  struct Phase {
    std::string_view name;
    double seconds = 0;
  };
  /// Throws `std::out_of_range` when there is no such phase.
  std::size_t index_of(std::string_view phase) const;

  Stream stream_;
  std::vector<Phase> phases_;
};

}  // namespace gridstride
