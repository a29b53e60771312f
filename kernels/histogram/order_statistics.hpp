#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/histogram/histogram.hpp"

/// Exact order statistics, such as medians, of data that are too many to be sorted, or that come
/// piece by piece. Each pass over the data counts them between edges (`count_edges`) and leaves, for
/// each rank, fewer values that it may have: floating-point numbers of a range are counted through
/// in order, so that float32 takes about 3 passes and float64 about 5, whatever the data are, and
/// more where there are many ranks.
namespace gridstride::histogram {

/// T is float or double. −0 and 0 are the same, and 0 is what is found.
template <class T>
class OrderStatistics {
 public:
  /// For `size` values, none a NaN, from `minimum` to `maximum`: the values of these ranks, from 0
  /// to size − 1, in any order. Throws `std::invalid_argument` for others.
  OrderStatistics(std::vector<std::int64_t> ranks, std::int64_t size, T minimum, T maximum);

  bool done() const { return edges_.empty(); }
  /// How many more passes it takes, if ranks that are told apart do not part any more.
  int passes() const;
  /// For the next pass, between which all data have to be counted: they rise strictly, and there
  /// are at most `max_bins` bins between them.
  std::span<T const> edges() const { return edges_; }
  /// Takes in how many of the data lie in each of these bins.
  void narrow(std::span<std::int64_t const> counts);
  /// The same pass by numbers in place of edges (`count_numbers`), which is faster; there may be more
  /// ranges than that takes.
  std::vector<NumberRange> ranges() const;
  /// Takes in how many of the data lie in each of these stretches.
  void narrow_numbers(std::span<std::int64_t const> counts);
  /// Takes in that no value is less than `minimum` or greater than `maximum`.
  void bound(T minimum, T maximum);
  /// What has been found when all is done, in the order of the ranks.
  std::vector<T> values() const;

 private:
  /// Values that some ranks may have, by their numbers in order.
  struct Range {
    std::uint64_t low, high;
    std::int64_t before, count;  ///< how many of the data are less, and how many are in the range
    bool operator==(Range const&) const = default;
  };
  std::uint64_t step(Range const& range) const;
  /// The last stretch of a range, whose count follows from that of all.
  std::uint64_t last_stretch(Range const& range) const {
    return (range.high - range.low) / step(range);
  }
  std::vector<Range> unresolved() const;
  void narrow(std::span<std::int64_t const> counts, std::uint64_t between);
  void set_edges();

  std::vector<std::int64_t> ranks_;
  std::vector<Range> ranges_;  ///< of each rank
  std::vector<T> edges_;
  std::uint64_t parts_ = 0;  ///< at most, of a range in this pass
};

}  // namespace gridstride::histogram
