#include "kernels/sampling/points.hpp"

#include "kernels/support/vector_widths.hpp"

namespace gridstride::quadrature {
namespace {

GRIDSTRIDE_VECTOR_WIDTHS void philox_groups(PhiloxKey key, std::uint64_t first, std::int64_t groups,
                                            int parts, unsigned* words) {
  for (std::int64_t g = 0; g < groups; ++g) {
    for (int part = 0; part < parts; ++part) {
      PhiloxBlock const block =
          philox_block(first + static_cast<std::uint64_t>(g), static_cast<unsigned>(part), key);
      for (int k = 0; k < 4; ++k) words[(g * parts + part) * 4 + k] = block.word[k];
    }
  }
}

}  // namespace

void random_words(PhiloxKey key, int words_per_sample, std::int64_t first, std::int64_t count,
                  std::span<unsigned> words) {
  int const group = samples_of_group(words_per_sample);
  philox_groups(key, static_cast<std::uint64_t>(first / group), (count + group - 1) / group,
                group * words_per_sample / 4, words.data());
}

PointBlock::PointBlock(HostIntegrand const& integrand, std::span<double const> parameters)
    : integrand_(integrand),
      columns_(static_cast<std::size_t>(integrand.dimensions() + integrand.parameters())) {
  auto const first = columns_.begin() + integrand.dimensions();
  for (std::size_t k = 0; k < parameters.size(); ++k)
    (first + static_cast<std::ptrdiff_t>(k))->fill(parameters[k]);
  for (auto const& column : columns_) variables_.push_back(column.data());
}

std::span<double const> PointBlock::evaluate(std::int64_t count) {
  integrand_.evaluate(variables_, count, values_.data());
  return {values_.data(), static_cast<std::size_t>(count)};
}

}  // namespace gridstride::quadrature
