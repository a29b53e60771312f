#pragma once

#include <array>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/multigrid/coarsening.hpp"
#include "kernels/multigrid/level.hpp"
#include "kernels/multigrid/separable.hpp"
#include "kernels/multigrid/shares.hpp"
#include "kernels/multigrid/stored.hpp"

/// The levels of an equation in device memory. For the family's own files only.
namespace gridstride::multigrid {

template <class S>
class SharedEquations;

/// Places for the points of a colour in a row of so many: those of large levels are a multiple of
/// four, so that rows begin at multiples of 16 bytes.
int places_of_half(int points, std::int64_t of_level);

/// Equations as they are found, in memory of their own.
template <class S>
struct OwnStored {
  Stored<S> view{};
  std::vector<Buffer<S>> arrays;

  OwnStored(Stream& stream, Stored<S> const& like, int dims) : view(like) {
    auto const array = [&](std::int64_t size) {
      arrays.emplace_back(stream, MemorySpace::device, static_cast<std::size_t>(size));
      return arrays.back().data();
    };
    std::int64_t const points = std::int64_t{like.count[0]} * like.count[1] * like.count[2];
    view.mass = array(points);
    for (int axis = 0; axis < dims; ++axis)
      view.face[axis] = array(points + points / like.count[axis]);
  }
};

template <class S>
class Hierarchy {
 public:
  /// `scale` times the equation. Of levels without fields the first one with at most so many
  /// unknowns `along` each axis gets its modes. Of the levels that are cut by `shares` there are the
  /// windows of a rank; null: this process has all. Waits for the stream.
  template <class T>
  Hierarchy(Stream& stream, poisson::Equation<T> const& equation, Levels const& plan, double scale,
            bool singular, int along, Shares const* shares, int rank);

  std::span<Level<S> const> levels() const { return levels_; }
  /// The levels that are cut, with what they gather by on the way down.
  std::vector<Level<S>> down() const;
  /// Makes all values 0.
  void clear(Stream& stream) { zero_async(values_.span(), stream); }
  /// Behind the tables of all levels.
  S const* tables_end() const { return tables_.data() + tables_.size(); }
  int const* numbers_end() const { return numbers_.data() + numbers_.size(); }
  Separable<S> const& modes() const { return modes_; }
  /// Of the coarsest level's equations, by rows.
  double const* inverse() const { return inverse_.data(); }

 private:
  void lay_out(Levels const& plan, bool of_volume, Shares const* shares, int rank);
  void fill_tables(Stream& stream, Levels const& plan, double diffusivity, double reaction,
                   Shares const* shares, int rank);
  template <class T>
  void store(Stream& stream, poisson::Equation<T> const& equation, Levels const& plan, double scale,
             Shares const* shares);
  /// Of a level that has a in the place of faces, no faces.
  void keep(Stream& stream, Stored<S> const& from, int dims, bool reacts, Level<S>& level);
  template <class T>
  void keep_field(Stream& stream, poisson::Equation<T> const& equation, double scale,
                  SharedEquations<S>* shared);
  void keep_exactly(OwnStored<S> found, Level<S>& level);
  void find_modes(Stream& stream, Levels const& plan, double diffusivity, int along);
  void invert(Stream& stream, Levels const& plan, bool singular);

  std::vector<Level<S>> levels_;
  std::vector<TransferView<S>> gathering_;  // along the axis that is cut
  int slowest_ = 2;
  Buffer<int> numbers_;        // tables of transfers
  Buffer<S> tables_, values_;  // tables of coefficients; u, f and r
  Buffer<S> of_modes_;         // tables of the modes
  Separable<S> modes_;
  std::vector<Buffer<Coefficient>> stored_;  // faces and masses
  std::vector<Buffer<Weight>> weights_;      // of interpolation
  std::vector<Buffer<S>> reciprocals_;       // of diagonals
  std::vector<Buffer<S>> exact_;             // where there is one level alone
  Buffer<double> inverse_;
};

}  // namespace gridstride::multigrid
