#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// The waves e^{iθ·x/h} for which a matrix of differences is looked at.
namespace gridstride::equations {

using Offset = std::array<std::int8_t, 3>;

/// What pairs ±k of offsets make of each wave: numbers of the grid, found once.
class Waves {
 public:
  /// What stands at a pair: 2·even·(cos θ·k − 1) + 2i·odd·sin θ·k.
  struct Factors {
    double even = 0, odd = 0;
  };
  /// Pairs, each by its place among the offsets, whose factors count as a sum alone.
  struct Sum {
    bool is_odd = false;
    std::vector<std::size_t> offsets;
    auto operator<=>(Sum const&) const = default;
  };

  Waves() : Waves({}, {}) {}
  /// θ = π·i/n along each axis that an offset reaches along, n = 32, 16 or 8 for one, two or three
  /// of these; half of all, since the other half has the conjugate factors, and of those for which
  /// all `sums` are the same but for rounding one.
  Waves(std::vector<Offset> const& offsets, std::vector<Sum> const& sums);

  std::size_t size() const { return places_.size(); }
  std::array<double, 3> const& place(std::size_t wave) const { return places_[wave]; }
  /// Of all offsets.
  std::span<Factors const> factors(std::size_t wave) const {
    return std::span(factors_).subspan(wave * offsets_, offsets_);
  }

  /// Calls `body` for each wave, which takes about so long; several threads share these where
  /// that is more than it takes to wake them.
  void for_each(double nanoseconds, std::function<void(std::size_t)> const& body) const;

 private:
  std::size_t offsets_;
  std::vector<std::array<double, 3>> places_;
  std::vector<Factors> factors_;  // wave after wave
};

}  // namespace gridstride::equations
