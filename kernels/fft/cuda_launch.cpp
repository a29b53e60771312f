#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "kernels/fft/block_source.hpp"
#include "kernels/fft/cuda_launch.hpp"
#include "kernels/fft/cuda_lines.hpp"
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
  using Key = std::tuple<int, Task, LineKind, std::int64_t, std::size_t, std::array<bool, 5>,
                         ConvolutionStep>;
  static std::mutex mutex;
  static auto& kernels = *new std::map<Key, std::optional<Kernel>>;
  Key const key{device.ordinal(),
                what.task,
                what.kind,
                what.points,
                needs.element_bytes,
                {what.neighbours, what.pairs_in, what.pairs_out, what.twists, needs.crosses},
                what.convolution_step};
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

}  // namespace

template <class T>
BlockNeeds needs_of(Stream& stream, Launch const& how) {
  return {.points = complex_length(how.kind, how.points),
          .neighbours = how.neighbours,
          .crosses = how.crosses,
          .element_bytes = (how.complex_in() ? 2 : 1) * sizeof(T),
          .number_bytes = 2 * sizeof(T),
          .shared_bytes = stream.device().capabilities().shared_bytes};
}

template <class T>
std::size_t width_of(Stream& stream, Launch const& how) {
  auto const needs = needs_of<T>(stream, how);
  auto const plan = block_plan(needs);
  return plan ? static_cast<std::size_t>(plan->block_lines) * needs.element_bytes : 0;
}

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
      .twists = how.twists,
      .convolution_step = how.convolution_step};
  auto const& kernel = kernel_of<T>(stream.device(), what, needs_of<T>(stream, how));
  if (!kernel) return false;
  auto const& plan = kernel->plan;
  set_roots(stream, plan.radices, work);
  set_tables(stream, kind, how.points, plan.convolves ? plan.points : 0, work);
  auto const blocks = (work.lines + plan.block_lines - 1) / plan.block_lines;
  kernel->module->launch(stream, "lines",
                         {.grid = static_cast<unsigned>(blocks),
                          .block = static_cast<unsigned>(plan.threads()),
                          .shared_bytes = plan.shared_bytes},
                         work);
  return true;
}

#define GRIDSTRIDE_INSTANTIATE(T)                           \
  template BlockNeeds needs_of<T>(Stream&, Launch const&);  \
  template std::size_t width_of<T>(Stream&, Launch const&); \
  template bool launch(Stream&, LineWork<T>, Launch const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft
