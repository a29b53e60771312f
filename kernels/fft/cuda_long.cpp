// Complex lines that no block can hold are a matrix of two or three axes, each of them a pass of the
// same kernel: results k of one are turned by exp(−2πi·k·t/N) before the next, where t is what is
// left of the index (D. H. Bailey, J. Supercomputing 4, 1990, 23–35), and the last writes them to
// their places. So are lines side by side of which a block can hold but few, in stripes that the
// second level of cache keeps between the two steps. A convolution that no block can hold is a matrix of two axes, whose rows go there
// and back in one pass.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/fft/cuda_launch.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/fft/host.hpp"

namespace gridstride::fft {

namespace {

/// What a stripe, or some lines, may have so that the second level of cache keeps it.
constexpr std::int64_t cached_bytes = std::int64_t{20} << 20;

/// The axes of a long line as a matrix: as few as will do, and alike; none where nothing will.
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

/// Complex lines that no block can hold, of one place along the slowest axis across.
template <class T>
class LongLines {
 public:
  LongLines(Stream& stream, LineWork<T> const& work, Launch const& how,
            std::vector<std::int64_t> const& axes)
      : stream_(stream), work_(work), how_(how), axes_(axes) {
    how_.neighbours = true;
  }

  void run() {
    lines_ = work_.counts[0] * work_.counts[1];
    Buffer<T> memory(stream_, MemorySpace::device,
                     static_cast<std::size_t>(2 * lines_ * how_.points));
    for (long long slice = 0; slice < work_.counts[2]; ++slice) {
      first(memory.data(), slice);
      if (axes_.size() == 3) middle(memory.data());
      last(memory.data(), slice);
    }
  }

 private:
  /// What is left of the index when the first axes of it are gone.
  std::int64_t rest(std::size_t axis) const {
    return axis + 1 == axes_.size() ? 1 : axes_[axis + 1] * rest(axis + 1);
  }
  void launch_along(std::size_t axis, LineWork<T>& step) {
    step.lines = step.counts[0] * step.counts[1] * step.counts[2] * step.counts[3];
    how_.points = axes_[axis];
    how_.twists = axis + 1 < axes_.size();
    launch(stream_, step, how_);
  }
  LineWork<T> step_of(T const* in, std::int64_t in_stride, T* out, std::int64_t out_stride) const {
    LineWork<T> step{};
    step.in = in;
    step.out = out;
    step.in_stride = in_stride;
    step.out_stride = out_stride;
    for (auto& count : step.counts) count = 1;
    return step;
  }
  static void set_axis(LineWork<T>& step, int place, long long count, long long in, long long out) {
    step.counts[place] = count;
    step.in_strides[place] = in;
    step.out_strides[place] = out;
  }

  void first(T* memory, long long slice) {
    long long const points = all(), left = rest(0);
    auto step =
        step_of(work_.in + 2 * slice * work_.in_strides[2], left * work_.in_stride, memory, left);
    set_axis(step, 0, left, work_.in_stride, 1);
    set_axis(step, 1, work_.counts[0], work_.in_strides[0], points);
    set_axis(step, 2, work_.counts[1], work_.in_strides[1], points * work_.counts[0]);
    set_twist(stream_, points, 1, step);
    launch_along(0, step);
  }
  void middle(T* memory) {
    long long const points = all(), left = rest(1);
    auto step = step_of(memory, left, memory, left);
    set_axis(step, 0, left, 1, 1);
    set_axis(step, 1, axes_[0], rest(0), rest(0));
    set_axis(step, 2, lines_, points, points);
    set_twist(stream_, points, axes_[0], step);
    launch_along(1, step);
  }
  /// Results are counted with the first axis fastest.
  void last(T const* memory, long long slice) {
    std::size_t const axis = axes_.size() - 1;
    long long const points = all(), stride = work_.out_stride;
    auto step = step_of(memory, 1, work_.out + 2 * slice * work_.out_strides[2],
                        points / axes_[axis] * stride);
    set_axis(step, 0, axes_[0], rest(0), stride);
    int place = 1;
    if (axis == 2) set_axis(step, place++, axes_[1], rest(1), axes_[0] * stride);
    set_axis(step, place++, work_.counts[0], points, work_.out_strides[0]);
    set_axis(step, place, work_.counts[1], points * work_.counts[0], work_.out_strides[1]);
    launch_along(axis, step);
  }
  long long all() const { return axes_[0] * rest(0); }

  Stream& stream_;
  LineWork<T> work_;
  Launch how_;
  std::vector<std::int64_t> axes_;
  long long lines_ = 0;
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
/// back along its rows, and back along the columns. Some lines at a time, that the second level of
/// cache keeps.
template <class T>
class LongConvolutions {
 public:
  LongConvolutions(Stream& stream, LineWork<T> const& work, Launch const& how,
                   std::vector<std::int64_t> const& axes)
      : stream_(stream), work_(work), how_(how), rows_(axes[0]), columns_(axes[1]) {}

  void run() {
    std::int64_t const size = rows_ * columns_, bytes = size * std::int64_t{2 * sizeof(T)};
    std::int64_t const together = std::max<std::int64_t>(1, cached_bytes / bytes);
    Buffer<T> memory(
        stream_, MemorySpace::device,
        static_cast<std::size_t>(2 * size * std::min<std::int64_t>(together, work_.counts[0])));
    for (long long c = 0; c < work_.counts[2]; ++c)
      for (long long b = 0; b < work_.counts[1]; ++b)
        for (long long a = 0; a < work_.counts[0]; a += together)
          run(memory.data(), {a, b, c}, std::min<long long>(together, work_.counts[0] - a));
  }

