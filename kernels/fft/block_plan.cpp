#include "kernels/fft/block_plan.hpp"

#include <algorithm>
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

constexpr int most_numbers = 16;               ///< of a thread
constexpr std::size_t wide = 64, sector = 32;  ///< bytes that lie together

/// `lines` are those that a block should have at least.
void consider(std::vector<int> const& radices, std::int64_t points, int lines, Passes& best) {
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
    // Of those that take the same, the one with fewer numbers for a thread, and alike radices.
    int const sum = std::accumulate(radices.begin(), radices.end(), 0);
    work *= 1 + 1e-3 * static_cast<double>(most) + 1e-4 * sum;
    // Large blocks wait for each other's exchanges.
    if (threads * lines > 256) work *= 1.05;
    if (best.radices.empty() || radices.size() < best.radices.size() || work < best.work)
      best = {radices, static_cast<int>(threads), work};
  }
}

void search(std::int64_t rest, std::vector<int>& radices, std::int64_t points, int lines,
            Passes& best) {
  if (rest == 1 && !radices.empty()) return consider(radices, points, lines, best);
  if (!best.radices.empty() && radices.size() >= best.radices.size()) return;
  for (int radix = radices.empty() ? most_numbers : radices.back(); radix > 1; --radix) {
    if (rest % radix != 0) continue;
    radices.push_back(radix);
    search(rest / radix, radices, points, lines, best);
    radices.pop_back();
  }
}

Passes passes_of_points(std::int64_t points, int lines) {
  if (points == 1) return {{1}, 1, 1};
  Passes best;
  std::vector<int> radices;
  search(points, radices, points, lines, best);
  return best;
}

/// How results of the first radix r are kept in different banks while neighbouring lanes write them,
/// r apart: one number more after each r makes that an odd distance. Where r is even and no power of
/// two, whole division would take longer than the conflicts, and one after each 4 does nearly as well.
int padding_of(std::int64_t points, Passes const& passes) {
  int const first = passes.radices.front();
  if (first % 2 != 0) return 0;
  if ((first & (first - 1)) == 0) return first;
  return points <= 2048 ? 4 : 16;
}

std::size_t line_bytes(std::int64_t points, Passes const& passes, std::size_t number_bytes) {
  int const padding = padding_of(points, passes);
  std::int64_t const more = padding > 0 ? points / padding + 1 : 0;
  return static_cast<std::size_t>(points + more) * number_bytes;
}

/// Lines one after the other: small blocks, of which many overlap what they wait for.
int lines_in_a_row(std::size_t bytes, BlockNeeds const& needs, int threads) {
  int lines = std::max(1, 128 / threads);
  while (lines > 1 && static_cast<std::size_t>(lines) * bytes > needs.shared_bytes / 2) lines /= 2;
  return lines;
}

/// Lines side by side: as many as fill half a line of the cache, or else sectors.
int lines_side_by_side(std::size_t bytes, BlockNeeds const& needs, int threads) {
  auto const of_bytes = [&](std::size_t width) {
    return static_cast<int>(std::max<std::size_t>(1, width / needs.element_bytes));
  };
  int const most_threads = needs.number_bytes > 8 ? 512 : 1024;
  int lines = of_bytes(wide);
  while (lines * threads < 64) lines *= 2;
  // Two blocks of a multiprocessor overlap what they wait for.
  while (lines > of_bytes(sector) &&
         (lines * threads > most_threads ||
          static_cast<std::size_t>(lines) * bytes > needs.shared_bytes / 2))
    lines /= 2;
  while (lines > 1 &&
         (lines * threads > 1024 || static_cast<std::size_t>(lines) * bytes > needs.shared_bytes))
    lines /= 2;
  return lines;
}

}  // namespace

std::optional<BlockPlan> block_plan(BlockNeeds const& needs) {
  bool const convolves = !is_smooth(needs.points);
  int const least_lines = needs.neighbours ? static_cast<int>(wide / needs.element_bytes) : 1;
  Passes passes;
  std::int64_t points = needs.points;
  if (convolves) {
    // The shortest is not always the one of the fewest passes.
    std::int64_t const least = 2 * needs.points - 1;
    for (std::int64_t length = next_smooth(least); length <= least + least / 8 + 8;
         length = next_smooth(length + 1)) {
      auto const candidate = passes_of_points(length, least_lines);
      if (candidate.radices.empty() || (!passes.radices.empty() && candidate.work >= passes.work))
        continue;
      passes = candidate;
      points = length;
    }
  } else {
    passes = passes_of_points(points, least_lines);
  }
  if (passes.radices.empty()) return std::nullopt;
  std::size_t const bytes = line_bytes(points, passes, needs.number_bytes);
  if (bytes > needs.shared_bytes) return std::nullopt;
  int const lines = needs.neighbours ? lines_side_by_side(bytes, needs, passes.threads)
                                     : lines_in_a_row(bytes, needs, passes.threads);
  return BlockPlan{.points = points,
                   .radices = passes.radices,
                   .line_threads = passes.threads,
                   .block_lines = lines,
                   .padding = padding_of(points, passes),
                   .convolves = convolves,
                   .shared_bytes = static_cast<std::size_t>(lines) * bytes,
                   .work = passes.work / static_cast<double>(points)};
}

}  // namespace gridstride::fft
