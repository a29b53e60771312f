#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/named_value.hpp"
#include "grid/table.hpp"
#include "simulations/transform_worker.hpp"

/// Numbers that are found in the arrays of a chain while they go by in chunks.
namespace gridstride::transform {

/// Finds what one reduction asks for, in one or more passes over the data. It takes all its device
/// memory when it is made. T is float or double.
template <class T>
class Finder {
 public:
  virtual ~Finder() = default;
  /// The arrays that the next pass has to go by; none: all is found.
  virtual std::vector<int> places() const = 0;
  /// How many more passes it takes, as far as it knows.
  virtual int passes() const { return places().empty() ? 0 : 1; }
  /// Queues what the present chunk of the worker adds: the next one of each array.
  virtual void take(Worker<T>& worker, Rows const& chunk) = 0;
  /// All chunks have been taken: reads what was found, and waits for it. Throws `NumericalError`
  /// where it is not finite.
  virtual void end_pass(Stream& stream) = 0;
  /// By the same names at all times; NaN as long as they are not found.
  virtual std::vector<NamedValue> numbers() const { return {}; }
  /// None as long as they are not found.
  virtual std::vector<Table> tables() const { return {}; }
};

template <class T>
class MomentsFinder;

/// Several of them, in an order in which those that others wait for end a pass before these.
template <class T>
struct Finders {
  std::vector<std::unique_ptr<Finder<T>>> all;
  std::vector<MomentsFinder<T> const*> moments;  ///< those of them that find moments
};

/// What is looked for in the arrays of a chain.
struct Sought {
  std::vector<ReduceOptions> const* reductions = nullptr;
  std::vector<int> looked_at = {};  ///< by each of them
  std::vector<int> finite = {};     ///< arrays that have to be finite, beside those

  /// Appends to a chain what reductions need beside its arrays: magnitudes.
  Sought(Chain& chain, std::vector<ReduceOptions> const& reductions);

  /// The arrays that any pass goes by.
  std::vector<int> places(Chain const& chain) const;
  /// Those that passes after the first one go by.
  std::vector<int> later_places() const;
};

/// What finds it.
template <class T>
Finders<T> make_finders(Stream const& stream, Chain const& chain, Sought const& sought);
/// Of device memory.
template <class T>
std::size_t finder_bytes(Chain const& chain, Sought const& sought);

}  // namespace gridstride::transform
