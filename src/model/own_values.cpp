#include "model/own_values.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/buffer.hpp"
#include "core/ranks.hpp"
#include "core/timer.hpp"
#include "kernels/convert/convert.hpp"
#include "model/bricks.hpp"
#include "model/out_of_core.hpp"
#include "model/rank_arrays.hpp"
#include "model/reading.hpp"
#include "model/state.hpp"
#include "model/values.hpp"

namespace gridstride {

namespace {

/// A file's numbers, some of them one after the other. Throws for the first that is not finite.
template <class T>
class FileSlabs {
 public:
  FileSlabs(config::FieldSource const& source, Inputs const& inputs)
      : source_(source), inputs_(inputs), numbers_(inputs.open(source)) {}

  bool is_in_order() const { return !numbers_->order(); }
  void read(std::int64_t first, std::span<T> values) {
    Timer const timer;
    Stream host(Device::open(Backend::cpu));
    auto const bytes = values.size() * static_cast<std::size_t>(numbers_->type().bytes);
    if (stored_.size() < bytes) stored_ = {host, MemorySpace::pinned, bytes};
    numbers_->read(first, std::ssize(values), stored_.data());
    std::int64_t bad = convert::all_finite;
    convert::convert<T>(host,
                        {.bytes = stored_.span().first(bytes),
                         .type = numbers_->type(),
                         .squares = source_.squares},
                        values, std::span(&bad, 1));
    if (bad != convert::all_finite)
      inputs_.refuse(source_, first + bad, number_at(*numbers_, first + bad));
    if (first + std::ssize(values) == numbers_->size()) numbers_->check_unchanged();
    inputs_.reading->bytes += static_cast<double>(bytes);
    inputs_.reading->seconds += timer.seconds();
  }

 private:
  config::FieldSource const& source_;
  Inputs const& inputs_;
  std::unique_ptr<NumberSource> numbers_;
  Buffer<std::byte> stored_;
};

/// On the first rank, what slabs of a source are filled with.
template <class T>
typename RankArrays<T>::Get slabs_of(Stream& stream, config::FieldSource const& source,
                                     Grid const& grid, Inputs const& inputs,
                                     std::string_view variant) {
  if (!source.file.empty()) {
    auto const file = std::make_shared<FileSlabs<T>>(source, inputs);
    if (file->is_in_order())
      return [file](std::int64_t first, std::span<T> values) { file->read(first, values); };
  }
  auto const whole = std::make_shared<Buffer<T>>(stream, MemorySpace::pinned,
                                                 static_cast<std::size_t>(grid.size()));
  fill(stream, source, grid, inputs, whole->span(), nullptr, variant);
  stream.synchronize();
  return [whole](std::int64_t first, std::span<T> values) {
    auto const from = whole->span().subspan(static_cast<std::size_t>(first), values.size());
    std::ranges::copy(from, values.begin());
  };
}

}  // namespace

template <class T>
void fill_own(Stream& stream, config::FieldSource const& source, SweepPlan const& plan,
              Inputs const& inputs, Window<T> const& window, T* target, std::string_view variant) {
  Grid const grid = whole_grid(plan);
  if (source.file.empty() && goes_by_planes(source.formula.expression, grid, grid.dims)) {
    auto const planes = window.grid.points[static_cast<std::size_t>(grid.dims - 1)];
    return fill_planes(stream, source.formula.expression, grid,
                       {{window.first, window.first + planes}, plan.held_strips()}, target,
                       variant);
  }
  typename RankArrays<T>::Get get;
  if (ranks().is_first()) get = slabs_of<T>(stream, source, grid, inputs, variant);
  RankArrays<T>(stream, plan, ranks()).hand_out(own_planes(plan, window, target), get);
}

/// A file some planes after the other.
template <class T>
void fill_brick(Stream& stream, config::FieldSource const& source, Grid const& grid,
                Brick const& brick, Inputs const& inputs, T* target, std::string_view variant) {
  if (source.file.empty())
    return fill_planes(stream, source.formula.expression, grid, brick, target, variant);
  FileSlabs<T> file(source, inputs);
  std::int64_t const plane = grid.face_size(grid.dims - 1);
  std::int64_t const some = std::max<std::int64_t>(RankArrays<T>::slab_values / plane, 1);
  Buffer<T> slab(stream, MemorySpace::pinned, static_cast<std::size_t>(some * plane));
  std::int64_t const own_plane = plane_values(grid, brick.strips);
  for_each_stretch(brick.planes, grid.points[static_cast<std::size_t>(grid.dims - 1)],
                   [&](std::int64_t at, Planes const& planes) {
                     for (std::int64_t done = 0; done < planes.count(); done += some) {
                       Planes const now{done, std::min(done + some, planes.count())};
                       file.read((at + now.lower) * plane,
                                 slab.span().first(static_cast<std::size_t>(now.count() * plane)));
                       Grid part = grid;
                       part.points[static_cast<std::size_t>(grid.dims - 1)] = now.count();
                       Brick const of_part{{0, now.count()}, brick.strips};
                       copy_brick(stream, part, slab.data(), of_part,
                                  target + (planes.lower + done - brick.planes.lower) * own_plane,
                                  points_of(part, of_part), true);
                       stream.synchronize();
                     }
                   });
}

template void fill_brick(Stream&, config::FieldSource const&, Grid const&, Brick const&,
                         Inputs const&, float*, std::string_view);
template void fill_brick(Stream&, config::FieldSource const&, Grid const&, Brick const&,
                         Inputs const&, double*, std::string_view);
template void fill_own(Stream&, config::FieldSource const&, SweepPlan const&, Inputs const&,
                       Window<float> const&, float*, std::string_view);
template void fill_own(Stream&, config::FieldSource const&, SweepPlan const&, Inputs const&,
                       Window<double> const&, double*, std::string_view);

}  // namespace gridstride
