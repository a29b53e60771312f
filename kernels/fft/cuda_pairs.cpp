// Two passes as one kernel (blocks/pair.cuh), where numbers can stay in the second level of cache in
// between: both axes of the planes of a volume, and both of the matrix that a long column is.

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/fft/cuda_launch.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/fft/cuda_steps.hpp"
#include "kernels/fft/host.hpp"

namespace gridstride::fft {

namespace {

/// Of slabs of columns, and of planes, which go together until the other pass begins: what blocks work
/// on at a time, or more, and no more than the second level of cache keeps.
constexpr std::int64_t columns_bytes = std::int64_t{4} << 20, planes_bytes = std::int64_t{8} << 20;
constexpr std::int64_t cached_bytes = std::int64_t{48} << 20;

constexpr std::int64_t line_of_cache = 256;  ///< bytes that lie together, of two lines

/// The axes of a column as a matrix, if a block holds fewer than four columns; else none. Kept, as
/// the search takes longer than many a transform.
template <class T>
std::vector<std::int64_t> const& axes_of_column(Stream& stream, Launch const& how) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::int64_t>, std::vector<std::int64_t>> known;
  std::lock_guard const lock(mutex);
  auto const [found, is_new] = known.try_emplace({stream.device().ordinal(), how.points});
  bool const is_short = how.points <= 8 * columns_bytes / line_of_cache;
  if (is_new && is_short && is_smooth(how.points) && width_of<T>(stream, how) < 4 * 2 * sizeof(T))
    found->second = axes_of_line<T>(stream, how.points, 2);
  return found->second;
}

/// Columns of na·nb elements: those nb apart become na results, turned, and these become nb. In
/// between a slab lies by itself, its columns side by side.
template <class T>
bool launch_columns(Stream& stream, LineWork<T> const& work, Launch how, std::int64_t na,
                    std::int64_t nb) {
  std::int64_t const column_bytes = na * nb * static_cast<std::int64_t>(2 * sizeof(T));
  constexpr std::int64_t wide = line_of_cache / static_cast<std::int64_t>(2 * sizeof(T));
  std::int64_t const each = std::max(columns_bytes / column_bytes / wide, std::int64_t{1}) * wide;
  Slabs slabs{};
  slabs.size = work.counts[0];
  slabs.each = each;
  slabs.first_in = each * work.in_strides[0];
  slabs.between = each * na * nb;
  slabs.second_out = each * work.out_strides[0];
  slabs.count = static_cast<unsigned>((slabs.size + each - 1) / each);
  slabs.lag = 2;
  slabs.ring = 4;
  slabs.mixes = true;
  Buffer<T> ring(stream, MemorySpace::device,
                 static_cast<std::size_t>(2 * slabs.between * std::min(slabs.ring, slabs.count)));
  auto first = step_of(work.in, nb * work.in_stride, ring.data(), nb * each);
  set_axis(first, 0, each, work.in_strides[0], 1);
  set_axis(first, 1, nb, work.in_stride, each);
  set_twist(na * nb, 1, first);
  auto second = step_of<T>(ring.data(), each, work.out, na * work.out_stride);
  set_axis(second, 0, each, 1, work.out_strides[0]);
  set_axis(second, 1, na, nb * each, work.out_stride);
  set_lines(first);
  set_lines(second);
  how.slab_axis = 0;
  Launch how_first = how, how_second = how;
  how_first.points = na;
  how_first.twists = true;
  how_first.twist_axis = 1;
  how_second.points = nb;
  return launch_pair<T>(stream, {first, how_first}, {second, how_second}, slabs);
}

/// Whether what an index along one of the axes across leaves lies together.
template <class T>
bool has_planes(Pass<T> const& pass, std::size_t across) {
  for (auto const& [strides, stride] : {std::pair{&pass.in_strides, pass.in_stride},
                                        std::pair{&pass.out_strides, pass.out_stride}}) {
    std::int64_t const apart = (*strides)[across];
    if (apart < stride * pass.points / 2) return false;
    for (std::size_t other = 0; other < 3; ++other)
      if (other != across && pass.counts[other] > 1 && (*strides)[other] > apart) return false;
  }
  return true;
}

}  // namespace

template <class T>
bool launch_columns(Stream& stream, LineWork<T> const& work, Launch const& how) {
  if (how.kind != LineKind::complex || !how.neighbours) return false;
  auto const& axes = axes_of_column<T>(stream, how);
  if (axes.empty()) return false;
  bool all = true;
  for_slices(work, work.counts[0], [&](LineWork<T> const& slice) {
    all = all && launch_columns(stream, slice, how, axes[0], axes[1]);
  });
  return all;
}

template <class T>
bool launch_planes(Stream& stream, Pass<T> first, Pass<T> second) {
  // Where it is faster than one after the other.
  bool const is_complex = first.kind == Kind::complex && second.kind == Kind::complex;
  if (!is_complex || sizeof(T) == 8) return false;
  // The axis that neither goes along, or the batch.
  auto const slot = [](Pass<T> const& pass, std::size_t axis) { return axis - (axis > pass.axis); };
  std::size_t const third = 3 - first.axis - second.axis;
  std::size_t of_first = slot(first, third), of_second = slot(second, third);
  if (first.counts[2] > 1) {
    if (first.counts[of_first] > 1) return false;
    of_first = of_second = 2;
  }
  if (!has_planes(first, of_first) || !has_planes(second, of_second)) return false;
  std::int64_t const planes = first.counts[of_first];
  std::int64_t const plane_bytes =
      second.lines() / planes * second.points * static_cast<std::int64_t>(2 * sizeof(T));
  if (plane_bytes > planes_bytes || planes * plane_bytes < cached_bytes) return false;
  Slabs slabs{};
  slabs.size = planes;
  slabs.each = planes_bytes / plane_bytes;
  slabs.first_in = slabs.each * first.in_strides[of_first];
  slabs.between = slabs.each * first.out_strides[of_first];
  slabs.second_out = slabs.each * second.out_strides[of_second];
  slabs.count = static_cast<unsigned>((planes + slabs.each - 1) / slabs.each);
  slabs.lag = 1;
  auto const paired = [&](Pass<T>& pass, std::size_t of_slabs) {
    std::int64_t const stride = pass.in_strides[of_slabs];
    pass.counts[of_slabs] = slabs.each;
    Paired<T> result{work_of(pass), {}};
    result.how = launch_of(pass, result.work);
    result.how.slab_axis = 3;  // of one plane
    for (int axis = 0; axis < 3; ++axis)
      if (result.work.counts[axis] > 1 && result.work.in_strides[axis] == stride)
        result.how.slab_axis = axis;
    return result;
  };
  return launch_pair(stream, paired(first, of_first), paired(second, of_second), slabs);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                           \
  template bool launch_columns(Stream&, LineWork<T> const&, Launch const&); \
  template bool launch_planes(Stream&, Pass<T>, Pass<T>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft
