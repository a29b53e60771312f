#include "model/modal_products.hpp"

#include <algorithm>
#include <complex>
#include <utility>

namespace gridstride {

using equations::Beyond;
using equations::BeyondSides;

namespace {

std::int64_t size_of_points(std::array<std::int64_t, 3> const& points) {
  return points[0] * points[1] * points[2];
}

template <class T>
std::span<std::complex<T>> as_complex(T* values, std::int64_t count) {
  return {reinterpret_cast<std::complex<T>*>(values), static_cast<std::size_t>(count)};
}
template <class T>
std::span<T> as_span(T* values, std::int64_t count) {
  return {values, static_cast<std::size_t>(count)};
}

/// Fields from `first` on that have the same sides: how many there are, up to `end`.
std::int64_t alike(std::vector<BeyondSides> const& sides, std::size_t first) {
  std::size_t last = first;
  while (last < sides.size() && sides[last] == sides[first]) ++last;
  return static_cast<std::int64_t>(last - first);
}

template <class T>
system::Input<T> input_of(Grid const& grid, BeyondSides const& sides, T const* values) {
  system::Input<T> input{.values = values};
  for (int axis = 0; axis < 3; ++axis)
    for (int end = 0; end < 2; ++end) {
      auto const a = static_cast<std::size_t>(axis), e = static_cast<std::size_t>(end);
      SideKind const kind = axis >= grid.dims || sides[a][e] == Beyond::periodic
                                ? SideKind::periodic
                            : sides[a][e] == Beyond::odd ? SideKind::dirichlet
                                                         : SideKind::neumann;
      input.sides[axis][end] = system::side_of<T>(kind, grid.spacing[a], nullptr);
    }
  return input;
}

/// Numbers of a field between transforms along axes that are periodic and along others; 0 where
/// there are not both.
std::int64_t size_between(Grid const& grid, modes::Layout const& layout, BeyondSides const& sides) {
  auto const kinds = modes::kinds_of(grid, sides);
  std::int64_t size = 1;
  bool has_lines = false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    size *= kinds[axis] == fft::Kind::periodic ? grid.points[axis] : layout.full[axis];
    has_lines = has_lines || (kinds[axis] != fft::Kind::periodic && kinds[axis] != fft::Kind::none);
  }
  return has_lines && layout.is_complex ? size : 0;
}

}  // namespace

// ------------------------------------------------------------------------------------- transforms

template <class T>
ModalTransform<T>::ModalTransform(Stream const& stream, Grid const& grid,
                                  modes::Layout const& layout, BeyondSides const& sides,
                                  std::int64_t fields, std::string variant)
    : stream_(stream),
      grid_(grid),
      layout_(layout),
      variant_(std::move(variant)),
      between_(layout.full) {
  auto const kinds = modes::kinds_of(grid, sides);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (kinds[axis] == fft::Kind::periodic) between_[axis] = grid.points[axis];
  if (std::int64_t const size = size_between(grid, layout, sides); size > 0)
    between_values_ =
        Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(size * fields));
}

/// Lines go from the points to what is between, waves from there to the modes.
template <class T>
typename ModalTransform<T>::Shapes ModalTransform<T>::shapes_of(BeyondSides const& sides,
                                                                std::int64_t count) const {
  using fft::Kind;
  auto const kinds = modes::kinds_of(grid_, sides);
  Shapes result;
  auto const at_points = fft::dense(grid_.points), between = fft::dense(between_),
             in_modes = fft::dense(layout_.full);
  result.waves = {between_, {Kind::none, Kind::none, Kind::none}, count, between, in_modes};
  result.lines = {between_, {Kind::none, Kind::none, Kind::none}, count, at_points, between};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (kinds[axis] == Kind::none) continue;
    if (kinds[axis] == Kind::periodic) {
      result.waves.kinds[axis] = result.has_waves ? Kind::complex : Kind::periodic;
      result.has_waves = true;
      continue;
    }
    auto const extent = modes::extent_of(kinds[axis], grid_.points[axis]);
    result.lines.kinds[axis] = kinds[axis];
    result.lines.points[axis] = extent.points;
    result.first_point += extent.first_point * at_points.axes[axis];
    result.first_mode += extent.first_mode * between.axes[axis];
    result.has_lines = true;
  }
  split(result);
  return result;
}

