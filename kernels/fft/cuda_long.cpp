// Complex lines that no block can hold are a matrix of two or three axes, each of them a pass of the
// same kernel: results k of one are turned by exp(−2πi·k·t/N) before the next, where t is what is
// left of the index (D. H. Bailey, J. Supercomputing 4, 1990, 23–35), and the last writes them to
// their places. A convolution that no block can hold is a matrix of two axes, whose rows go there and
// back in one pass.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/fft/cuda_launch.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/fft/cuda_steps.hpp"
#include "kernels/fft/host.hpp"

namespace gridstride::fft {

template <class T>
std::vector<std::int64_t> axes_of_line(Stream& stream, std::int64_t points, int most) {
  auto const fits = [&](std::int64_t along) {
    constexpr std::size_t sector = 32;
    return is_smooth(along) && width_of<T>(stream, {.task = Task::forward,
                                                    .kind = LineKind::complex,
                                                    .points = along,
                                                    .neighbours = true}) >= sector;
  };
  for (int parts = 2; parts <= most; ++parts) {
    // The least divisor that is not below the root.
    auto along =
        static_cast<std::int64_t>(std::pow(static_cast<double>(points), 1.0 / parts) * (1 - 1e-12));
    while (along < 1 || points % along != 0) ++along;
    if (!fits(along)) continue;
    if (parts == 2 && fits(points / along)) return {along, points / along};
    if (parts == 2) continue;
    auto rest = axes_of_line<T>(stream, points / along, parts - 1);
    if (rest.empty()) continue;
    rest.insert(rest.begin(), along);
    return rest;
  }
  return {};
}

template std::vector<std::int64_t> axes_of_line<float>(Stream&, std::int64_t, int);
template std::vector<std::int64_t> axes_of_line<double>(Stream&, std::int64_t, int);

namespace {

/// Lines that go together: as many as the second level of cache keeps between steps, of `size`
/// numbers each.
template <class T>
long long lines_together(LineWork<T> const& work, std::int64_t size) {
  constexpr std::int64_t cached_bytes = std::int64_t{20} << 20;
  std::int64_t const fit = cached_bytes / (size * std::int64_t{2 * sizeof(T)});
  return std::clamp<long long>(fit, 1, work.counts[0]);
}

template <class T>
void launch_step(Stream& stream, LineWork<T>& step, Launch const& how) {
  set_lines(step);
  launch(stream, step, how);
}

/// Complex lines that no block can hold.
template <class T>
class LongLines {
 public:
  LongLines(Stream& stream, Launch const& how, std::vector<std::int64_t> const& axes)
      : stream_(stream), how_(how), axes_(axes), points_(how.points) {
    how_.neighbours = true;
  }

  void run(LineWork<T> const& work) {
    long long const together = lines_together(work, points_);
    Buffer<T> memory(stream_, MemorySpace::device,
                     static_cast<std::size_t>(2 * together * points_));
    for_slices(work, together, [&](LineWork<T> const& slice) {
      first(slice, memory.data());
      if (axes_.size() == 3) middle(slice.counts[0], memory.data());
      last(slice, memory.data());
    });
  }

 private:
  /// What is left of the index when the first axes of it are gone.
  std::int64_t rest(std::size_t axis) const {
    return axis + 1 == axes_.size() ? 1 : axes_[axis + 1] * rest(axis + 1);
  }
  void launch_along(std::size_t axis, LineWork<T>& step) {
    how_.points = axes_[axis];
    how_.twists = axis + 1 < axes_.size();
    how_.crosses = !how_.twists;
    launch_step(stream_, step, how_);
  }

  void first(LineWork<T> const& work, T* memory) {
    long long const left = rest(0);
    auto step = step_of(work.in, left * work.in_stride, memory, left);
    set_axis(step, 0, left, work.in_stride, 1);
    set_axis(step, 1, work.counts[0], work.in_strides[0], points_);
    set_twist(points_, 1, step);
    launch_along(0, step);
  }
  void middle(long long lines, T* memory) {
    long long const left = rest(1);
    auto step = step_of<T>(memory, left, memory, left);
    set_axis(step, 0, left, 1, 1);
    set_axis(step, 1, axes_[0], rest(0), rest(0));
    set_axis(step, 2, lines, points_, points_);
    set_twist(points_, axes_[0], step);
    launch_along(1, step);
  }
  /// Results are counted with the first axis fastest.
  void last(LineWork<T> const& work, T const* memory) {
    std::size_t const axis = axes_.size() - 1;
    auto step = step_of(memory, 1, work.out, points_ / axes_[axis] * work.out_stride);
    set_axis(step, 0, axes_[0], rest(0), work.out_stride);
    if (axis == 2) set_axis(step, 1, axes_[1], rest(1), axes_[0] * work.out_stride);
    set_axis(step, 2, work.counts[0], points_, work.out_strides[0]);
    launch_along(axis, step);
  }

