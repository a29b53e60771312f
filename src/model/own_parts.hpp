#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "model/simulation.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// A field of which ranks have parts: an array, or one for each component of a vector.
struct OwnField {
  std::string name;
  std::vector<std::string> numbers;  ///< what messages call what is in these
  std::string magnitude = {};        ///< and the lengths of vectors; empty: nobody asks for them
  /// Else formulas of diagnostics alone read it: it is not looked through, and has no number (`FoundByParts`). Such
  /// come last.
  bool is_seen = true;
};

/// Fields of T on the host of which this rank has a part, as all ranks look at them at once.
template <class T>
struct OwnParts {
  Stream const& stream;
  SweepPlan const& plan;  ///< of this rank
  Ranks& ranks;
  Clock clock;
  std::span<OwnField const> fields;
  /// Of each field the rank's planes of its arrays.
  std::span<std::vector<std::span<T const>> const> values;
  struct Extremes {
    T minimum, maximum;
  };
  std::span<Extremes const> extremes;  ///< of all values, number by number (`FoundByParts`)

  using Use = std::function<void(std::span<T const>)>;
  /// Has a number's values at the rank's own points used, some after the other in no order.
  std::function<void(std::size_t number, Use const& use)> for_own;
};

}  // namespace gridstride
