#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "bench/workloads.hpp"
#include "kernels/tridiagonal/tridiagonal.hpp"

namespace gridstride::bench {

/// The systems of a workload of `tridiagonal` or `pentadiagonal`.
struct Systems {
  std::string_view operation;
  std::int64_t unknowns;  ///< of a system; 0 for all of them
  bool across = false;    ///< systems lie side by side
  bool shared = false;    ///< all have the same coefficients
  bool dominant = true;

  tridiagonal::Shape shape(std::int64_t size) const {
    std::int64_t const each = unknowns > 0 ? unknowns : size;
    auto result = across ? tridiagonal::interleaved(each, size / each)
                         : tridiagonal::contiguous(each, size / each);
    if (shared) result.coefficients = {1, {0, 0, 0}};
    return result;
  }
  /// What becomes of a size that is wanted.
  std::int64_t (*rounded() const)(std::int64_t) {
    if (unknowns == 0) return [](std::int64_t wanted) { return std::max<std::int64_t>(wanted, 1); };
    return [](std::int64_t wanted) { return (wanted + 1023) / 1024 * 1024; };
  }
};

/// How accurate the systems of a solve are that has left `x`: it is run once more, with every row
/// judged whether it is dominant or not, and has to come to the same bits.
template <class T, class Run>
Accuracy judged_again(Stream& stream, std::span<T const> x,
                      std::span<tridiagonal::Findings> findings, Run const& run) {
  auto const solution = [&] {
    std::vector<T> values(x.size());
    copy_async(std::span(values), x, stream);
    stream.synchronize();
    return values;
  };
  auto const measured = solution();
  tridiagonal::Findings found{0, 1, 0};
  copy_async(findings, std::span(&found, 1), stream);
  run();
  copy_async(std::span(&found, 1), findings, stream);
  zero_async(findings, stream);
  bool const is_solved = solution() == measured && found.bad_pivot == 0;
  return {is_solved ? std::bit_cast<double>(found.backward_error)
                    : std::numeric_limits<double>::infinity(),
          256 * double{std::numeric_limits<T>::epsilon()}};
}

}  // namespace gridstride::bench
