#pragma once

#include <bit>
#include <limits>
#include <span>
#include <vector>

#include "bench/workloads.hpp"
#include "kernels/tridiagonal/tridiagonal.hpp"

namespace gridstride::bench {

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
