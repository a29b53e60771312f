#include "kernels/fft/block_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "kernels/fft/host.hpp"

namespace gridstride::fft {

namespace {

/// Passes of a number of points, and the threads for them.
struct Passes {
  std::vector<int> radices;
  int threads = 0;
  /// Numbers that threads have registers for, those that idle ones would have included, in all
  /// passes: what a transform takes.
  double work = 0;
};

constexpr int most_radix = 16;
constexpr std::int64_t most_threads = 1024, registers = 65536;  ///< of a block, of a multiprocessor
constexpr std::size_t wide = 128, sector = 32;                  ///< bytes that lie together

/// What decides on passes.
struct Limits {
  int lines;                      ///< that a block should have at least
  int words;                      ///< of 4 bytes, of a number
  int many_threads;               ///< blocks of more wait for each other's exchanges
  int most_numbers = most_radix;  ///< of a thread
  int largest = most_radix;       ///< radix
  bool has_registers = false;     ///< whether there must be registers for all numbers of a block
};

/// The passes that take the least, as few as there can be.
class Search {
 public:
  Search(std::int64_t points, Limits const& limits) : points_(points), limits_(limits) {}

  Passes run() {
    if (points_ == 1) return {{1}, 1, 1};
    go(points_);
    return best_;
  }

 private:
  void go(std::int64_t rest) {
    if (rest == 1) return consider();
    if (!best_.radices.empty() && radices_.size() >= best_.radices.size()) return;
    for (int radix = radices_.empty() ? limits_.largest : radices_.back(); radix > 1; --radix) {
      if (rest % radix != 0) continue;
      radices_.push_back(radix);
      go(rest / radix);
      radices_.pop_back();
    }
  }
  void consider() {
    if (!best_.radices.empty() && radices_.size() > best_.radices.size()) return;
    for (int const by : radices_)
      for (int share = 1; share * limits_.largest <= limits_.most_numbers; ++share)
        consider((points_ / by + share - 1) / share);
  }
  void consider(std::int64_t threads) {
    if (threads > most_threads) return;
    double work = 0;
    std::int64_t most = 0;
    for (int const radix : radices_) {
      std::int64_t const each = (points_ / radix + threads - 1) / threads;
      work += static_cast<double>(threads * each * radix);
      most = std::max(most, each * radix);
    }
    if (most > limits_.most_numbers) return;
    std::int64_t const words = most * limits_.words;
    if (limits_.has_registers && threads * (words + 48) > registers) return;
    // Of those that take the same, the one whose threads have some 32 words in registers, which are
    // enough to have under way and leave room for many threads, and alike radices.
    int const sum = std::accumulate(radices_.begin(), radices_.end(), 0);
    work *= 1 + 2.5e-4 * static_cast<double>(std::abs(words - 32)) + 1e-4 * sum;
    if (threads * limits_.lines > limits_.many_threads) work *= 1.05;
    if (best_.radices.empty() || radices_.size() < best_.radices.size() || work < best_.work)
      best_ = {radices_, static_cast<int>(threads), work};
  }

