#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/reduce/running.hpp"
#include "simulations/transform_reductions.hpp"

/// What finders of reductions have in common; for their files only.
namespace gridstride::transform {

/// One reduction of one array, or of two of the same shape.
template <class Operation>
class Reduced {
 public:
  using T = typename Operation::Element;
  using Value = typename Operation::Value;

  Reduced(Stream const& stream, Chain const& chain, int place, Operation const& operation = {})
      : chain_(&chain),
        place_(place),
        running_(stream, chain.link(place).grid.size(), operation),
        result_(stream, MemorySpace::device, 1) {}

  int place() const { return place_; }
  void take(Worker<T>& worker, Rows const& chunk) {
    auto const rows = chain_->own(place_, chunk);
    if (!rows.empty()) running_.add(worker.stream(), worker.values(place_, rows));
  }
  void take(Worker<T>& worker, Rows const& chunk, int second) {
    auto const rows = chain_->own(place_, chunk);
    if (!rows.empty())
      running_.add(worker.stream(), worker.values(place_, rows), worker.values(second, rows));
  }
  Value finish(Stream& stream) {
    running_.finish(stream, result_.span());
    Value value;
    copy_async(std::span(&value, 1), std::as_const(result_).span(), stream);
    stream.synchronize();
    return value;
  }

 private:
  Chain const* chain_;
  int place_;
  reduce::RunningReduction<Operation> running_;
  Buffer<Value> result_;
};

/// The moments of an array. Throws `NumericalError` for a value that is not finite.
template <class T>
reduce::Moments<T> finite_moments(Reduced<reduce::MomentsOperation<T>>& reduced, Chain const& chain,
                                  std::string const& name, Stream& stream);

/// `NAME.key` with its value, for each key.
std::vector<NamedValue> named(std::string const& name, std::vector<std::string> const& keys,
                              std::vector<double> const& values);

/// What finds a table, which takes at most `host_bytes`.
template <class T>
std::unique_ptr<Finder<T>> make_select(Stream const& stream, Chain const& chain,
                                       Picked const& picked, double host_bytes);

/// What only sees that an array is finite.
template <class T>
std::unique_ptr<Finder<T>> make_finite(Stream const& stream, Chain const& chain,
                                       std::string const& name, int place);

template <class T>
std::unique_ptr<Finder<T>> make_histogram(Stream const& stream, Chain const& chain,
                                          ReduceOptions const& options, int place);
template <class T>
std::unique_ptr<Finder<T>> make_quantiles(Stream const& stream, Chain const& chain,
                                          ReduceOptions const& options, int place);

}  // namespace gridstride::transform
