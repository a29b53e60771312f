#include "kernels/modes/modes.hpp"

#include <stdexcept>
#include <string>

#include "kernels/modes/rows.hpp"

namespace gridstride::modes {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "mode after mode, on one thread"},
      {"threads", Backend::cpu, host_threads<T>, "rows of modes shared among threads"},
      {"each", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_each<T>),
       "a thread for each mode, which makes all results from values that it reads once"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "each";
}

namespace {

[[noreturn]] void refuse(std::string const& why) { throw std::invalid_argument("modes: " + why); }

void check(Layout const& layout) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (layout.kept[axis] < 1 || layout.kept[axis] > layout.full[axis] || layout.below[axis] < 0 ||
        layout.below[axis] > layout.kept[axis])
      refuse("a layout keeps other modes than there are");
}

void check(std::span<Block const> blocks) {
  for (Block const& block : blocks)
    if (block.size < 1 || block.size > max_block) refuse("a block has a size that is not taken");
}

template <class T>
void check(Combination<T> const& work) {
  check(work.layout);
  if (work.count < 0 || work.first < 0) refuse("there is no such sum");
  if (work.count > 0 && work.out == nullptr) refuse("the array of sums is missing");
}

template <class T>
void check(Update<T> const& work) {
  check(work.layout);
  check(work.blocks);
  if (work.outputs < 0 || work.outputs > max_updates) refuse("too many results of an update");
  if (work.groups < 0 || work.groups > max_groups) refuse("too many groups of an update");
  for (int o = 0; o < work.outputs; ++o)
    if (work.out[o] == nullptr) refuse("a result of an update is missing");
  for (int g = 0, t = 0; g < work.groups; ++g) {
    auto const& group = work.group[g];
    if (group.end < t || group.end > max_terms) refuse("too many terms of an update");
    for (; t < group.end; ++t)
      if (work.terms[t].values == nullptr) refuse("a term of an update is missing");
    for (int i = 0; i < group.targets; ++i)
      if (group.target[i].out < 0 || group.target[i].out >= work.outputs)
        refuse("a group of an update goes to no result");
  }
}

template <class T>
void check(Tabulation<T> const& work) {
  check(work.layout);
  check(work.blocks);
  if (work.functions < 0 || work.functions > max_functions) refuse("too many functions");
  for (int f = 0; f < work.functions; ++f)
    if (work.out[f] == nullptr || work.function == nullptr) refuse("a table is missing");
}

template <class T>
void check(Pairing<T> const& work) {
  check(work.layout);
  if (!work.layout.is_complex) refuse("real modes have no pairs");
  if (work.axis < 0 || work.axis > 2 || work.waves[static_cast<std::size_t>(work.axis)])
    refuse("pairs need the axis whose modes are halved");
  if (work.fields > 0 && work.values == nullptr) refuse("the fields of pairs are missing");
}

}  // namespace

template <class T>
void run(Stream& stream, Work<T> const& work, std::string_view variant) {
  std::visit([](auto const& one) { check(one); }, work);
  if (variant == "auto") variant = default_variant(stream.backend());
  find_variant("modes", variants<T>(), stream.device(), variant).run(stream, work);
}

#define GRIDSTRIDE_INSTANTIATE(T)                               \
  template std::span<Variant<Function<T>> const> variants<T>(); \
  template void run(Stream&, Work<T> const&, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::modes
