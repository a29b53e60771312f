// Cycles on the host: what steps.hpp has for each point, line by line. Lines are shared among
// threads, which changes no bit: a step writes what it does not read. Relaxation and residuals of
// `threads` go by vectors (host_rows.hpp).

#include <vector>

#include "kernels/multigrid/host_rows.hpp"
#include "kernels/multigrid/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::multigrid {

namespace {

/// Calls `line(j, k, width)` for all lines of a step.
template <class Step, class Line>
void for_each_line(Step const& step, bool threads, Line const& line) {
  Extent const extent = step.extent();
  std::int64_t const lines = std::int64_t{extent.y} * extent.z;
  parallel_for(lines, threads ? 40 * std::int64_t{extent.x} : 0, [&](std::int64_t at) {
    line(at, static_cast<int>(at % extent.y), static_cast<int>(at / extent.y), extent.x);
  });
}

template <class Step>
void call(Step const& step, bool threads) {
  for_each_line(step, threads, [&](std::int64_t, int j, int k, int width) {
    for (int i = 0; i < width; ++i) step(i, j, k);
  });
}

/// Where threads share them, rows go by vectors.
template <class S>
void call(Relax<S> const& step, bool threads) {
  if (!threads) return call<Relax<S>>(step, false);
  ColourRows<S> const rows(step.level);
  for_each_line(step, true, [&](std::int64_t, int j, int k, int) { relax_row(step, rows, j, k); });
}
template <class S>
void call(KeepResidual<S> const& step, bool threads) {
  if (!threads || step.level.has_seam()) return call<KeepResidual<S>>(step, threads);
  ColourRows<S> const rows(step.level);
  for_each_line(step, true, [&](std::int64_t, int j, int k, int) { keep_row(step, rows, j, k); });
}

}  // namespace

template <class S>
void host_reference(Stream&, CycleWork<S> const& work) {
  auto const run = [](auto const& step) { call(step, false); };
  Cycles<S, decltype(run)>(work, run).all();
}

template <class S>
void host_threads(Stream&, CycleWork<S> const& work) {
  auto const run = [](auto const& step) { call(step, true); };
  Cycles<S, decltype(run)>(work, run).all();
}

template <class Step>
void host_each(Stream&, Step const& step) {
  call(step, true);
}

template <class Step>
void host_find(Stream&, Step const& step, Found* largest) {
  Extent const extent = step.extent();
  std::vector<Found> found(static_cast<std::size_t>(extent.y) * extent.z);
  for_each_line(step, true, [&](std::int64_t at, int j, int k, int width) {
    Found own;
    for (int i = 0; i < width; ++i) raise(own, step(i, j, k));
    found[static_cast<std::size_t>(at)] = own;
  });
  for (Found const& own : found) raise(*largest, own);
}

template <class Step>
std::size_t host_parts(Step const& step, Planes const&) {
  Extent const extent = step.extent();
  return static_cast<std::size_t>(extent.y) * static_cast<std::size_t>(extent.z);
}

template <class Step>
void host_sums(Stream&, Step const& step, Planes const&, Summed* sums) {
  for_each_line(step, true, [&](std::int64_t at, int j, int k, int width) {
    Summed own;
    for (int i = 0; i < width; ++i) own = own + step(i, j, k);
    sums[at] = own;
  });
}

void host_take_sum(Stream&, std::span<Summed const> parts, Finds what, Along* along) {
  Summed all;
  for (Summed const& part : parts) all = all + part;
  take_sum(*along, what, all);
}

template void host_reference(Stream&, CycleWork<float> const&);
template void host_reference(Stream&, CycleWork<double> const&);
template void host_threads(Stream&, CycleWork<float> const&);
template void host_threads(Stream&, CycleWork<double> const&);
#define GRIDSTRIDE_EACH(...) template void host_each(Stream&, __VA_ARGS__ const&);
#define GRIDSTRIDE_FIND(...) template void host_find(Stream&, __VA_ARGS__ const&, Found*);
#define GRIDSTRIDE_SUM(...)                                           \
  template std::size_t host_parts(__VA_ARGS__ const&, Planes const&); \
  template void host_sums(Stream&, __VA_ARGS__ const&, Planes const&, Summed*);
GRIDSTRIDE_MULTIGRID_STEPS(GRIDSTRIDE_EACH, GRIDSTRIDE_FIND, GRIDSTRIDE_SUM)
#undef GRIDSTRIDE_SUM
#undef GRIDSTRIDE_EACH
#undef GRIDSTRIDE_FIND

}  // namespace gridstride::multigrid
