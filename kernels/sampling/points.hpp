#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/integrand/integrand.hpp"
#include "kernels/sampling/philox.hpp"
#include "kernels/sampling/sample.hpp"

/// Samples on the host, a block of them at a time.
namespace gridstride::quadrature {

/// The words of `count` samples from number `first` on, which begins a group. `words` has room for
/// whole groups.
void random_words(PhiloxKey key, int words_per_sample, std::int64_t first, std::int64_t count,
                  std::span<unsigned> words);

/// The words that coordinate `axis` of sample `index` comes from.
template <class Real>
std::array<unsigned, words_per_uniform<Real>> words_of(PhiloxKey key, int dimensions,
                                                       std::int64_t index, int axis) {
  constexpr int each = words_per_uniform<Real>;
  int const group = samples_of_group(dimensions * each);
  int const first = (static_cast<int>(index % group) * dimensions + axis) * each;
  std::array<unsigned, each> words{};
  for (int place = first; place < first + each; ++place)
    words[static_cast<std::size_t>(place - first)] =
        philox_block(static_cast<std::uint64_t>(index / group), static_cast<unsigned>(place / 4),
                     key)
            .word[place % 4];
  return words;
}

/// Up to 256 points, column by column, and the integrand there.
class PointBlock {
 public:
  static constexpr std::int64_t capacity = 256;

  PointBlock(HostIntegrand const& integrand, std::span<double const> parameters);

  std::span<double> axis(int k) { return columns_[static_cast<std::size_t>(k)]; }
  /// f at the first `count` points, valid until the next call.
  std::span<double const> evaluate(std::int64_t count);

 private:
  HostIntegrand const& integrand_;
  std::vector<std::array<double, capacity>> columns_;
  std::vector<double const*> variables_;
  std::array<double, capacity> values_{};
};

}  // namespace gridstride::quadrature
