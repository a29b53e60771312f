// The work on the host, mode after mode, with what point.hpp has for each: on one thread, or in rows
// along x shared among threads, which have the same bits.

#include <cstdint>
#include <type_traits>

#include "kernels/modes/point.hpp"
#include "kernels/modes/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::modes {

namespace {

/// Calls `visit(place)` for all points; `work` is about what one of them takes.
template <class Visit>
void for_each_mode(bool threads, std::int64_t const (&points)[3], std::int64_t work,
                   Visit const& visit) {
  auto const [nx, ny, nz] = points;
  auto const row = [&, nx = nx, ny = ny](std::int64_t line) {
    for (std::int64_t i = 0; i < nx; ++i) visit(Place{{i, line % ny, line / ny}});
  };
  parallel_for(ny * nz, threads ? work * nx : 0, row);
}

template <bool threads, class T>
void run_on_host(Combination<T> const& work) {
  Modes const modes = Modes::of(work.layout);
  auto const visit = [&](Place const& p) {
    if (work.layout.is_complex)
      combine_at<true>(work, modes, p);
    else
      combine_at<false>(work, modes, p);
  };
  for_each_mode(threads, work.is_full ? modes.full : modes.kept, 40 * work.count, visit);
}

template <bool threads, class T>
void run_on_host(Update<T> const& work) {
  auto const update = BlockUpdate<T>::of(work);
  Modes const modes = Modes::of(work.layout);
  Folds const folds = Folds::of(work.layout, work.tables);
  for (Block const& block : work.blocks)
    with_size(block.size, [&](auto m) {
      for_each_mode(threads, modes.kept, 10 * m, [&](Place const& p) {
        std::int64_t const place = p.in(modes.kept), table = folds.place(p);
        if (work.layout.is_complex)
          update_at<m, true>(update, block, place, table);
        else
          update_at<m, false>(update, block, place, table);
      });
    });
}

template <bool threads, class T>
void run_on_host(Tabulation<T> const& work) {
  auto const tables = BlockTables<T>::of(work);
  for (Block const& block : work.blocks)
    with_size(block.size, [&](auto m) {
      for_each_mode(threads, tables.points, 500 * m * m,
                    [&](Place const& p) { tabulate_at<m>(tables, block, p); });
    });
}

template <bool threads, class T>
void run_on_host(Pairing<T> const& work) {
  auto const pairs = Pairs<T>::of(work);
  std::int64_t const size = pairs.size();
  parallel_for(work.fields, threads ? 10 * size : 0, [&](std::int64_t field) {
    for (std::int64_t n = 0; n < size; ++n) pair_at(pairs, static_cast<int>(field), n);
  });
}

}  // namespace

template <class T>
void host_reference(Stream&, Work<T> const& work) {
  std::visit([](auto const& one) { run_on_host<false>(one); }, work);
}
template <class T>
void host_threads(Stream&, Work<T> const& work) {
  std::visit([](auto const& one) { run_on_host<true>(one); }, work);
}

#define GRIDSTRIDE_INSTANTIATE(T)                        \
  template void host_reference(Stream&, Work<T> const&); \
  template void host_threads(Stream&, Work<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::modes
