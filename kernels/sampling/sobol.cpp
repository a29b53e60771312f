#include "kernels/sampling/sobol.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <stdexcept>

#include "kernels/sampling/philox.hpp"

namespace gridstride::quadrature {
namespace {

/// A row of the table: the polynomial x^s + a_1·x^(s−1) + … + a_(s−1)·x + 1 with the digits of
/// `coefficients` a_1 … a_(s−1), and m_1 … m_s.
struct Axis {
  int degree;
  unsigned coefficients;
  std::array<std::uint32_t, 7> initial;
};

/// Axes 2 to 20 of new-joe-kuo-6; the first is van der Corput's sequence.
constexpr std::array<Axis, 19> axes = {{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
}};
constexpr int max_axes = static_cast<int>(axes.size()) + 1;

using Directions = std::array<std::uint32_t, sobol_bits>;

/// v_j = m_j·2^(32−j); beyond the initial numbers by the recurrence
/// v_j = a_1·v_(j−1) ⊕ … ⊕ a_(s−1)·v_(j−s+1) ⊕ v_(j−s) ⊕ v_(j−s)·2^-s.
constexpr Directions directions_of(int axis) {
  Directions v{};
  if (axis == 0) {
    for (int j = 0; j < sobol_bits; ++j) v[j] = 0x80000000u >> j;
    return v;
  }
  Axis const& row = axes[axis - 1];
  int const s = row.degree;
  for (int j = 0; j < sobol_bits; ++j) {
    if (j < s) {
      v[j] = row.initial[j] << (31 - j);
      continue;
    }
    v[j] = v[j - s] ^ v[j - s] >> s;
    for (int i = 1; i < s; ++i)
      if (row.coefficients >> (s - 1 - i) & 1) v[j] ^= v[j - i];
  }
  return v;
}

constexpr auto all_directions = [] {
  std::array<Directions, max_axes> all{};
  for (int axis = 0; axis < max_axes; ++axis) all[axis] = directions_of(axis);
  return all;
}();

/// The rows of a random lower triangular matrix with ones on the diagonal, and the shift.
struct Scrambling {
  Directions rows;
  std::uint32_t shift;
};

Scrambling random_scrambling(std::uint64_t seed, int replica, int axis) {
  constexpr int blocks = 9;  // of four words: 32 rows and the shift
  Scrambling result{};
  auto const item = static_cast<unsigned long long>(replica * max_axes + axis);
  for (int b = 0; b < blocks; ++b) {
    PhiloxBlock const block =
        philox_block(item, static_cast<unsigned>(b), philox_key(seed), PhiloxTag::scrambling);
    if (b == blocks - 1) {
      result.shift = block.word[0];
      break;
    }
    for (int k = 0; k < 4; ++k) {
      int const j = 4 * b + k;
      std::uint32_t const diagonal = 0x80000000u >> j;
      result.rows[j] = diagonal | (block.word[k] & ~(2 * diagonal - 1));
    }
  }
  return result;
}

/// The digits of M·v: digit j is the parity of row j and v.
std::uint32_t scramble(Directions const& rows, std::uint32_t v) {
  std::uint32_t result = 0;
  for (int j = 0; j < sobol_bits; ++j)
    result |= static_cast<std::uint32_t>(std::popcount(rows[j] & v) & 1) << (31 - j);
  return result;
}

}  // namespace

std::uint32_t sobol_direction(int axis, int bit) {
  if (axis < 0 || axis >= max_axes || bit < 0 || bit >= sobol_bits)
    throw std::invalid_argument(
        fmt::format("sobol_direction: there is no number {} of axis {} (they are {} and {})", bit,
                    axis, sobol_bits, max_axes));
  return all_directions[static_cast<std::size_t>(axis)][static_cast<std::size_t>(bit)];
}

std::vector<std::uint32_t> scrambled_sobol(int dimensions, std::uint64_t seed, int replica) {
  if (dimensions < 1 || dimensions > max_axes)
    throw std::invalid_argument(
        fmt::format("scrambled_sobol: {} dimensions (it has 1 to {})", dimensions, max_axes));
  auto const stride = static_cast<std::size_t>(sobol_stride(dimensions));
  std::vector<std::uint32_t> numbers(sobol_rows * stride);
  for (int axis = 0; axis < dimensions; ++axis) {
    Scrambling const scrambling = random_scrambling(seed, replica, axis);
    auto const column = static_cast<std::size_t>(axis);
    for (std::size_t bit = 0; bit < sobol_bits; ++bit)
      numbers[bit * stride + column] = scramble(scrambling.rows, all_directions[column][bit]);
    numbers[sobol_shift_row * stride + column] = scrambling.shift;
  }
  return numbers;
}

}  // namespace gridstride::quadrature
