// Products with matrices of stencils on the host.
//
// `reference`: one point after the other, all that is around it: the oracle.
// `threads`: of each line the sums are found in y, to which the lines around it are added one after
// the other, side by side along it. Lines are shared among threads.

#include <cstdlib>

#include "kernels/lattice/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::lattice {

template <class T>
void host_reference(Stream&, Work<T> const& work) {
  auto const around = Around<T>::of(work);
  std::int64_t const size = around.nx * around.ny * around.nz;
  for (std::int64_t p = 0; p < size; ++p) work.y[p] = around.at(p);
}

namespace {

/// sums += line
template <class T>
void add(T const* line, T* sums, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) sums[i] += line[i];
}

/// sums_i += line_(i−1) + line_(i+1), and line_i where the middle counts.
template <class T, bool middle>
void add_around(T const* line, T* sums, std::int64_t n) {
  auto const own = [line](std::int64_t i) { return middle ? line[i] : T{0}; };
  if (n == 1) {
    sums[0] += own(0);
    return;
  }
  sums[0] += own(0) + line[1];
#pragma omp simd
  for (std::int64_t i = 1; i < n - 1; ++i) sums[i] += (line[i - 1] + line[i + 1]) + own(i);
  sums[n - 1] += line[n - 2] + own(n - 1);
}

template <class T>
void multiply_line(Around<T> const& around, std::int64_t line, T* y) {
  std::int64_t const n = around.nx, j = line % around.ny, k = line / around.ny;
  for (std::int64_t i = 0; i < n; ++i) y[i] = 0;
  for (std::int64_t c = -1; c <= 1; ++c)
    for (std::int64_t b = -1; b <= 1; ++b) {
      if (j + b < 0 || j + b >= around.ny || k + c < 0 || k + c >= around.nz) continue;
      T const* const other = around.x + (line + c * around.ny + b) * n;
      if (around.all)
        add_around<T, true>(other, y, n);
      else if (b == 0 && c == 0)
        add_around<T, false>(other, y, n);
      else if (b == 0 || c == 0)
        add(other, y, n);
    }
  T const* const own = around.x + line * n;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = around.center * own[i] - y[i];
}

}  // namespace

template <class T>
void host_threads(Stream&, Work<T> const& work) {
  auto const around = Around<T>::of(work);
  std::int64_t const steps = around.all ? 27 : 7;
  parallel_for(around.ny * around.nz, steps * around.nx,
               [&](std::int64_t line) { multiply_line(around, line, work.y + line * around.nx); });
}

#define GRIDSTRIDE_INSTANTIATE(T)                        \
  template void host_reference(Stream&, Work<T> const&); \
  template void host_threads(Stream&, Work<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::lattice
