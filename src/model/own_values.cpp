#include "model/own_values.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/ranks.hpp"
#include "core/timer.hpp"
#include "kernels/convert/convert.hpp"
#include "kernels/system/system.hpp"
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
    if (bad == convert::all_finite && may_leave_range<T>(numbers_->type(), source_.squares)) {
      auto const is_finite = [](T value) { return std::isfinite(value); };
      auto const found = std::ranges::find_if_not(values, is_finite);
      if (found != values.end()) bad = found - values.begin();
    }
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

/// So many of a file's values from one on, the components of vectors each into its array.
template <class T>
void read_apart(FileSlabs<T>& file, std::int64_t first, std::span<std::span<T> const> arrays) {
  if (arrays.size() == 1) return file.read(first, arrays.front());
  std::vector<T> vectors(arrays.size() * arrays.front().size());
  file.read(first * std::ssize(arrays), vectors);
  Stream host(Device::open(Backend::cpu));
  std::vector<T*> components;
  for (auto const& array : arrays) components.push_back(array.data());
  system::separate<T>(host, vectors, components);
}

/// On the first rank, what slabs of a source are filled with.
template <class T>
typename RankArrays<T>::Get slabs_of(Stream& stream, config::FieldSource const& source,
                                     Grid const& grid, Inputs const& inputs, std::size_t numbers,
                                     std::string_view variant) {
  if (!source.file.empty()) {
    auto const file = std::make_shared<FileSlabs<T>>(source, inputs);
    if (file->is_in_order())
      return [file](std::int64_t first, auto const& slabs) { read_apart(*file, first, slabs); };
  }
  auto const whole = std::make_shared<Buffer<T>>(stream, MemorySpace::pinned,
                                                 static_cast<std::size_t>(grid.size()) * numbers);
  fill(stream, source, grid, inputs, whole->span(), nullptr, variant);
  stream.synchronize();
  return [whole, numbers](std::int64_t first, auto const& slabs) {
    T const* const from = whole->data() + static_cast<std::size_t>(first) * numbers;
    for (std::size_t c = 0; c < numbers; ++c)
      for (std::size_t i = 0; i < slabs[c].size(); ++i) slabs[c][i] = from[i * numbers + c];
  };
}

/// Calls `use` for each component of a vector that has formulas, or else says that there are none.
bool for_components(config::FieldSource const& source,
                    std::function<void(config::FieldSource const&, std::size_t)> const& use) {
  if (!source.file.empty() || source.components.empty()) return false;
  for (std::size_t c = 0; c < source.components.size(); ++c)
    use(source_of(source.components[c]), c);
  return true;
}

}  // namespace

template <class T>
void fill_own(Stream& stream, config::FieldSource const& source, SweepPlan const& plan,
              Inputs const& inputs, Window<T> const& window, Targets<T> targets,
              std::string_view variant) {
  if (for_components(source, [&](config::FieldSource const& one, std::size_t c) {
        fill_own(stream, one, plan, inputs, window, targets.subspan(c, 1), variant);
      }))
    return;
  Grid const grid = whole_grid(plan);
  if (source.file.empty() && goes_by_planes(source.formula.expression, grid, grid.dims)) {
    auto const planes = window.grid.points[static_cast<std::size_t>(grid.dims - 1)];
    return fill_planes(stream, source.formula.expression, grid,
                       {{window.first, window.first + planes}, plan.held_strips()}, targets.front(),
                       variant);
  }
  typename RankArrays<T>::Get get;
  if (ranks().is_first()) get = slabs_of<T>(stream, source, grid, inputs, targets.size(), variant);
  std::vector<std::span<T>> own;
  for (T* const target : targets) own.push_back(own_planes(plan, window, target));
  RankArrays<T>(stream, plan, ranks()).hand_out(own, get);
}

/// A file some planes after the other.
template <class T>
void fill_brick(Stream& stream, config::FieldSource const& source, Grid const& grid,
                Brick const& brick, Inputs const& inputs, Targets<T> targets,
                std::string_view variant) {
  if (for_components(source, [&](config::FieldSource const& one, std::size_t c) {
        fill_brick(stream, one, grid, brick, inputs, targets.subspan(c, 1), variant);
      }))
    return;
  if (source.file.empty())
    return fill_planes(stream, source.formula.expression, grid, brick, targets.front(), variant);
  FileSlabs<T> file(source, inputs);
  std::int64_t const plane = grid.face_size(grid.dims - 1);
  std::int64_t const some =
      std::max<std::int64_t>(RankArrays<T>::slab_points(targets.size()) / plane, 1);
  std::vector<Buffer<T>> slabs;
  for (std::size_t c = 0; c < targets.size(); ++c)
    slabs.emplace_back(stream, MemorySpace::pinned, static_cast<std::size_t>(some * plane));
  std::int64_t const own_plane = plane_values(grid, brick.strips);
  for_each_stretch(
      brick.planes, grid.points[static_cast<std::size_t>(grid.dims - 1)],
      [&](std::int64_t at, Planes const& planes) {
        for (std::int64_t done = 0; done < planes.count(); done += some) {
          Planes const now{done, std::min(done + some, planes.count())};
          std::vector<std::span<T>> values;
          for (auto& slab : slabs)
            values.push_back(slab.span().first(static_cast<std::size_t>(now.count() * plane)));
          read_apart<T>(file, (at + now.lower) * plane, values);
          Grid part = grid;
          part.points[static_cast<std::size_t>(grid.dims - 1)] = now.count();
          Brick const of_part{{0, now.count()}, brick.strips};
          for (std::size_t c = 0; c < targets.size(); ++c)
            copy_brick(stream, part, slabs[c].data(), of_part,
                       targets[c] + (planes.lower + done - brick.planes.lower) * own_plane,
                       points_of(part, of_part), true);
          stream.synchronize();
        }
      });
}

bool goes_by_planes(config::FieldSource const& source, Grid const& grid) {
  auto const goes = [&](config::Formula const& formula) {
    return goes_by_planes(formula.expression, grid, grid.dims);
  };
  if (!source.file.empty()) return true;
  return source.components.empty() ? goes(source.formula)
                                   : std::ranges::all_of(source.components, goes);
}

template void fill_brick(Stream&, config::FieldSource const&, Grid const&, Brick const&,
                         Inputs const&, Targets<float>, std::string_view);
template void fill_brick(Stream&, config::FieldSource const&, Grid const&, Brick const&,
                         Inputs const&, Targets<double>, std::string_view);
template void fill_own(Stream&, config::FieldSource const&, SweepPlan const&, Inputs const&,
                       Window<float> const&, Targets<float>, std::string_view);
template void fill_own(Stream&, config::FieldSource const&, SweepPlan const&, Inputs const&,
                       Window<double> const&, Targets<double>, std::string_view);

}  // namespace gridstride