  std::int64_t points_;
  Limits limits_;
  std::vector<int> radices_;
  Passes best_;
};

/// How results of the first radix r are kept in different banks while neighbouring lanes write them,
/// r apart: one number more after each r makes that an odd distance. Where r is even and no power of
/// two, division would take longer than the conflicts of many points.
int padding_of(std::int64_t points, Passes const& passes) {
  int const first = passes.radices.front();
  if (first % 2 != 0) return 0;
  return (first & (first - 1)) == 0 || points <= 2048 ? first : 16;
}

/// `points` are the numbers that a line has in shared memory.
std::size_t line_bytes(std::int64_t points, Passes const& passes, std::size_t number_bytes) {
  int const padding = padding_of(points, passes);
  std::int64_t const more = padding > 0 ? points / padding + 1 : 0;
  return static_cast<std::size_t>(points + more) * number_bytes;
}

/// Lines one after the other: small blocks, of which many overlap what they wait for.
int lines_in_a_row(std::size_t bytes, BlockNeeds const& needs, int threads) {
  int lines = threads <= 32 ? 64 / threads : std::max(1, 128 / threads);
  while (lines > 1 && static_cast<std::size_t>(lines) * bytes > needs.shared_bytes / 2) lines /= 2;
  return lines;
}

/// Lines side by side: as many as fill a line of the cache with their complex numbers; half as many
/// where they lie one after the other on the way in.
int wide_lines(BlockNeeds const& needs) {
  return static_cast<int>(wide / needs.number_bytes / (needs.crosses ? 2 : 1));
}

int lines_side_by_side(std::size_t bytes, BlockNeeds const& needs, int threads) {
  int const least = static_cast<int>(std::max<std::size_t>(1, sector / needs.element_bytes));
  int const many_threads = needs.number_bytes > 8 ? 512 : 1024;
  int lines = wide_lines(needs);
  while (lines * threads < 64) lines *= 2;
  // Two blocks of a multiprocessor overlap what they wait for.
  while (lines > least && (lines * threads > many_threads ||
                           static_cast<std::size_t>(lines) * bytes > needs.shared_bytes / 2))
    lines /= 2;
  while (lines > 1 && (lines * threads > most_threads ||
                       static_cast<std::size_t>(lines) * bytes > needs.shared_bytes))
    lines /= 2;
  return lines;
}

bool is_of_reals(BlockNeeds const& needs) { return needs.element_bytes < needs.number_bytes; }
bool is_of_float32(BlockNeeds const& needs) { return needs.number_bytes == 8; }

/// Of a transform without a convolution, as measured.
Passes direct_passes(std::int64_t points, Limits const& limits, BlockNeeds const& needs) {
  auto const found = [&](int numbers) {
    Limits with = limits;
    with.most_numbers = with.largest = numbers;
    return Search(points, with).run();
  };
  // Short real lines of float64 have much to do beside, for which twice the threads are worth a pass.
  bool const is_short = points <= 512 && std::has_single_bit(static_cast<unsigned>(points));
  if (is_of_reals(needs) && !is_of_float32(needs) && is_short) return found(most_radix / 2);
  auto passes = found(most_radix);
  // A pass less is worth twice the registers, if these hold small numbers.
  if (is_of_float32(needs) && !is_of_reals(needs)) {
    auto fewer = found(2 * most_radix);
    if (passes.radices.empty() || fewer.radices.size() < passes.radices.size()) return fewer;
  }
  return passes;
}

/// A block of 1024 threads has too few registers for all that they have under way.
void halve_threads(std::int64_t points, BlockNeeds const& needs, Passes& passes) {
  int const half = (passes.threads + 1) / 2;
  bool const suits = std::ranges::all_of(passes.radices, [&](int radix) {
    return (points / radix + half - 1) / half * radix <= 2 * most_radix;
  });
  if (suits && is_of_float32(needs) && !is_of_reals(needs)) passes.threads = half;
}

}  // namespace

std::optional<BlockPlan> block_plan(BlockNeeds const& needs) {
  bool const convolves = !is_smooth(needs.points);
  Limits const limits{.lines = needs.neighbours ? wide_lines(needs) : 1,
                      .words = static_cast<int>(needs.number_bytes / 4),
                      .many_threads = is_of_reals(needs) ? 512 : 256};
  Passes passes;
  std::int64_t points = needs.points;
  bool reorders = false;
  if (convolves && is_prime(points)) {
    // Half of what Bluestein's takes, if there are radices for it.
    for (int const numbers : {most_radix, 2 * most_radix})
      if (passes.radices.empty())
        passes = Search(points - 1, {.lines = limits.lines,
                                     .words = limits.words,
                                     .many_threads = limits.many_threads,
                                     .most_numbers = numbers,
                                     .has_registers = true})
                     .run();
    reorders = !passes.radices.empty();
    if (reorders) --points;
  }
  if (convolves && !reorders) {
    // The shortest is not always the one of the fewest passes.
    std::int64_t const least = 2 * needs.points - 1;
    for (std::int64_t length = next_smooth(least); length <= least + least / 8 + 8;
         length = next_smooth(length + 1)) {
      auto const candidate = Search(length, limits).run();
      if (candidate.radices.empty() || (!passes.radices.empty() && candidate.work >= passes.work))
        continue;
      passes = candidate;
      points = length;
    }
  } else if (!convolves) {
    passes = direct_passes(points, limits, needs);
  }
  if (passes.radices.empty()) return std::nullopt;
  std::size_t const bytes =
      line_bytes(reorders ? needs.points : points, passes, needs.number_bytes);
  if (bytes > needs.shared_bytes) return std::nullopt;
  int const lines = needs.neighbours ? lines_side_by_side(bytes, needs, passes.threads)
                                     : lines_in_a_row(bytes, needs, passes.threads);
  if (needs.neighbours && !convolves && passes.threads * lines > 512)
    halve_threads(points, needs, passes);
  return BlockPlan{.points = points,
                   .radices = passes.radices,
                   .line_threads = passes.threads,
                   .block_lines = lines,
                   .padding = padding_of(points, passes),
                   .convolves = convolves,
                   .reorders = reorders,
                   .shared_bytes = static_cast<std::size_t>(lines) * bytes,
                   .work = passes.work / static_cast<double>(points)};
}

std::optional<PairPlan> pair_plan(BlockNeeds const& first, BlockNeeds const& second) {
  auto one = block_plan(first), two = block_plan(second);
  if (!one || !two || one->convolves || two->convolves) return std::nullopt;
  int const step = std::lcm(one->line_threads, two->line_threads);
  auto const fit = [](BlockPlan& plan, BlockNeeds const& needs, int threads) {
    std::size_t const bytes = plan.shared_bytes / static_cast<std::size_t>(plan.block_lines);
    plan.block_lines = threads / plan.line_threads;
    plan.shared_bytes = static_cast<std::size_t>(plan.block_lines) * bytes;
    return !needs.neighbours ||
           static_cast<std::size_t>(plan.block_lines) * needs.number_bytes >= wide / 2;
  };
  for (int threads = step; threads <= 512; threads += step) {
    bool const is_wide = fit(*one, first, threads) && fit(*two, second, threads);
    if (std::max(one->shared_bytes, two->shared_bytes) > first.shared_bytes / 2) break;
    if (is_wide && threads >= 128) return PairPlan{*one, *two};
  }
  return std::nullopt;
}

}  // namespace gridstride::fft