 private:
  void run(T* memory, std::array<long long, 3> const& at, long long lines) {
    long long in = 0, out = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      in += at[axis] * work_.in_strides[axis];
      out += at[axis] * work_.out_strides[axis];
    }
    long long const size = rows_ * columns_;
    LineWork<T> step{};
    set_twist(stream_, size, 1, step);
    set_convolution(stream_, how_.points, rows_, columns_, step);
    step.counts[2] = step.counts[3] = 1;
    step.counts[1] = lines;

    LineWork<T> columns = step;
    columns.counts[0] = columns_;
    columns.lines = columns_ * lines;
    columns.in = work_.in + 2 * in;
    columns.in_stride = columns_ * work_.in_stride;
    columns.in_strides[0] = work_.in_stride;
    columns.in_strides[1] = work_.in_strides[0];
    columns.out = memory;
    columns.out_stride = columns_;
    columns.out_strides[0] = 1;
    columns.out_strides[1] = size;
    go(columns, rows_, true, ConvolutionStep::chirp);

    step.counts[0] = rows_;
    step.lines = rows_ * lines;
    step.in = step.out = memory;
    step.in_stride = step.out_stride = 1;
    step.in_strides[0] = step.out_strides[0] = columns_;
    step.in_strides[1] = step.out_strides[1] = size;
    go(step, columns_, false, ConvolutionStep::filter);

    std::swap(columns.in_stride, columns.out_stride);
    std::swap(columns.in_strides, columns.out_strides);
    columns.in = memory;
    columns.out = work_.out + 2 * out;
    columns.out_stride = columns_ * work_.out_stride;
    columns.out_strides[0] = work_.out_stride;
    columns.out_strides[1] = work_.out_strides[0];
    go(columns, rows_, true, ConvolutionStep::back);
  }
  void go(LineWork<T> const& work, std::int64_t points, bool neighbours, ConvolutionStep step) {
    launch(stream_, work,
           {.task = how_.task,
            .kind = how_.kind,
            .points = points,
            .neighbours = neighbours,
            .convolution_step = step});
  }

  Stream& stream_;
  LineWork<T> work_;
  Launch how_;
  std::int64_t rows_, columns_;
};

/// One stripe of lines side by side, `columns` of them: along the first axis of each line's matrix
/// into memory of the stripe's own, then along the second to where results belong.
template <class T>
void launch_stripe(Stream& stream, LineWork<T> const& work, Launch how,
                   std::array<std::int64_t, 2> const& axes, long long columns, T* memory) {
  long long const first = axes[0], second = axes[1];
  LineWork<T> step{};
  step.counts[0] = columns;
  step.counts[2] = step.counts[3] = 1;
  set_twist(stream, first * second, 1, step);
  step.twist_axis = 1;
  step.in = work.in;
  step.out = memory;
  step.in_stride = second * work.in_stride;
  step.in_strides[0] = work.in_strides[0];
  step.in_strides[1] = work.in_stride;
  step.out_stride = second * columns;
  step.out_strides[0] = 1;
  step.out_strides[1] = columns;
  step.counts[1] = second;
  step.lines = columns * second;
  how.points = first;
  how.twists = true;
  launch(stream, step, how);

  step.in = memory;
  step.out = work.out;
  step.in_stride = columns;
  step.in_strides[0] = 1;
  step.in_strides[1] = second * columns;
  step.out_stride = first * work.out_stride;
  step.out_strides[0] = work.out_strides[0];
  step.out_strides[1] = work.out_stride;
  step.counts[1] = first;
  step.lines = columns * first;
  how.points = second;
  how.twists = false;
  launch(stream, step, how);
}

}  // namespace

template <class T>
bool launch_long(Stream& stream, LineWork<T> const& work, Launch const& how) {
  auto const& axes = long_axes<T>(stream, how.points);
  if (axes.empty()) return false;
  if (is_smooth(how.points))
    LongLines<T>(stream, work, how, axes).run();
  else
    LongConvolutions<T>(stream, work, how, axes).run();
  return true;
}

template <class T>
bool launch_stripes(Stream& stream, LineWork<T> const& work, Launch const& how) {
  auto const& axes = long_axes<T>(stream, how.points);
  if (axes.size() != 2 || !is_smooth(how.points)) return false;
  std::int64_t const bytes = how.points * std::int64_t{2 * sizeof(T)};
  std::int64_t const columns = std::min<std::int64_t>(
      std::max<std::int64_t>(cached_bytes / bytes / 16 * 16, 16), work.counts[0]);
  Buffer<T> memory(stream, MemorySpace::device, static_cast<std::size_t>(2 * columns * how.points));
  for (long long c = 0; c < work.counts[2]; ++c)
    for (long long b = 0; b < work.counts[1]; ++b)
      for (long long a = 0; a < work.counts[0]; a += columns) {
        LineWork<T> stripe = work;
        stripe.in += 2 * (a * work.in_strides[0] + b * work.in_strides[1] + c * work.in_strides[2]);
        stripe.out +=
            2 * (a * work.out_strides[0] + b * work.out_strides[1] + c * work.out_strides[2]);
        launch_stripe(stream, stripe, how, {axes[0], axes[1]},
                      std::min<long long>(columns, work.counts[0] - a), memory.data());
      }
  return true;
}

template bool launch_stripes(Stream&, LineWork<float> const&, Launch const&);
template bool launch_stripes(Stream&, LineWork<double> const&, Launch const&);
template bool launch_long(Stream&, LineWork<float> const&, Launch const&);
template bool launch_long(Stream&, LineWork<double> const&, Launch const&);

}  // namespace gridstride::fft
