#include "model/strip_halos.hpp"

#include "kernels/support/gpu_links.hpp"
#include "kernels/support/rank_transposition.hpp"

namespace gridstride {

template <class T>
StripHalos<T>::StripHalos(Stream const& stream, SweepPlan const& plan, Ranks& ranks)
    : plan_(plan),
      beside_(plan.beside_across(ranks.rank())),
      line_(plan.shape.plane_values() / plan.strips.held.count()),
      box_size_(static_cast<std::size_t>(plan.shape.arrays * plan.rank_halo() * line_ *
                                         (plan.slab_planes + 2 * plan.rank_halo()))),
      boxes_(stream, MemorySpace::device, 4 * box_size_),
      opened_(open_gpu_links(ranks, stream, beside_, box_size_ * sizeof(T), Meanwhile::nothing)) {}

template <class T>
void StripHalos<T>::exchange(Stream& stream, std::span<T* const> arrays, std::int64_t planes) {
  std::int64_t const halo = plan_.rank_halo();
  Planes const own{plan_.strips.own.lower - plan_.strips.held.lower,
                   plan_.strips.own.upper - plan_.strips.held.lower};
  std::int64_t const size = planes * halo * line_;  // of an array
  auto const bytes = static_cast<std::size_t>(size * std::ssize(arrays)) * sizeof(T);
  auto const pieces = [&](int side, bool comes) {
    auto* const first = reinterpret_cast<std::byte*>(box(side, comes));
    return RankLinks::Pieces{{first, bytes}};
  };
  for (int const side : {0, 1}) {
    if (beside_[static_cast<std::size_t>(side)] < 0) continue;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      copy(stream, arrays[i], planes, side == 0 ? own.lower : own.upper - halo,
           box(side, false) + static_cast<std::int64_t>(i) * size, true);
    opened_.links->start(side == 0 ? RankLinks::down : RankLinks::up, pieces(side, false), stream);
  }
  opened_.links->let_go(stream);
  opened_.links->finish(std::array{RankLinks::Arrival{RankLinks::up, pieces(0, true), &stream},
                                   RankLinks::Arrival{RankLinks::down, pieces(1, true), &stream}});
  for (int const side : {0, 1}) {
    if (beside_[static_cast<std::size_t>(side)] < 0) continue;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      copy(stream, arrays[i], planes, side == 0 ? own.lower - halo : own.upper,
           box(side, true) + static_cast<std::int64_t>(i) * size, false);
  }
}

template <class T>
void StripHalos<T>::copy(Stream& stream, T* array, std::int64_t planes, std::int64_t first, T* box,
                         bool out) {
  auto* const there = reinterpret_cast<std::byte*>(array + first * line_);
  auto* const here = reinterpret_cast<std::byte*>(box);
  std::size_t const width = static_cast<std::size_t>(plan_.rank_halo() * line_) * sizeof(T);
  std::size_t const pitch = plan_.shape.plane_bytes();
  auto const rows = static_cast<std::size_t>(planes);
  copy_own_rows(stream, out ? CopiedRows{there, pitch, here, width, width, rows}
                            : CopiedRows{here, width, there, pitch, width, rows});
}

template class StripHalos<float>;
template class StripHalos<double>;

}  // namespace gridstride
