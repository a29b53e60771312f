#include "kernels/poisson/shared_transforms.hpp"

#include <algorithm>
#include <stdexcept>

namespace gridstride::poisson {

namespace {

/// Where a rank's columns may begin: at each line of x of a volume; of a plane's one line where
/// copies begin at lines of the cache, if there are many such places.
std::int64_t unit_of(Grid const& grid, int ranks) {
  if (grid.dims == 3) return grid.points[0];
  constexpr std::int64_t wide = 32;
  return grid.points[0] >= 4 * wide * ranks ? wide : 2;
}

/// So many that a piece takes longer on its way than to tell of it.
int pieces_of(Grid const& grid, int ranks, std::size_t value_bytes) {
  constexpr std::size_t most = 6, least_bytes = std::size_t{4} << 20;
  auto const count = static_cast<std::size_t>(ranks);
  std::size_t const sent =
      static_cast<std::size_t>(grid.size()) * value_bytes / count * (count - 1) / count;
  return static_cast<int>(std::clamp<std::size_t>(sent / least_bytes, 1, most));
}

}  // namespace

template <class T>
RankCuts SharedTransforms<T>::columns_of(Grid const& grid, int ranks) {
  std::int64_t const all = grid.face_size(grid.dims - 1), unit = unit_of(grid, ranks);
  RankCuts cuts;
  for (int rank = 0; rank < ranks; ++rank) cuts.push_back(all / unit * rank / ranks * unit);
  cuts.push_back(all);
  return cuts;
}

template <class T>
SharedTransforms<T>::SharedTransforms(Stream const& stream, Equation<T> const& equation, int pieces)
    : grid_(equation.grid),
      unknowns_(transform_shape(equation.grid, equation.sides).shape),
      first_{},
      rank_(equation.ranks->ranks().rank()),
      ranks_(equation.ranks->ranks().count()),
      lower_(equation.ranks->lower()),
      ways_(*equation.ranks, stream, columns_of(grid_, ranks_), sizeof(T)),
      pieces_(pieces > 0               ? pieces
              : ways_.goes_in_pieces() ? pieces_of(grid_, ranks_, sizeof(T))
                                       : 1) {
  if (unknowns_.points[0] < 2)
    throw std::invalid_argument("poisson: ranks share transforms of two unknowns along x at least");
  for (int axis = 0; axis < grid_.dims; ++axis)
    first_[static_cast<std::size_t>(axis)] = unknowns(grid_, equation.sides, axis).first;
  if (!ways_.goes_in_pieces()) return;
  beside_.emplace(stream.device());
  turn_.emplace(stream.device());
}

template <class T>
auto SharedTransforms<T>::piece(std::int64_t count, std::int64_t unit, int number) const -> Range {
  auto const cut = [&](int at) {
    return at == pieces_ ? count : count / unit * at / pieces_ * unit;
  };
  return {cut(number), cut(number + 1)};
}

template <class T>
auto SharedTransforms<T>::piece_of_columns(int rank, int number) const -> Range {
  auto const* const cut = ways_.column_cuts().data() + rank;
  return piece(cut[1] - cut[0], unit_of(grid_, ranks_), number);
}

/// In an array of these planes and columns of the grid, whose planes lie `stride` apart.
template <class T>
SharedPart SharedTransforms<T>::part_of(Range const& planes, Range const& columns,
                                        std::int64_t stride) const {
  std::int64_t const nx = grid_.points[0];
  bool const is_volume = grid_.dims == 3;
  std::array<Range, 3> const there =
      is_volume ? std::array<Range, 3>{{{0, nx}, {columns.first / nx, columns.end / nx}, planes}}
                : std::array<Range, 3>{{columns, planes, {0, 1}}};
  fft::Strides const strides{{1, is_volume ? nx : stride, is_volume ? stride : 0}, 0};
  SharedPart part;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t const begin = std::max(there[axis].first, first_[axis]),
                       end = std::min(there[axis].end, first_[axis] + unknowns_.points[axis]);
    part.shape.points[axis] = std::max<std::int64_t>(end - begin, 0);
    part.begin[axis] = begin - first_[axis];
    part.first += (begin - there[axis].first) * strides.axes[axis];
  }
  part.shape.in = part.shape.out = strides;
  return part;
}

