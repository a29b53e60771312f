// How much of x products have at work: a GPU takes rows in their order, some thousand blocks at a time.

#include "kernels/sparse/locality.hpp"

#include <algorithm>
#include <vector>

#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

template <class T>
std::int64_t vectors_in_cache(Csr<T> const& matrix) {
  constexpr std::int64_t cache_bytes = std::int64_t{32} << 20, most = 8, line_bytes = 128;
  constexpr std::int64_t at_work = std::int64_t{1} << 21, most_looks = 16;  // elements
  constexpr std::int64_t of_line = line_bytes / sizeof(T);
  std::int64_t const elements = matrix.nonzeros();
  std::int64_t const looks = std::clamp<std::int64_t>(elements / at_work, 1, most_looks);
  std::vector<std::int64_t> lines(static_cast<std::size_t>(looks));
  parallel_for(looks, at_work, [&](std::int64_t look) {
    std::vector<bool> touched(static_cast<std::size_t>(matrix.columns / of_line + 1));
    std::int64_t const first =
        looks > 1 ? look * (elements - at_work) / (looks - 1) : std::int64_t{0};
    std::int64_t count = 0;
    for (std::int64_t k = first; k < std::min(elements, first + at_work); ++k) {
      auto const line =
          static_cast<std::size_t>(matrix.column_indices[static_cast<std::size_t>(k)] / of_line);
      count += touched[line] ? 0 : 1;
      touched[line] = true;
    }
    lines[static_cast<std::size_t>(look)] = count;
  });
  std::int64_t const largest = std::max<std::int64_t>(1, std::ranges::max(lines));
  return std::clamp<std::int64_t>(cache_bytes / (largest * line_bytes), 1, most);
}

template std::int64_t vectors_in_cache(Csr<float> const&);
template std::int64_t vectors_in_cache(Csr<double> const&);

}  // namespace gridstride::sparse
