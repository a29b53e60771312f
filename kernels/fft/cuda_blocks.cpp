// `blocks`: how the kernel of blocks.cuh is compiled for a kind and length of lines, and launched.
// Each pass of the work, along an axis, is one kernel that reads and writes every number once. A
// complex line that no block can hold is a matrix of two or three axes, each of them a pass of that
// kernel: results k of one are turned by exp(−2πi·k·t/N) before the next, where t is what is left of
// the index (D. H. Bailey, J. Supercomputing 4, 1990, 23–35), and the last writes them to their
// places. Other lines that do not fit go by `stages`.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/fft/block_source.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/fft/host.hpp"
#include "kernels/fft/rows.hpp"
#include "kernels/support/runtime_compiler.hpp"

namespace gridstride::fft {

namespace {

/// A kernel for this kind of lines, and how it is launched.
struct Kernel {
  BlockPlan plan;
  std::shared_ptr<RuntimeModule const> module;
};

/// Nothing where no block can hold a line. Made once: a plan takes longer than many a transform.
template <class T>
std::optional<Kernel> const& kernel_of(Device const& device, BlockKind const& what,
                                       BlockNeeds const& needs) {
  using Key = std::tuple<int, Task, LineKind, std::int64_t, std::size_t, std::array<bool, 4>>;
  static std::mutex mutex;
  static auto& kernels = *new std::map<Key, std::optional<Kernel>>;
  Key const key{device.ordinal(),    what.task,
                what.kind,           what.points,
                needs.element_bytes, {what.neighbours, what.pairs_in, what.pairs_out, what.twists}};
  std::lock_guard const lock(mutex);
  auto const known = kernels.find(key);
  if (known != kernels.end()) return known->second;
  auto const plan = block_plan(needs);
  std::optional<Kernel> made;
  if (plan) made = {*plan, compile(device, block_source<T>(what, *plan))};
  return kernels.emplace(key, std::move(made)).first->second;
}

/// Whether two of T, that lie together in every line, can be read or written as one.
template <class T>
bool has_pairs(T const* data, std::int64_t element, long long const (&across)[4],
               long long const (&counts)[4], bool is_complex) {
  if (reinterpret_cast<std::uintptr_t>(data) % (2 * sizeof(T)) != 0) return false;
  if (is_complex) return true;
  if (element != 1) return false;
  for (int axis = 0; axis < 4; ++axis)
    if (counts[axis] > 1 && across[axis] % 2 != 0) return false;
  return true;
}

/// How a pass is launched.
struct Launch {
  Task task;
  LineKind kind;
  std::int64_t points;
  bool neighbours;
  bool twists = false;

  bool complex_in() const { return kind == LineKind::complex || task == Task::complete; }
  bool complex_out() const { return kind == LineKind::complex || task == Task::halve; }
};

template <class T>
BlockNeeds needs_of(Stream& stream, Launch const& how) {
  return {.points = complex_length(how.kind, how.points),
          .neighbours = how.neighbours,
          .element_bytes = (how.complex_in() ? 2 : 1) * sizeof(T),
          .number_bytes = 2 * sizeof(T),
          .shared_bytes = stream.device().capabilities().shared_bytes};
}

/// False where no block can hold a line.
template <class T>
bool launch(Stream& stream, LineWork<T> work, Launch const& how) {
  // Sums of sines, and those of cosines, are their own way back.
  bool const is_own_inverse = how.kind == LineKind::sine || how.kind == LineKind::cosine;
  LineKind const kind = how.kind;
  BlockKind const what{
      .task = is_own_inverse && how.task == Task::inverse ? Task::forward : how.task,
      .kind = kind,
      .points = how.points,
      .neighbours = how.neighbours,
      .pairs_in =
          has_pairs(work.in, work.in_stride, work.in_strides, work.counts, how.complex_in()),
      .pairs_out =
          has_pairs<T>(work.out, work.out_stride, work.out_strides, work.counts, how.complex_out()),
      .twists = how.twists};
  auto const& kernel = kernel_of<T>(stream.device(), what, needs_of<T>(stream, how));
  if (!kernel) return false;
  auto const& plan = kernel->plan;
  set_tables(stream, kind, how.points, plan.convolves ? plan.points : 0, work);
  auto const blocks = (work.lines + plan.block_lines - 1) / plan.block_lines;
  kernel->module->launch(stream, "lines",
                         {.grid = static_cast<unsigned>(blocks),
                          .block = static_cast<unsigned>(plan.threads()),
                          .shared_bytes = plan.shared_bytes},
                         work);
  return true;
}

/// The axes of a long line as a matrix: as few as will do, and alike; none where nothing will.
template <class T>
std::vector<std::int64_t> axes_of_line(Stream& stream, std::int64_t points, int most) {
  auto const fits = [&](std::int64_t along) {
    auto const plan = block_plan(needs_of<T>(
        stream,
        {.task = Task::forward, .kind = LineKind::complex, .points = along, .neighbours = true}));
    constexpr std::size_t sector = 32;
    return plan && !plan->convolves && plan->block_lines * 2 * sizeof(T) >= sector;
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

template <class T>
void run_pass(Stream& stream, Pass<T> const& pass) {
  auto const work = work_of(pass);
  Launch const how{.task = pass.task,
                   .kind = line_kind(pass.kind),
                   .points = pass.points,
                   .neighbours = work.counts[0] > 1 && work.in_strides[0] < work.in_stride};
  if (launch(stream, work, how)) return;
  if (how.kind == LineKind::complex && is_smooth(pass.points))
    if (auto const axes = axes_of_line<T>(stream, pass.points, 3); !axes.empty())
      return LongLines<T>(stream, work, how, axes).run();
  run_stages(stream, pass);
}

}  // namespace

template <class T>
void cuda_blocks(Stream& stream, Arguments<T> const& arguments) {
  for (auto const& pass : passes_of(arguments)) run_pass(stream, pass);
}

template void cuda_blocks(Stream&, Arguments<float> const&);
template void cuda_blocks(Stream&, Arguments<double> const&);

}  // namespace gridstride::fft
