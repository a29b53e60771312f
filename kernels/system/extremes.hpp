#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/system/followers.hpp"
#include "kernels/system/system.hpp"

namespace gridstride::system {

/// Of the values that a term has at the points of a grid. Where what a term makes of a finite value is
/// beyond all numbers, an extreme may be infinite in the place of a first point.
struct Extremes {
  double least = 0;
  double greatest = 0;
  std::int64_t first_non_finite = -1;  ///< index of the first NaN or infinity; -1: there is none
};

/// Points of a grid that count, along each axis from the first number on and before the second one.
struct Counted {
  std::array<std::int64_t, 3> begin = {}, end = {1, 1, 1};
};

/// Finds the extremes of terms over a grid. On a GPU a kernel that is compiled for several terms at
/// a time reads the inputs once for these, finds the extremes of what they follow (followers.hpp), and
/// nothing is stored. On the host each term is evaluated into an array for `reduce`; so it is on a GPU by
/// `interpreter` and without NVRTC, with the bits of what is compiled. Instantiated for float and double.
template <class T>
class ExtremesFinder {
 public:
  /// `of`: terms of a stencil.
  ExtremesFinder(Stream const& stream, Grid const& grid, equations::Terms const& terms,
                 std::span<equations::Term const> of);

  std::size_t size() const { return programs_.size(); }
  /// Whether terms read unknowns at their own point alone.
  bool looks_at_points() const;
  /// Compiles and loads what looks at such inputs take, where it can be compiled.
  void prepare(std::vector<Input<T>> inputs);
  /// Queues a look at all terms. `step` says inputs, clock, fraction and what was found beforehand;
  /// `scratch` is an array over the grid, `variant` that of the evaluations. With `counted` the step
  /// says a piece of the grid, too, of which such points count; indices are those of the larger grid. No
  /// piece lies beyond another one.
  void add(Step<T> step, std::span<T> scratch, std::string_view variant,
           std::optional<Counted> const& counted = {});
  /// What was found since it was last taken, of all terms in their order. Waits for the device; what
  /// `meanwhile` queues on the stream is not waited for.
  std::vector<Extremes> take(std::function<void()> const& meanwhile = {});
  /// Both.
  std::vector<Extremes> find(Step<T> step, std::span<T> scratch, std::string_view variant = "auto");

 private:
  /// What was looked at last: the points that count, and its place in the larger grid.
  struct Looked {
    Grid grid;
    Counted counted = {};
    Piece piece = {};

    /// The index in the larger grid of a point of this one; −1: of none.
    std::int64_t whole(std::int64_t offset) const;
  };
  bool compile_groups(Step<T>& step);
  bool queue_compiled(Step<T>& step);
  std::vector<Extremes> wait_for_keys(std::function<void()> const& meanwhile);
  void add_one_by_one(Step<T>& step, std::span<T> scratch, std::string_view variant);
  std::array<std::int64_t, 3> counts() const;
  std::span<T const> counted(std::span<T> scratch);
  std::int64_t place_of(std::int64_t counted) const;

  Stream stream_;
  Grid grid_;
  Looked looked_;
  std::vector<StencilProgram> programs_;  // one for each term, which is the last result
  std::vector<Prepared> prepared_;        // of these
  std::vector<Followed> groups_;          // for several
  std::vector<std::shared_ptr<RuntimeModule const>> modules_;  // of the groups
  std::array<bool, 3> wraps_ = {};                             // what they were compiled for
  bool can_compile_ = true;
  Event known_;  // what is found
  /// On the device those of two calls by turns, 0 at first, and the number of blocks that are done; on the
  /// host what was found.
  Buffer<unsigned long long> keys_, found_keys_;
  std::size_t turn_ = 0;
  bool is_taken_ = false;  // what was found last
  Buffer<reduce::Moments<T>> moments_;
  Buffer<T> strips_;              // what counts of planes, side by side
  std::vector<Extremes> joined_;  // of terms one by one
};

}  // namespace gridstride::system
