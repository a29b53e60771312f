#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "equations/modal.hpp"
#include "grid/grid.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/modes/modes.hpp"

/// From grids and operators in space to what the kernels of the family take.
namespace gridstride::modes {

/// What a field with these sides is expanded in: `periodic`, or the sines and cosines between two
/// sides; `none` for axes that the grid has not.
std::array<fft::Kind, 3> kinds_of(Grid const& grid, equations::BeyondSides const& sides);

/// The points of an axis that such modes are made of, and where the coefficients of those lie among
/// the modes of the axis: a sine has no mode that is the same everywhere, where a cosine has one.
struct Extent {
  std::int64_t first_point, points;
  std::int64_t modes;       ///< of the axis, the same for sines and cosines
  std::int64_t first_mode;  ///< of the coefficients
};
Extent extent_of(fft::Kind kind, std::int64_t points);

/// The modes of fields with such sides. The first axis that is periodic has n/2 + 1. Of an axis with
/// `keep` < 1 those are kept whose angle from point to point is less than keep·π, so that products of
/// two fields with 2/3 have no others among these, else all.
Layout layout_of(Grid const& grid, equations::BeyondSides const& sides,
                 std::array<double, 3> const& keep);

/// The axis that has n/2 + 1 modes; −1 where none is periodic.
int halved_axis(Grid const& grid, equations::BeyondSides const& sides);

/// A quantity of sums: how it goes on beyond the sides, and a factor that its parts have beside.
struct Quantity {
  equations::BeyondSides sides;
  double factor = 1;
};

/// Sums in the memory of a device, with the symbols of their derivatives:
///
///   exact        (iθ/h)^m, and 0 for odd m where what it makes has no such mode (θ = π)
///   differences  first differences for one derivative, second ones for each two, in a row
///
/// On axes with sides, odd derivatives make cosines of sines and the other way round.
class SumList {
 public:
  /// `unknowns`, then products, as `ModalPart::quantity` counts them. Waits for the stream.
  SumList(Stream& stream, Grid const& grid, Layout const& layout, equations::Symbols symbols,
          int order, std::span<equations::ModalSum const> sums, std::span<Quantity const> unknowns,
          std::span<Quantity const> products);

  Sums sums() const;
  int size() const { return static_cast<int>(ends_.size()) - 1; }
  /// The same but for `along`, as constants of a kernel: `monomials`, `parts` and `ends`.
  std::string text() const;
  /// Whether there are so many sums, and of products sum number s has number s alone, once.
  bool has_own_products(int count) const;
  /// Whether a symbol of a sum has an imaginary part.
  bool is_complex(int sum) const;
  /// Whether every symbol is the same for k and −k of this axis.
  bool is_even(int axis) const { return even_[static_cast<std::size_t>(axis)]; }

 private:
  void add(equations::ModalPart const& part, Quantity const& quantity, int number, bool is_product,
           Grid const& grid, Layout const& layout);
  Range add(equations::Operator const& polynomial, Quantity const& quantity, double factor);

  std::vector<Monomial> monomials_;
  std::vector<Part> parts_;
  std::vector<int> ends_ = {0};
  std::array<bool, 3> even_ = {true, true, true};
  std::array<int, 3> orders_ = {0, 0, 0};  // the highest
  std::array<Buffer<double>, 3> device_symbols_;
  Buffer<Monomial> device_monomials_;
  Buffer<Part> device_parts_;
  Buffer<int> device_ends_;
};

}  // namespace gridstride::modes
