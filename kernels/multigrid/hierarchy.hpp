#pragma once

#include <array>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/multigrid/coarsening.hpp"
#include "kernels/multigrid/level.hpp"

/// The levels of an equation in device memory. For the family's own files only.
namespace gridstride::multigrid {

/// Places for the points of a colour in a row of so many: those of large levels are a multiple of
/// four, so that rows begin at multiples of 16 bytes.
int places_of_half(int points, std::int64_t of_level);

template <class S>
class Hierarchy {
 public:
  /// `scale` times the equation. Waits for the stream.
  template <class T>
  Hierarchy(Stream& stream, poisson::Equation<T> const& equation, Levels const& plan, double scale,
            bool singular);

  std::span<Level<S> const> levels() const { return levels_; }
  /// Makes all values 0.
  void clear(Stream& stream) { zero_async(values_.span(), stream); }
  /// Behind the tables of all levels.
  S const* tables_end() const { return tables_.data() + tables_.size(); }
  int const* numbers_end() const { return numbers_.data() + numbers_.size(); }
  /// Of the coarsest level's equations, by rows.
  S const* inverse() const { return inverse_.data(); }

 private:
  void lay_out(Levels const& plan);
  void fill_tables(Stream& stream, Levels const& plan, double diffusivity, double reaction);
  template <class T>
  void store(Stream& stream, poisson::Equation<T> const& equation, Levels const& plan,
             double scale);
  void invert(Stream& stream, Levels const& plan, bool singular);

  std::vector<Level<S>> levels_;
  Buffer<int> numbers_;        // tables of transfers
  Buffer<S> tables_, values_;  // tables of coefficients; u, f and r
  std::vector<Buffer<S>> stored_;
  Buffer<S> inverse_;
};

}  // namespace gridstride::multigrid
