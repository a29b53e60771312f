#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/rank_sums.hpp"
#include "kernels/reduce/running_operations.hpp"

/// Reductions of data that come piece by piece, one piece after the other, with the same bits
/// however the data are cut into pieces: the elements belong to tiles of `running_tile`, counted
/// from the first element of all, each tile is combined in a fixed order, and so are the tiles'
/// results. What a piece leaves of an unfinished tile is kept until the next one.
///
/// Everything is in float64 and as accurate as what reduce.hpp has. The bits are those of the
/// backend; on a GPU those of any GPU.
namespace gridstride::reduce {

constexpr std::int64_t running_tile = std::int64_t{1} << 15;

/// Where tiles begin: elements are cut into parts, and each part into tiles, of which the last one may
/// have fewer elements, as the last part may.
struct TileCuts {
  std::int64_t part = running_tile;
  std::int64_t tile = running_tile;

  GRIDSTRIDE_HOST_DEVICE std::int64_t of_part() const { return (part + tile - 1) / tile; }
  /// Tiles of so many elements.
  GRIDSTRIDE_HOST_DEVICE std::int64_t count(std::int64_t size) const {
    return size / part * of_part() + (size % part + tile - 1) / tile;
  }
  /// The first element of a tile, and the first one after it, of so many elements.
  GRIDSTRIDE_HOST_DEVICE std::int64_t first(std::int64_t number) const {
    return number / of_part() * part + number % of_part() * tile;
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t last(std::int64_t number, std::int64_t size) const {
    std::int64_t const end = (number / of_part() + 1) * part, next = first(number) + tile;
    std::int64_t const within = next < end ? next : end;
    return within < size ? within : size;
  }
};

/// Elements `first` to before `last`.
struct Stretch {
  std::int64_t first, last;
};

/// `Operation` is SumOperation, DotOperation, SquaresOperation, MomentsOperation, MinimumPlace,
/// MaximumPlace or IntegralOperation, of float or double.
template <class Operation>
class RunningReduction {
 public:
  using T = typename Operation::Element;
  using Value = typename Operation::Value;

  /// Of `size` elements in all.
  RunningReduction(Stream const& stream, std::int64_t size, Operation const& operation = {})
      : RunningReduction(stream, size, Stretch{0, size}, operation) {}
  /// Of those of them that come here, one of several ranks.
  RunningReduction(Stream const& stream, std::int64_t size, Stretch const& here,
                   Operation const& operation = {});
  /// Of device memory.
  static std::size_t bytes(std::int64_t size) { return bytes(size, {0, size}); }
  static std::size_t bytes(std::int64_t size, Stretch const& here) {
    std::size_t const elements = pending_of(size) + static_cast<std::size_t>(head_of(here));
    return tiles_of(size) * sizeof(Value) + inputs * elements * sizeof(T);
  }

  /// Queues the next elements, which lie in the stream's device memory; of a dot product those of
  /// both factors. A call begins, in the order of the device's work, after the one before. Throws
  /// `std::invalid_argument` for more elements than there are, for factors of different sizes, and
  /// for a second factor where there is none.
  void add(Stream& stream, std::span<T const> x, std::span<T const> y = {});

  /// Where ranks have elements from their cut to the next one, and all of those have come: gives each
  /// rank what it needs to finish. All ranks call it; done when it returns.
  void share(Stream& stream, Ranks& ranks, RankCuts const& cuts);

  /// Queues the result, an array of one. Throws `std::logic_error` before all elements have come.
  void finish(Stream& stream, std::span<Value> result);

 private:
  static constexpr std::size_t inputs = Operation::two_inputs ? 2 : 1;
  /// Combines the tiles from the next one on, the last one as far as there are elements.
  void combine(Stream& stream, T const* x, T const* y, std::int64_t count);
  void keep(Stream& stream, std::span<T const> x, std::span<T const> y);
  void append(Stream& stream, Buffer<T>& kept, std::int64_t place, std::span<T const> x,
              std::span<T const> y);
  void complete_last_tile(Stream& stream, Ranks& ranks, RankCuts const& cuts);
  void share_partials(Stream& stream, Ranks& ranks, RankCuts const& cuts);
  T const* kept(std::size_t input) const { return pending_.data() + input * pending_of(size_); }
  /// Elements of a stretch that belong to a tile which begins before it.
  static std::int64_t head_of(Stretch const& here) {
    std::int64_t const tile = (here.first + running_tile - 1) / running_tile * running_tile;
    return std::max<std::int64_t>(std::min(tile, here.last) - here.first, 0);
  }
  static std::size_t tiles_of(std::int64_t size) {
    return static_cast<std::size_t>(TileCuts{}.count(size));
  }
  static std::size_t pending_of(std::int64_t size) {
    return static_cast<std::size_t>(std::min(size, running_tile));
  }

  Operation operation_;
  std::int64_t size_;
  Stretch here_;
  std::int64_t heads_ = 0;  ///< elements that have come of a tile which begins before `here_`
  std::int64_t done_;       ///< the end of whole tiles
  std::int64_t kept_ = 0;
  Buffer<Value> partials_;  ///< of each tile
  Buffer<T> pending_;       ///< the elements of a tile that has not all of them
  Buffer<T> head_;          ///< those of the tile before, which another rank combines
};

/// A stretch of elements that begins with a tile, for the functions of the backends.
template <class Operation>
struct Tiles {
  Operation operation;
  typename Operation::Element const* x;
  typename Operation::Element const* y;
  std::int64_t first;  ///< index of x[0]
  std::int64_t size;
  typename Operation::Value* partials;  ///< of the first tile, and on
  TileCuts cuts = {};

  std::int64_t count() const { return cuts.count(size); }
};

}  // namespace gridstride::reduce