/// Of own planes and columns of the grid.
template <class T>
SharedPart SharedTransforms<T>::part_of_planes(Range const& own, Range const& columns) const {
  auto part = part_of({lower_ + own.first, lower_ + own.end}, columns, plane());
  part.first += own.first * plane() + columns.first;
  return part;
}

template <class T>
SharedPart SharedTransforms<T>::part_of_columns(Range const& own) const {
  std::int64_t const first = ways_.first_column(),
                     planes = grid_.points[static_cast<std::size_t>(grid_.dims - 1)];
  auto part = part_of({0, planes}, {first + own.first, first + own.end}, own_columns());
  part.first += own.first;
  return part;
}

template <class T>
fft::Shape SharedTransforms<T>::along(SharedPart const& part,
                                      std::initializer_list<int> axes) const {
  fft::Shape shape = part.shape;
  for (int const axis : axes) {
    auto const i = static_cast<std::size_t>(axis);
    shape.kinds[i] = unknowns_.kinds[i];
  }
  return shape;
}

namespace {

/// A transform of some unknowns; of none nothing is to be done.
template <class T>
void transform_part(Stream& stream, fft::Shape const& shape, std::int64_t first,
                    fft::Direction direction, std::span<T const> in, std::span<T> out,
                    std::string_view variant) {
  if (shape.size() == 0) return;
  auto const at = static_cast<std::size_t>(first);
  fft::transform<T>(stream, shape, direction, in.subspan(at), out.subspan(at), variant);
}

}  // namespace

/// What is queued beside from now on comes after what was queued on the caller's stream.
template <class T>
void SharedTransforms<T>::fork(Stream& stream) {
  if (!beside_) return;
  stream.record(*turn_);
  beside_->wait(*turn_);
}

template <class T>
void SharedTransforms<T>::join(Stream& stream) {
  if (!beside_) return;
  beside_->record(*turn_);
  stream.wait(*turn_);
}

template <class T>
void SharedTransforms<T>::through_columns(Stream& stream, std::span<T const> right, std::span<T> u,
                                          std::string_view variant, Middle const& middle) {
  forward(stream, right, variant);
  fork(stream);
  for (int number = 0; number < pieces_; ++number) {
    Range const range = piece_of_columns(rank_, number);
    auto const part = part_of_columns(range);
    Stream& on = lane(stream, number);
    if (!part.is_empty()) middle(on, part);
    ways_.send_columns(on, range.first, range.end);
  }
  join(stream);
  backward(stream, u, variant);
}

/// Some planes after the other, which are on their way while the next ones are transformed.
template <class T>
void SharedTransforms<T>::forward(Stream& stream, std::span<T const> right,
                                  std::string_view variant) {
  auto const in = own(right);
  fork(stream);
  for (int number = 0; number < pieces_; ++number) {
    Range const range = piece(ways_.own_planes(), 1, number);
    auto const part = part_of_planes(range, {0, plane()});
    auto const shape = grid_.dims == 3 ? along(part, {0, 1}) : along(part, {0});
    Stream& on = lane(stream, number);
    transform_part(on, shape, part.first, fft::Direction::forward, in, planes(), variant);
    ways_.send_planes(on, range.first, range.end);
  }
  join(stream);
  ways_.await_columns(stream);
}

/// Lines of x come back before all of a plane has.
template <class T>
void SharedTransforms<T>::backward(Stream& stream, std::span<T> u, std::string_view variant) {
  bool const is_volume = grid_.dims == 3;
  if (is_volume) {
    own_lines_back(stream, variant);
    fork(stream);
    for (int number = 0; number < pieces_; ++number)
      lines_back(lane(stream, number), number, variant);
    join(stream);
  } else {
    ways_.await_planes(stream);
  }
  auto const part = own_part();
  transform_part<T>(stream, along(part, {is_volume ? 1 : 0}), part.first, fft::Direction::inverse,
                    planes(), own(u), variant);
}

