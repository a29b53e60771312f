#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// How a block of threads transforms lines that stay on the chip (blocks.cuh); for the family's own
/// files only.
namespace gridstride::fft {

struct BlockPlan {
  std::int64_t points;       ///< of the complex transform
  std::vector<int> radices;  ///< of its passes
  int line_threads, block_lines;
  int padding;     ///< numbers of a line in shared memory after which one is left out; 0: none
  bool convolves;  ///< the transform is a convolution's, Bluestein's or Rader's
  bool reorders;   ///< Rader's: of a prime number of points, and one point less
  std::size_t shared_bytes;
  double work;  ///< numbers that threads have registers for, for each point, in all passes

  int threads() const { return line_threads * block_lines; }
};

/// What decides on a plan.
struct BlockNeeds {
  std::int64_t points;        ///< of a line's complex transform
  bool neighbours;            ///< lines lie closer together than their elements
  bool crosses = false;       ///< but on the way in
  std::size_t element_bytes;  ///< of the arrays
  std::size_t number_bytes;   ///< of a complex number
  std::size_t shared_bytes;   ///< that a block may have
};

/// Nothing where the chip does not hold a line.
std::optional<BlockPlan> block_plan(BlockNeeds const& needs);

/// Of two passes in one kernel (pair.cuh): of as many threads.
struct PairPlan {
  BlockPlan first, second;
};

/// Nothing where a convolution is needed, or no number of threads suits both.
std::optional<PairPlan> pair_plan(BlockNeeds const& first, BlockNeeds const& second);

}  // namespace gridstride::fft
