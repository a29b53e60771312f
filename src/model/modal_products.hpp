#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "equations/modal.hpp"
#include "grid/grid.hpp"
#include "kernels/evaluate/points.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/modes/joined.hpp"
#include "kernels/modes/modes.hpp"
#include "kernels/modes/symbols.hpp"
#include "kernels/system/system.hpp"

namespace gridstride {

/// Rows of the families that work in modes: names or "auto".
struct ModalVariants {
  std::string fft = "auto", modes = "auto", system = "auto";
};

/// Fields between the points of a grid and their modes. T is float or double.
template <class T>
class ModalTransform {
 public:
  /// `fields`: the most that are transformed at once.
  ModalTransform(Stream const& stream, Grid const& grid, modes::Layout const& layout,
                 equations::BeyondSides const& sides, std::int64_t fields, std::string variant);

  /// Queues the values of `count` fields that lie one after the other, from all modes, which it uses
  /// up; points that are no part of the modes keep what they have.
  void to_points(equations::BeyondSides const& sides, std::int64_t count, T* spectra, T* values);
  /// The other way, not divided by `factor`⁻¹.
  void to_modes(equations::BeyondSides const& sides, std::int64_t count, T const* values,
                T* spectra);
  /// 1/(what there and back multiplies by).
  double factor(equations::BeyondSides const& sides) const;

 private:
  struct Shapes {
    fft::Shape waves, lines;  // along axes that are periodic, along the others
    fft::Shape halved, kept;  // of waves the first axis; the others, of those modes that it keeps
    bool has_waves = false, has_lines = false, leaves_out = false;
    std::int64_t first_point = 0, first_mode = 0;
  };
  Shapes shapes_of(equations::BeyondSides const& sides, std::int64_t count) const;
  void split(Shapes& shapes) const;

  Stream stream_;
  Grid grid_;
  modes::Layout layout_;
  std::string variant_;
  std::array<std::int64_t, 3> between_;  // numbers along each axis between both transforms
  Buffer<T> between_values_;
};

/// What a system in modes makes at points: products of arrays, level after level.
template <class T>
class ModalProducts {
 public:
  ModalProducts(Stream const& stream, Grid const& grid, modes::Layout const& layout,
                equations::ModalSystem const& system, ModalVariants variants);
  /// What its arrays take of device memory, at most.
  static std::size_t bytes(Backend backend, Grid const& grid, equations::ModalSystem const& system,
                           ModalVariants const& variants);

  /// Queues all products of the unknowns, at `part` of the clock's step.
  void evaluate(T const* unknowns, evaluate::DeviceClock const* clock, double part);
  /// Queues sums of them and of the unknowns, where `makes` such: it needs to be told beforehand.
  bool makes(modes::SumList const& sums) const { return joined_ && joined_->takes(sums); }
  void prepare(modes::SumList const& sums) { joined_->prepare(sums); }
  /// Waits for programs that are being compiled.
  void wait() const {
    if (joined_) joined_->wait();
  }
  void make(modes::SumList const& sums, T const* unknowns, evaluate::DeviceClock const* clock,
            double part, T* out) {
    joined_->make_sums(sums, unknowns, clock, part, out);
  }
  /// Their modes, as `Combination::products`, and whether these are kept ones alone.
  T const* spectra() const { return product_spectra_.data(); }
  bool are_kept() const { return joined_.has_value(); }
  /// Room for the modes of one field, which `evaluate` uses too.
  T* scratch() { return array_spectra_.data(); }
  ModalTransform<T>& transform() { return transform_; }

  /// How quantities of sums go on beyond the sides, and what products are multiplied by.
  std::vector<modes::Quantity> const& unknowns() const { return unknowns_; }
  std::vector<modes::Quantity> const& products() const { return products_; }
  std::vector<std::string> fallbacks() const;

 private:
  struct Level {
    equations::ModalLevel const* given;
    modes::SumList arrays;
    std::int64_t first_array, first_product;
    system::Prepared prepared = {};
  };
  void make_arrays(Level& level, T const* unknowns);
  void make_products(Level& level, evaluate::DeviceClock const* clock, double part);

  Stream stream_;
  Grid grid_;
  modes::Layout layout_;
  equations::ModalSystem system_;
  ModalVariants variants_;
  ModalTransform<T> transform_;
  std::optional<modes::Joined<T>> joined_;  // of the only level
  std::vector<modes::Quantity> unknowns_, products_;
  std::vector<Level> levels_;
  std::vector<system::Input<T>> inputs_;  // arrays at points, with their sides
  Buffer<T> arrays_, products_at_points_, array_spectra_, product_spectra_;
};

}  // namespace gridstride
