#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "equations/stability.hpp"

/// Equations that make waves grow the faster the shorter they are, as diffusion with the wrong sign
/// does: on a finer grid they grow faster still, without end, so that no scheme comes closer to
/// anything (they are ill-posed in the sense of Hadamard).
namespace gridstride::equations {

struct IllPosed {
  std::vector<std::size_t> components;  ///< that act on each other
  double growth;                        ///< 1/s, on the grid
};
inline constexpr int finer_by = 8;

/// From what waves do on the grid, and, where that looks like it, on a grid that is finer: they have
/// to grow nearly in inverse proportion to the spacing, or faster. Where coefficients are no numbers
/// they have to nearly as its inverse square, and a wave of two points has to grow fastest, whatever
/// the coefficients are in their ranges. For a linear equation by itself it is enough that a wave of
/// two points does: what may damp shorter ones is not on the grid.
std::optional<IllPosed> find_ill_posed(
    std::vector<Linearisation::WaveGrowth> const& here,
    std::function<std::vector<Linearisation::WaveGrowth>()> const& on_finer);

}  // namespace gridstride::equations
