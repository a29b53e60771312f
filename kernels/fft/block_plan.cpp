#include "kernels/fft/block_plan.hpp"

#include <algorithm>

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

constexpr int most_numbers = 16;  ///< of a thread

void consider(std::vector<int> const& radices, std::int64_t points, Passes& best) {
  if (!best.radices.empty() && radices.size() > best.radices.size()) return;
  for (int const by : radices) {
    std::int64_t const threads = points / by;
    if (threads > 1024) continue;
    double work = 0;
    std::int64_t most = 0;
    for (int const radix : radices) {
      std::int64_t const each = (points / radix + threads - 1) / threads;
      work += static_cast<double>(threads * each * radix);
      most = std::max(most, each * radix);
    }
    if (most > most_numbers) continue;
    // Of two that take the same, the one with fewer numbers for a thread.
    work *= 1 + 1e-3 * static_cast<double>(most);
    if (best.radices.empty() || radices.size() < best.radices.size() || work < best.work)
      best = {radices, static_cast<int>(threads), work};
  }
}

void search(std::int64_t rest, std::vector<int>& radices, std::int64_t points, Passes& best) {
  if (rest == 1 && !radices.empty()) return consider(radices, points, best);
  if (!best.radices.empty() && radices.size() >= best.radices.size()) return;
  for (int radix = radices.empty() ? most_numbers : radices.back(); radix > 1; --radix) {
    if (rest % radix != 0) continue;
    radices.push_back(radix);
    search(rest / radix, radices, points, best);
    radices.pop_back();
  }
}

Passes passes_of_points(std::int64_t points) {
  if (points == 1) return {{1}, 1, 1};
  Passes best;
  std::vector<int> radices;
  search(points, radices, points, best);
  return best;
}

std::size_t line_bytes(std::int64_t points, std::size_t number_bytes) {
  return static_cast<std::size_t>(points + points / 16 + 1) * number_bytes;
}

int lines_of_block(BlockNeeds const& needs, std::int64_t points, int threads) {
  // Two blocks of a multiprocessor overlap what they wait for.
  std::size_t const bytes = line_bytes(points, needs.number_bytes);
  int const most_threads = needs.number_bytes > 8 ? 512 : 1024;
  auto const fits = [&](int lines) {
    return lines * threads <= most_threads &&
           static_cast<std::size_t>(lines) * bytes <= needs.shared_bytes / 2;
  };
  constexpr std::size_t line_of_cache = 128, sector = 32;
  if (!needs.neighbours) {
    int lines = std::max(1, 128 / threads);
    while (lines > 1 && !fits(lines)) lines /= 2;
    return lines;
  }
  auto lines = static_cast<int>(line_of_cache / needs.element_bytes);
  while (lines * threads < 64) lines *= 2;
  auto const least = static_cast<int>(std::max<std::size_t>(1, sector / needs.element_bytes));
  while (lines > least && !fits(lines)) lines /= 2;
  while (lines > 1 &&
         (lines * threads > 1024 || static_cast<std::size_t>(lines) * bytes > needs.shared_bytes))
    lines /= 2;
  return lines;
}

}  // namespace

std::optional<BlockPlan> block_plan(BlockNeeds const& needs) {
  bool const convolves = !is_smooth(needs.points);
  Passes passes;
  std::int64_t points = needs.points;
  if (convolves) {
    // The shortest is not always the one of the fewest passes.
    std::int64_t const least = 2 * needs.points - 1;
    for (std::int64_t length = next_smooth(least); length <= least + least / 8 + 8;
         length = next_smooth(length + 1)) {
      auto const candidate = passes_of_points(length);
      if (candidate.radices.empty() || (!passes.radices.empty() && candidate.work >= passes.work))
        continue;
      passes = candidate;
      points = length;
    }
  } else {
    passes = passes_of_points(points);
  }
  if (passes.radices.empty() || line_bytes(points, needs.number_bytes) > needs.shared_bytes)
    return std::nullopt;
  int const lines = lines_of_block(needs, points, passes.threads);
  return BlockPlan{points,
                   passes.radices,
                   passes.threads,
                   lines,
                   convolves,
                   static_cast<std::size_t>(lines) * line_bytes(points, needs.number_bytes),
                   passes.work / static_cast<double>(points)};
}

}  // namespace gridstride::fft