/// Which come from the own columns: nobody has to bring them.
template <class T>
void SharedTransforms<T>::own_lines_back(Stream& stream, std::string_view variant) {
  auto const* const cut = ways_.column_cuts().data() + rank_;
  auto const part = part_of_planes({0, ways_.own_planes()}, {cut[0], cut[1]});
  if (part.is_empty()) return;
  auto shape = along(part, {0});
  shape.in.axes[2] = own_columns();
  std::int64_t const first_plane = lower_ + part.first / plane(),
                     column = part.first % plane() - cut[0];
  std::span<T const> const in =
      columns().subspan(static_cast<std::size_t>(first_plane * own_columns() + column));
  fft::transform<T>(stream, shape, fft::Direction::inverse, in,
                    planes().subspan(static_cast<std::size_t>(part.first)), variant);
}

/// A piece of each of the others.
template <class T>
void SharedTransforms<T>::lines_back(Stream& stream, int number, std::string_view variant) {
  auto const behind = static_cast<std::uint64_t>(pieces_ - 1 - number);
  ways_.await_planes(stream, ways_.last_piece() - behind, RankTransposition::OwnPart::left);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    std::int64_t const first = ways_.column_cuts()[static_cast<std::size_t>(rank)];
    Range const range = piece_of_columns(rank, number);
    auto const part =
        part_of_planes({0, ways_.own_planes()}, {first + range.first, first + range.end});
    transform_part<T>(stream, along(part, {0}), part.first, fft::Direction::inverse, planes(),
                      planes(), variant);
  }
}

template <class T>
void SharedTransforms<T>::load(Stream& stream, std::span<T const> right, std::span<T const> u,
                               std::optional<int> axis, std::string_view variant) {
  copy_async(planes(), own(u), stream);
  auto const part = own_part();
  if (axis)
    return transform_part(stream, along(part, {*axis}), part.first, fft::Direction::forward,
                          own(right), planes(), variant);
  // Of a plane without one: its lines are not transformed before it is transposed.
  auto const at = static_cast<std::size_t>(part.first);
  auto const pitch = static_cast<std::size_t>(plane()) * sizeof(T);
  if (!part.is_empty())
    copy_rows(stream, {.from = std::as_bytes(own(right).subspan(at)).data(),
                       .from_pitch = pitch,
                       .to = std::as_writable_bytes(planes().subspan(at)).data(),
                       .to_pitch = pitch,
                       .width = static_cast<std::size_t>(part.shape.points[0]) * sizeof(T),
                       .rows = static_cast<std::size_t>(part.shape.points[1])});
}

template <class T>
void SharedTransforms<T>::transform(Stream& stream, int axis, fft::Direction direction,
                                    std::string_view variant) {
  if (axis != grid_.dims - 1) {
    auto const part = own_part();
    return transform_part<T>(stream, along(part, {axis}), part.first, direction, planes(), planes(),
                             variant);
  }
  ways_.send_planes(stream, 0, ways_.own_planes());
  ways_.await_columns(stream);
  for (int number = 0; number < pieces_; ++number) {
    Range const range = piece_of_columns(rank_, number);
    auto const part = part_of_columns(range);
    transform_part<T>(stream, along(part, {axis}), part.first, direction, columns(), columns(),
                      variant);
    ways_.send_columns(stream, range.first, range.end);
  }
  ways_.await_planes(stream);
}

template <class T>
void SharedTransforms<T>::store(Stream& stream, std::span<T> u) {
  copy_async(own(u), std::span<T const>(planes()), stream);
}

/// Back as well, so that nobody sends the next ones before they are taken.
template <class T>
void SharedTransforms<T>::bring_columns(Stream& stream, std::span<T const> values,
                                        std::span<T> brought) {
  copy_async(planes(), own(values), stream);
  ways_.send_planes(stream, 0, ways_.own_planes());
  ways_.await_columns(stream);
  if (!brought.empty()) copy_async(brought, std::span<T const>(columns()), stream);
  ways_.send_columns(stream, 0, own_columns());
  ways_.await_planes(stream);
}

template class SharedTransforms<float>;
template class SharedTransforms<double>;

}  // namespace gridstride::poisson
