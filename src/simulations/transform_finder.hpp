#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/ranks.hpp"
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
        running_(stream, chain.link(place).grid.size(), stretch(chain, place), operation),
        result_(stream, MemorySpace::device, 1) {}
  static std::size_t bytes(Chain const& chain, int place) {
    return reduce::RunningReduction<Operation>::bytes(chain.link(place).grid.size(),
                                                      stretch(chain, place)) +
           sizeof(Value);
  }

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
    if (chain_->shares().several()) running_.share(stream, ranks(), chain_->cuts(place_));
    running_.finish(stream, result_.span());
    Value value;
    copy_async(std::span(&value, 1), std::as_const(result_).span(), stream);
    stream.synchronize();
    return value;
  }

 private:
  /// The values that come here.
  static reduce::Stretch stretch(Chain const& chain, int place) {
    auto const cuts = chain.cuts(place);
    auto const own = static_cast<std::size_t>(chain.shares().rank);
    return {cuts[own], cuts[own + 1]};
  }

  Chain const* chain_;
  int place_;
  reduce::RunningReduction<Operation> running_;
  Buffer<Value> result_;
};

/// The moments of an array, for all who ask for them; they are found in the first pass. Ends the
/// run where a value is infinite or not a number.
template <class T>
class MomentsFinder final : public Finder<T> {
 public:
  MomentsFinder(Stream const& stream, Chain const& chain, int place)
      : chain_(&chain), reduced_(stream, chain, place) {}
  static std::size_t bytes(Chain const& chain, int place) {
    return Reduced<reduce::MomentsOperation<T>>::bytes(chain, place);
  }

  int place() const { return reduced_.place(); }
  std::vector<int> places() const override {
    if (found_) return {};
    return {place()};
  }
  void take(Worker<T>& worker, Rows const& chunk) override { reduced_.take(worker, chunk); }
  void end_pass(Stream& stream) override;
  /// Once they are.
  reduce::Moments<T> const& found() const { return found_.value(); }

 private:
  Chain const* chain_;
  Reduced<reduce::MomentsOperation<T>> reduced_;
  std::optional<reduce::Moments<T>> found_;
};

/// What finds the moments of an array; null where nothing does.
template <class T>
MomentsFinder<T> const* moments_at(Finders<T> const& finders, int place);

/// What a finder of a reduction is made of.
template <class T>
struct Wanted {
  Stream const& stream;
  Chain const& chain;
  ReduceOptions const& options;
  int place;  ///< that it looks at
  /// Of that array, or of the one that magnitudes are of; then of the second factor.
  std::vector<MomentsFinder<T> const*> moments;
};

/// A kind of reduction.
template <class T>
struct FinderRow {
  std::unique_ptr<Finder<T>> (*make)(Wanted<T> const& wanted);
  /// Of device memory, beside that of moments.
  std::size_t (*bytes)(Chain const& chain, ReduceOptions const& options, int place);
};

template <class Kind, class T>
FinderRow<T> finder_row() {
  return {[](Wanted<T> const& wanted) -> std::unique_ptr<Finder<T>> {
            return std::make_unique<Kind>(wanted);
          },
          &Kind::bytes};
}

/// `NAME.key` with its value, for each key.
std::vector<NamedValue> named(std::string const& name, std::vector<std::string> const& keys,
                              std::vector<double> const& values);

/// What finds a table of an array of which a chunk has at most `most` values; the table takes at
/// most `host_bytes`.
template <class T>
std::unique_ptr<Finder<T>> make_select(Stream const& stream, Chain const& chain,
                                       Picked const& picked, std::size_t most, double host_bytes);

template <class T>
FinderRow<T> histogram_row();
template <class T>
FinderRow<T> quantiles_row();

}  // namespace gridstride::transform
