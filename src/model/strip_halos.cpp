#include "model/strip_halos.hpp"

#include "kernels/support/gpu_links.hpp"
#include "kernels/support/rank_transposition.hpp"

namespace gridstride {

namespace {

/// Values of a plane at one point of the axis.
std::int64_t values_of_point(SweepPlan const& plan, std::size_t which) {
  return plan.shape.plane_values() / plan.strips[which].held.count();
}

/// Values from one point of the axis to the next.
std::int64_t stride_of(SweepPlan const& plan, std::size_t which) {
  std::int64_t stride = 1;
  for (int axis = 0; axis < axis_of_strips(plan.shape.grid.dims, which); ++axis)
    stride *= plan.shape.grid.points[static_cast<std::size_t>(axis)];
  return stride;
}

}  // namespace

template <class T>
StripHalos<T>::StripHalos(Stream const& stream, SweepPlan const& plan, std::size_t which,
                          Ranks& ranks)
    : plan_(plan),
      which_(which),
      beside_(plan.beside_across(ranks.rank(), which)),
      line_(stride_of(plan, which)),
      lines_(values_of_point(plan, which) / line_),
      box_size_(static_cast<std::size_t>(plan.shape.arrays * plan.rank_halo() *
                                         values_of_point(plan.widest(), which) *
                                         (plan.slab_planes + 2 * plan.rank_halo()))),
      boxes_(stream, MemorySpace::device, 4 * box_size_),
      opened_(open_gpu_links(ranks, stream, beside_, box_size_ * sizeof(T), Meanwhile::nothing)) {}

template <class T>
void StripHalos<T>::exchange(Stream& stream, std::span<T* const> arrays, std::int64_t planes) {
  std::int64_t const halo = plan_.rank_halo();
  auto const& strips = plan_.strips[which_];
  Planes const own{strips.own.lower - strips.held.lower, strips.own.upper - strips.held.lower};
  std::int64_t const size = planes * halo * lines_ * line_;  // of an array
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
  std::size_t const pitch =
      static_cast<std::size_t>(plan_.strips[which_].held.count() * line_) * sizeof(T);
  auto const rows = static_cast<std::size_t>(planes * lines_);
  copy_own_rows(stream, out ? CopiedRows{there, pitch, here, width, width, rows}
                            : CopiedRows{here, width, there, pitch, width, rows});
}

template class StripHalos<float>;
template class StripHalos<double>;

}  // namespace gridstride