/// Columns of modes that are not kept need no transform along the other axes. Libraries have both in
/// one.
template <class T>
void ModalTransform<T>::split(Shapes& shapes) const {
  using fft::Kind;
  auto const& kinds = shapes.waves.kinds;
  auto const axis =
      static_cast<std::size_t>(std::ranges::find(kinds, Kind::periodic) - kinds.begin());
  bool const has_others = std::ranges::count(kinds, Kind::complex) > 0;
  if (!has_others || layout_.kept[axis] == layout_.full[axis] || variant_ == "cufft") return;
  shapes.leaves_out = true;
  shapes.halved = shapes.kept = shapes.waves;
  std::ranges::replace(shapes.halved.kinds, Kind::complex, Kind::none);
  shapes.kept.kinds[axis] = Kind::none;
  shapes.kept.points = layout_.full;
  shapes.kept.points[axis] = layout_.kept[axis];
  shapes.kept.in = shapes.kept.out;
}

template <class T>
double ModalTransform<T>::factor(BeyondSides const& sides) const {
  auto const shapes = shapes_of(sides, 1);
  return 1 / (fft::round_trip(shapes.waves) * fft::round_trip(shapes.lines));
}

template <class T>
void ModalTransform<T>::to_points(BeyondSides const& sides, std::int64_t count, T* spectra,
                                  T* values) {
  auto const shapes = shapes_of(sides, count);
  std::int64_t const in_modes = layout_.full_size() * count,
                     between = size_of_points(between_) * count, points = grid_.size() * count;
  T* lines = spectra;
  if (shapes.has_waves) {
    lines = shapes.has_lines ? between_values_.data() : values;
    if (shapes.leaves_out)
      fft::transform<T>(stream_, shapes.kept, fft::Direction::inverse,
                        as_complex(spectra, in_modes), as_complex(spectra, in_modes), variant_);
    auto shape = shapes.leaves_out ? shapes.halved : shapes.waves;
    std::swap(shape.in, shape.out);
    fft::transform<T>(stream_, shape, as_complex(spectra, in_modes), as_span(lines, between),
                      variant_);
  }
  if (!shapes.has_lines) return;
  auto shape = shapes.lines;
  std::swap(shape.in, shape.out);
  fft::transform<T>(stream_, shape, fft::Direction::inverse,
                    as_span<T const>(lines + shapes.first_mode, between - shapes.first_mode),
                    as_span(values + shapes.first_point, points - shapes.first_point), variant_);
}

template <class T>
void ModalTransform<T>::to_modes(BeyondSides const& sides, std::int64_t count, T const* values,
                                 T* spectra) {
  auto const shapes = shapes_of(sides, count);
  std::int64_t const in_modes = layout_.full_size() * count,
                     between = size_of_points(between_) * count, points = grid_.size() * count;
  T const* waves = values;
  if (shapes.has_lines) {
    T* const lines = shapes.has_waves ? between_values_.data() : spectra;
    fft::transform<T>(stream_, shapes.lines, fft::Direction::forward,
                      as_span<T const>(values + shapes.first_point, points - shapes.first_point),
                      as_span(lines + shapes.first_mode, between - shapes.first_mode), variant_);
    waves = lines;
  }
  if (!shapes.has_waves) return;
  fft::transform<T>(stream_, shapes.leaves_out ? shapes.halved : shapes.waves,
                    as_span<T const>(waves, between), as_complex(spectra, in_modes), variant_);
  if (shapes.leaves_out)
    fft::transform<T>(stream_, shapes.kept, fft::Direction::forward, as_complex(spectra, in_modes),
                      as_complex(spectra, in_modes), variant_);
}