  Stream& stream_;
  Launch how_;
  std::vector<std::int64_t> axes_;
  std::int64_t points_;
};

/// The matrix of the shortest time for a convolution of at least so many points.
template <class T>
std::vector<std::int64_t> axes_of_convolution(Stream& stream, std::int64_t least) {
  std::vector<std::int64_t> best;
  double shortest = 0;
  for (std::int64_t length = next_smooth(least); length <= least + least / 8;
       length = next_smooth(length + 1)) {
    auto const axes = axes_of_line<T>(stream, length, 2);
    if (axes.empty()) continue;
    double work = 0;
    for (auto const points : axes)
      work += block_plan(needs_of<T>(stream, {.task = Task::forward,
                                              .kind = LineKind::complex,
                                              .points = points,
                                              .neighbours = true}))
                  ->work;
    work *= static_cast<double>(length);
    if (!best.empty() && work >= shortest) continue;
    best = axes;
    shortest = work;
  }
  return best;
}

/// The axes of a line that no block holds, or of its convolution. Kept: the search takes longer than
/// many a transform.
template <class T>
std::vector<std::int64_t> const& long_axes(Stream& stream, std::int64_t points) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::int64_t>, std::vector<std::int64_t>> known;
  std::lock_guard const lock(mutex);
  auto const [found, is_new] = known.try_emplace({stream.device().ordinal(), points});
  if (is_new)
    found->second = is_smooth(points) ? axes_of_line<T>(stream, points, 3)
                                      : axes_of_convolution<T>(stream, 2 * points - 1);
  return found->second;
}

/// Complex lines by a convolution that no block holds: along the columns of its matrix, there and
/// back along its rows, and back along the columns.
template <class T>
class LongConvolutions {
 public:
  LongConvolutions(Stream& stream, Launch const& how, std::vector<std::int64_t> const& axes)
      : stream_(stream), how_(how), rows_(axes[0]), columns_(axes[1]) {}

  void run(LineWork<T> const& work) {
    std::int64_t const size = rows_ * columns_;
    long long const together = lines_together(work, size);
    Buffer<T> memory(stream_, MemorySpace::device, static_cast<std::size_t>(2 * together * size));
    for_slices(work, together, [&](LineWork<T> const& slice) { run(slice, memory.data(), size); });
  }

 private:
  void run(LineWork<T> const& work, T* memory, long long size) {
    auto step = step_of(work.in, columns_ * work.in_stride, memory, columns_);
    set_axis(step, 0, columns_, work.in_stride, 1);
    set_axis(step, 1, work.counts[0], work.in_strides[0], size);
    go(step, rows_, true, ConvolutionStep::chirp);

    step = step_of<T>(memory, 1, memory, 1);
    set_axis(step, 0, rows_, columns_, columns_);
    set_axis(step, 1, work.counts[0], size, size);
    go(step, columns_, false, ConvolutionStep::filter);

    step = step_of<T>(memory, columns_, work.out, columns_ * work.out_stride);
    set_axis(step, 0, columns_, 1, work.out_stride);
    set_axis(step, 1, work.counts[0], size, work.out_strides[0]);
    go(step, rows_, true, ConvolutionStep::back);
  }
  void go(LineWork<T>& step, std::int64_t points, bool neighbours, ConvolutionStep which) {
    set_twist(rows_ * columns_, 1, step);
    set_convolution(stream_, how_.points, rows_, columns_, step);
    launch_step(stream_, step,
                {.task = how_.task,
                 .kind = how_.kind,
                 .points = points,
                 .neighbours = neighbours,
                 .convolution_step = which});
  }

  Stream& stream_;
  Launch how_;
  std::int64_t rows_, columns_;
};

}  // namespace

template <class T>
bool launch_long(Stream& stream, LineWork<T> const& work, Launch const& how) {
  constexpr std::int64_t longest = std::int64_t{1} << 31;  // roots are counted by 32 bits
  if (how.points > longest) return false;
  auto const& axes = long_axes<T>(stream, how.points);
  if (axes.empty()) return false;
  if (is_smooth(how.points))
    LongLines<T>(stream, how, axes).run(work);
  else
    LongConvolutions<T>(stream, how, axes).run(work);
  return true;
}

template bool launch_long(Stream&, LineWork<float> const&, Launch const&);
template bool launch_long(Stream&, LineWork<double> const&, Launch const&);

}  // namespace gridstride::fft
