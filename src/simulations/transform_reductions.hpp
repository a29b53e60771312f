#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/named_value.hpp"
#include "grid/table.hpp"
#include "simulations/transform_worker.hpp"

/// Numbers that are found in the arrays of a chain while they go by in chunks.
namespace gridstride::transform {

/// Finds what one reduction asks for, in one or more passes over the data. T is float or double.
template <class T>
class Finder {
 public:
  virtual ~Finder() = default;
  /// The arrays that the next pass has to go by; none: all is found.
  virtual std::vector<int> places() const = 0;
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

/// What finds a reduction. A chain gets what is looked at beside its own arrays.
template <class T>
std::unique_ptr<Finder<T>> make_finder(Stream const& stream, Chain const& chain,
                                       ReduceOptions const& options, int looked_at);

/// Appends to a chain what reductions need beside its arrays: magnitudes. Returns the place that
/// each of them looks at.
std::vector<int> append_reduced(Chain& chain, std::vector<ReduceOptions> const& reductions);

/// The arrays that any pass for the reductions goes by.
std::vector<int> places_of(Chain const& chain, std::vector<ReduceOptions> const& reductions,
                           std::vector<int> const& looked_at);

}  // namespace gridstride::transform