// --------------------------------------------------------------------------------------- products

namespace {

/// Of the only level.
template <class T>
typename modes::Joined<T>::Parts parts_of(Grid const& grid, modes::Layout const& layout,
                                          equations::ModalSystem const& system) {
  auto const& level = system.levels.front();
  return {.grid = grid,
          .sides = system.unknown_sides.front(),
          .layout = layout,
          .program = &level.program,
          .arrays = static_cast<int>(level.arrays.size())};
}

std::int64_t array_count(equations::ModalSystem const& system) {
  std::int64_t count = 0;
  for (auto const& level : system.levels) count += std::ssize(level.arrays);
  return count;
}
std::int64_t product_count(equations::ModalSystem const& system) {
  std::int64_t count = 0;
  for (auto const& level : system.levels) count += std::ssize(level.product_sides);
  return count;
}
/// Whether transforms and products are joined to passes that have both (kernels/modes/joined.hpp), on
/// `where`: a device, or the shared memory of one.
template <class T, class Where>
bool is_joined(Where const& where, Grid const& grid, modes::Layout const& layout,
               equations::ModalSystem const& system, ModalVariants const& variants) {
  return variants.fft == "auto" && variants.modes == "auto" && variants.system == "auto" &&
         system.levels.size() == 1 &&
         modes::Joined<T>::takes(where, parts_of<T>(grid, layout, system));
}

/// Fields that are in modes and at points at once.
std::int64_t most_at_once(equations::ModalSystem const& system) {
  std::int64_t most = 1;
  for (auto const& level : system.levels)
    most = std::max({most, std::ssize(level.arrays), std::ssize(level.product_sides)});
  return most;
}

}  // namespace

template <class T>
ModalProducts<T>::ModalProducts(Stream const& stream, Grid const& grid, modes::Layout const& layout,
                                equations::ModalSystem const& system, ModalVariants variants)
    : stream_(stream),
      grid_(grid),
      layout_(layout),
      system_(system),
      variants_(std::move(variants)),
      transform_(stream, grid, layout, system_.unknown_sides.front(), most_at_once(system_),
                 variants_.fft) {
  auto const room = [&](std::int64_t count, std::int64_t numbers) {
    return Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(count * numbers));
  };
  bool const joins = is_joined<T>(stream_.device(), grid_, layout_, system_, variants_);
  std::int64_t const modes = layout_.full_size() * layout_.numbers(),
                     kept = layout_.kept_size() * layout_.numbers();
  arrays_ = room(joins ? 0 : array_count(system_), grid_.size());
  products_at_points_ = room(joins ? 0 : product_count(system_), grid_.size());
  array_spectra_ = room(joins ? 1 : most_at_once(system_), modes);
  product_spectra_ = room(product_count(system_), joins ? kept : modes);
  // Points on sides where values are 0 are no part of the modes.
  zero_async(arrays_.span(), stream_);
  for (auto const& sides : system_.unknown_sides) unknowns_.push_back({sides});
  for (auto const& level : system_.levels)
    for (auto const& sides : level.product_sides)
      products_.push_back({sides, transform_.factor(sides)});
  std::int64_t array = 0, product = 0;
  for (auto const& level : system_.levels) {
    levels_.push_back({&level,
                       modes::SumList(stream_, grid_, layout_, system_.symbols, system_.order,
                                      level.arrays, unknowns_, products_),
                       array, product});
    for (auto const& sides : level.array_sides)
      inputs_.push_back(input_of<T>(grid_, sides, arrays_.data() + grid_.size() * array++));
    product += std::ssize(level.product_sides);
  }
  if (joins) joined_.emplace(stream_, parts_of<T>(grid_, layout_, system_), levels_.front().arrays);
}

template <class T>
std::size_t ModalProducts<T>::bytes(Backend backend, Grid const& grid,
                                    equations::ModalSystem const& system,
                                    ModalVariants const& variants) {
  auto const& sides = system.unknown_sides.front();
  auto const layout = modes::layout_of(grid, sides, system.dealias);
  constexpr std::size_t least_shared_bytes = 64 << 10;  // that a block has on any GPU
  std::int64_t const modes = layout.full_size() * layout.numbers();
  if (backend == Backend::cuda && has_runtime_compiler() &&
      is_joined<T>(least_shared_bytes, grid, layout, system, variants))
    return static_cast<std::size_t>(modes +
                                    product_count(system) * layout.kept_size() * layout.numbers()) *
               sizeof(T) +
           modes::Joined<T>::bytes(parts_of<T>(grid, layout, system));
  std::int64_t const numbers = (array_count(system) + product_count(system)) * grid.size() +
                               (most_at_once(system) + product_count(system)) * modes +
                               most_at_once(system) * size_between(grid, layout, sides);
  return static_cast<std::size_t>(numbers) * sizeof(T);
}

template <class T>
void ModalProducts<T>::make_arrays(Level& level, T const* unknowns) {
  modes::Combination<T> work{.layout = layout_, .sums = level.arrays.sums()};
  work.count = level.arrays.size();
  work.unknowns = unknowns;
  work.products = product_spectra_.data();
  work.out = array_spectra_.data();
  work.is_full = true;
  modes::run<T>(stream_, work, variants_.modes);
  auto const& sides = level.given->array_sides;
  std::int64_t const modes = layout_.full_size() * layout_.numbers();
  for (std::size_t first = 0; first < sides.size();) {
    std::int64_t const count = alike(sides, first);
    auto const number = static_cast<std::int64_t>(first);
    transform_.to_points(sides[first], count, array_spectra_.data() + number * modes,
                         arrays_.data() + (level.first_array + number) * grid_.size());
    first += static_cast<std::size_t>(count);
  }
}

template <class T>
void ModalProducts<T>::make_products(Level& level, evaluate::DeviceClock const* clock,
                                     double part) {
  auto const& sides = level.given->product_sides;
  system::Step<T> step{
      .program = &level.given->program, .grid = grid_, .inputs = {}, .outputs = {}};
  step.inputs.assign(inputs_.begin(),
                     inputs_.begin() + level.first_array + std::ssize(level.given->array_sides));
  for (std::int64_t product = 0; product < std::ssize(sides); ++product)
    step.outputs.push_back(
        {.values = products_at_points_.data() + (level.first_product + product) * grid_.size()});
  step.is_stage = false;
  step.clock = clock;
  step.fraction = part;
  step.prepared = &level.prepared;
  system::advance(stream_, step, variants_.system);
  std::int64_t const modes = layout_.full_size() * layout_.numbers();
  for (std::size_t first = 0; first < sides.size();) {
    std::int64_t const count = alike(sides, first);
    auto const number = level.first_product + static_cast<std::int64_t>(first);
    transform_.to_modes(sides[first], count, products_at_points_.data() + number * grid_.size(),
                        product_spectra_.data() + number * modes);
    first += static_cast<std::size_t>(count);
  }
}

template <class T>
void ModalProducts<T>::evaluate(T const* unknowns, evaluate::DeviceClock const* clock,
                                double part) {
  if (joined_) return joined_->make_products(unknowns, clock, part, product_spectra_.data());
  for (Level& level : levels_) {
    make_arrays(level, unknowns);
    make_products(level, clock, part);
  }
}

template <class T>
std::vector<std::string> ModalProducts<T>::fallbacks() const {
  std::vector<std::string> texts;
  for (Level const& level : levels_)
    if (!level.prepared.fallback.empty() && std::ranges::count(texts, level.prepared.fallback) == 0)
      texts.push_back(level.prepared.fallback);
  return texts;
}

template class ModalTransform<float>;
template class ModalTransform<double>;
template class ModalProducts<float>;
template class ModalProducts<double>;

}  // namespace gridstride
