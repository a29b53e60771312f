#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/poisson/poisson.hpp"
#include "kernels/poisson/transform.hpp"
#include "kernels/support/rank_transposition.hpp"

/// Transforms of grids that several ranks share: along the axes within planes each rank has its own
/// planes, along the slowest axis its own columns of all planes.
///
/// A line has the bits that it has in one process: whatever else is transformed with it, if only its
/// neighbours are nearer than its own elements, or are not, as on the whole grid. Therefore there are
/// two unknowns along x, and ranks have two columns or none.
namespace gridstride::poisson {

/// Some unknowns in one of a rank's arrays: as many along each axis, which lie from the place `first`
/// on, and are those from `begin` on of the grid's.
struct SharedPart {
  fft::Shape shape;  ///< of no kinds
  std::int64_t first = 0;
  std::array<std::int64_t, 3> begin = {};

  bool is_empty() const { return shape.size() == 0; }
};

template <class T>
class SharedTransforms {
 public:
  /// Queues what becomes of unknowns in `columns()`, on one of two streams.
  using Middle = std::function<void(Stream&, SharedPart const&)>;

  /// All ranks make one. What each sends goes in as many pieces, which 0 leaves to the size of the grid.
  /// Throws `std::invalid_argument` for one unknown along x.
  SharedTransforms(Stream const& stream, Equation<T> const& equation, int pieces = 0);

  /// How ranks share the columns of a plane: lines of x, or of a line some points.
  static RankCuts columns_of(Grid const& grid, int ranks);

  std::string_view transport() const { return ways_.transport(); }
  /// The rank's own planes, and its columns of all planes.
  std::span<T> planes() { return ways_.template planes<T>(); }
  std::span<T> columns() { return ways_.template columns<T>(); }
  std::int64_t own_columns() const { return ways_.own_columns(); }
  /// All unknowns of the own planes, in `planes()`.
  SharedPart own_part() const { return part_of_planes({0, ways_.own_planes()}, {0, plane()}); }

  /// Queues u = back(middle(forward(right))), transforms along the axes within planes, of which there
  /// is one at least; `middle` has parts of all own columns, two at a time. u may be the very array
  /// `right`.
  void through_columns(Stream& stream, std::span<T const> right, std::span<T> u,
                       std::string_view variant, Middle const& middle);

  /// Queues that `planes()` has the unknowns of `right`, transformed along an axis within planes or
  /// none, and beside them what u has, so that u may be what `planes()` has at last.
  void load(Stream& stream, std::span<T const> right, std::span<T const> u, std::optional<int> axis,
            std::string_view variant);
  /// Queues a transform of the unknowns of `planes()` along an axis.
  void transform(Stream& stream, int axis, fft::Direction direction, std::string_view variant);
  /// Queues that u has what `planes()` has.
  void store(Stream& stream, std::span<T> u);

  /// Queues that `columns` has the rank's columns of an array of the grid.
  void bring_columns(Stream& stream, std::span<T const> values, std::span<T> columns);

 private:
  struct Range {
    std::int64_t first, end;
  };
  std::int64_t plane() const { return ways_.column_cuts().back(); }
  /// One of the pieces that so many planes or columns go in, which begin at multiples of `unit`.
  Range piece(std::int64_t count, std::int64_t unit, int number) const;
  /// Of a rank's columns, counted from its first one on.
  Range piece_of_columns(int rank, int number) const;
  SharedPart part_of(Range const& planes, Range const& columns, std::int64_t stride) const;
  SharedPart part_of_planes(Range const& own, Range const& columns) const;
  SharedPart part_of_columns(Range const& own) const;
  fft::Shape along(SharedPart const& part, std::initializer_list<int> axes) const;
  void forward(Stream& stream, std::span<T const> right, std::string_view variant);
  void backward(Stream& stream, std::span<T> u, std::string_view variant);
  void own_lines_back(Stream& stream, std::string_view variant);
  void lines_back(Stream& stream, int number, std::string_view variant);
  /// Where a piece's kernels go: the last blocks of one leave room for the next one's first.
  Stream& lane(Stream& stream, int number) {
    return beside_ && number % 2 == 1 ? *beside_ : stream;
  }
  void fork(Stream& stream);
  void join(Stream& stream);
  /// The own planes of an array of the grid.
  template <class U>
  std::span<U> own(std::span<U> held) const {
    auto const line = static_cast<std::size_t>(plane());
    return held.subspan(line, held.size() - 2 * line);
  }

  Grid grid_;
  fft::Shape unknowns_;
  std::array<std::int64_t, 3> first_;  // unknowns of the axes
  int rank_, ranks_;
  std::int64_t lower_;  // own plane
  RankTransposition ways_;
  int pieces_;
  std::optional<Stream> beside_;  // the caller's stream, for every other piece
  std::optional<Event> turn_;
};

}  // namespace gridstride::poisson
