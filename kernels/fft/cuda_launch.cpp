#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/fft/block_source.hpp"
#include "kernels/fft/cuda_launch.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/support/runtime_compiler.hpp"

namespace gridstride::fft {

namespace {

/// A kernel for some kind of lines, and how it is launched.
template <class Plan>
struct Kernel {
  Plan plan;
  std::shared_ptr<RuntimeModule const> module;
};

/// Those that are known; nothing where no block can hold a line. Made once: a plan takes longer than
/// many a transform.
template <class Key, class Plan, class Make>
std::optional<Kernel<Plan>> const& known_or(Key const& key, Make const& make) {
  static std::mutex mutex;
  static auto& kernels = *new std::map<Key, std::optional<Kernel<Plan>>>;
  std::lock_guard const lock(mutex);
  auto const known = kernels.find(key);
  if (known != kernels.end()) return known->second;
  return kernels.emplace(key, make()).first->second;
}

using Key = std::tuple<int, Task, LineKind, std::int64_t, std::size_t, std::array<bool, 5>,
                       std::array<int, 2>, ConvolutionStep>;

Key key_of(Device const& device, BlockKind const& what, BlockNeeds const& needs) {
  return {device.ordinal(),
          what.task,
          what.kind,
          what.points,
          needs.element_bytes,
          {what.neighbours, what.pairs_in, what.pairs_out, what.twists, needs.crosses},
          {what.twist_axis, what.slab_axis},
          what.convolution_step};
}

template <class T>
std::optional<Kernel<BlockPlan>> const& kernel_of(Device const& device, BlockKind const& what,
                                                  BlockNeeds const& needs) {
  return known_or<Key, BlockPlan>(
      key_of(device, what, needs), [&]() -> std::optional<Kernel<BlockPlan>> {
        auto const plan = block_plan(needs);
        if (!plan) return std::nullopt;
        return Kernel<BlockPlan>{*plan, compile(device, block_source<T>(what, *plan))};
      });
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

template <class T>
BlockKind kind_of(LineWork<T> const& work, Launch const& how) {
  // Sums of sines, and those of cosines, are their own way back.
  bool const is_own_inverse = how.kind == LineKind::sine || how.kind == LineKind::cosine;
  return {.task = is_own_inverse && how.task == Task::inverse ? Task::forward : how.task,
          .kind = how.kind,
          .points = how.points,
          .neighbours = how.neighbours,
          .pairs_in =
              has_pairs(work.in, work.in_stride, work.in_strides, work.counts, how.complex_in()),
          .pairs_out = has_pairs<T>(work.out, work.out_stride, work.out_strides, work.counts,
                                    how.complex_out()),
          .twists = how.twists,
          .convolution_step = how.convolution_step,
          .twist_axis = how.twist_axis,
          .slab_axis = how.slab_axis};
}

template <class T>
void set_all_tables(Stream& stream, Launch const& how, BlockPlan const& plan, LineWork<T>& work) {
  set_roots(stream, plan.radices, work);
  set_tables(stream, how.kind, how.points, plan.convolves ? plan.points : 0, work);
}

template <class T>
std::int64_t blocks_of(LineWork<T> const& work, BlockPlan const& plan) {
  return (work.lines + plan.block_lines - 1) / plan.block_lines;
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
  auto const& kernel = kernel_of<T>(stream.device(), kind_of(work, how), needs_of<T>(stream, how));
  if (!kernel) return false;
  auto const& plan = kernel->plan;
  set_all_tables(stream, how, plan, work);
  kernel->module->launch(stream, "lines",
                         {.grid = static_cast<unsigned>(blocks_of(work, plan)),
                          .block = static_cast<unsigned>(plan.threads()),
                          .shared_bytes = plan.shared_bytes},
                         work);
  return true;
}

template <class T>
bool launch_pair(Stream& stream, Paired<T> first, Paired<T> second, Slabs slabs) {
  Device const& device = stream.device();
  auto const one = kind_of(first.work, first.how), two = kind_of(second.work, second.how);
  auto const one_needs = needs_of<T>(stream, first.how),
             two_needs = needs_of<T>(stream, second.how);
  auto const& kernel = known_or<std::pair<Key, Key>, PairPlan>(
      {key_of(device, one, one_needs), key_of(device, two, two_needs)},
      [&]() -> std::optional<Kernel<PairPlan>> {
        auto const plan = pair_plan(one_needs, two_needs);
        if (!plan) return std::nullopt;
        return Kernel<PairPlan>{
            *plan, compile(device, pair_source<T>(one, plan->first, two, plan->second))};
      });
  if (!kernel) return false;
  auto const& plan = kernel->plan;
  set_all_tables(stream, first.how, plan.first, first.work);
  set_all_tables(stream, second.how, plan.second, second.work);
  slabs.first_tiles = static_cast<unsigned>(blocks_of(first.work, plan.first));
  slabs.second_tiles = static_cast<unsigned>(blocks_of(second.work, plan.second));
  Buffer<unsigned> counters(stream, MemorySpace::device, 2 * std::size_t{slabs.count});
  zero_async(counters.span(), stream);
  slabs.counters = counters.data();
  kernel->module->launch(
      stream, "pair",
      {.grid = (slabs.first_tiles + slabs.second_tiles) * (slabs.count + slabs.lag),
       .block = static_cast<unsigned>(plan.first.threads()),
       .shared_bytes = std::max(plan.first.shared_bytes, plan.second.shared_bytes)},
      first.work, second.work, slabs);
  return true;
}

#define GRIDSTRIDE_INSTANTIATE(T)                            \
  template BlockNeeds needs_of<T>(Stream&, Launch const&);   \
  template std::size_t width_of<T>(Stream&, Launch const&);  \
  template bool launch(Stream&, LineWork<T>, Launch const&); \
  template bool launch_pair(Stream&, Paired<T>, Paired<T>, Slabs slabs);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft
