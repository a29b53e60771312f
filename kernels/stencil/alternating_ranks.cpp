#include "kernels/stencil/alternating_ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/error.hpp"
#include "kernels/stencil/alternating_work.hpp"

namespace gridstride::stencil {

namespace {

int parts_of_rows(std::int64_t rows) {
  return static_cast<int>((rows + rows_of_block - 1) / rows_of_block);
}

/// Of all that is told of a grid's lines.
template <class T>
std::size_t told_bytes(std::int64_t lines, int parts) {
  return static_cast<std::size_t>(told_of_line(parts) * lines) * sizeof(Told<T>);
}

/// With the numbers of passes; passes take turns.
template <class T>
std::size_t box_bytes(std::int64_t lines, int parts) {
  return 2 * told_bytes<T>(lines, parts);
}

std::int64_t planes_of(Grid const& grid) { return grid.points[grid.dims - 1]; }

constexpr std::size_t beside_bytes = 256;  // that nobody sends

}  // namespace

template <class T>
std::size_t SharedLines<T>::bytes(Grid const& grid, int ranks) {
  std::int64_t const planes = planes_of(grid), lines = grid.size() / planes;
  int const parts = parts_of_rows(planes);
  std::size_t const told = told_bytes<T>(lines, parts);
  return std::max(2 * box_bytes<T>(lines, parts),
                  told + RankPieces::bytes(beside_bytes, told, ranks));
}

template <class T>
SharedLines<T>::SharedLines(RankPlanes const& planes, Stream const& stream, Grid const& grid)
    : planes_(planes),
      lines_(grid.size() / planes_of(grid)),
      parts_(parts_of_rows(planes_of(grid))) {
  static_assert(planes_together == rows_of_block);
  if (planes_of(grid) != planes.all())
    throw std::invalid_argument("stencil: another grid than the ranks' planes");
  for (std::int64_t const cut : planes.cuts())
    if (cut % planes_together != 0 && cut != planes.all())
      throw std::invalid_argument("stencil: ranks cut parts of lines");
  if (planes.by_kernels()) {
    boxes_ = std::make_unique<RankMemory>(planes.ranks(), stream, 2 * box_bytes<T>(lines_, parts_));
    if (!boxes_->failure().empty()) throw Error(boxes_->failure());
    return;
  }
  std::size_t const told = told_bytes<T>(lines_, parts_);
  pieces_ = std::make_unique<RankPieces>(planes, stream, beside_bytes, told);
  Stream queue = stream;
  told_ = Buffer<std::byte>(queue, MemorySpace::device, told);
  zero_async(told_.span(), queue);
}

#ifdef GRIDSTRIDE_WITH_CUDA
namespace {

bool is_aligned(void const* array) { return reinterpret_cast<std::uintptr_t>(array) % 16 == 0; }

/// The rows of a rank, along x.
template <class T>
LineSweep<T> rows_of(AlternatingStep<T> const& step, RankPlanes const& planes) {
  auto sweep = sweep_of(step, 0);
  sweep.lines = planes.upper() - planes.lower();
  for (std::size_t side = 0; side < 2; ++side) {
    if (sweep.end_values[side] != nullptr) sweep.end_values[side] += planes.lower();
    if (planes.beside()[side] < 0) continue;
    sweep.goes_on[side] = true;
    sweep.sides[side] = SideRule::periodic;
    sweep.side_values[side] = nullptr;
  }
  return sweep;
}

/// What each rank tells, where all of it lies.
template <class T>
std::vector<RankPieces::Pieces> pieces_of(std::span<std::byte> told, std::int64_t lines, int parts,
                                          RankCuts const& cuts) {
  std::size_t const one = static_cast<std::size_t>(lines) * sizeof(Told<T>);
  auto const piece = [&](int first, int count) {
    return told.subspan(static_cast<std::size_t>(first) * one,
                        static_cast<std::size_t>(count) * one);
  };
  std::vector<RankPieces::Pieces> of_ranks;
  for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank) {
    int const first = parts_of_rows(cuts[rank]), end = parts_of_rows(cuts[rank + 1]);
    of_ranks.push_back({piece(first, end - first)});
  }
  of_ranks.front().push_back(piece(parts, 1));
  of_ranks.back().push_back(piece(parts + 1, 1));
  return of_ranks;
}

}  // namespace
#endif

template <class T>
void SharedLines<T>::step([[maybe_unused]] Stream& stream,
                          [[maybe_unused]] AlternatingStep<T> const& step,
                          [[maybe_unused]] T* out) {
  if (step.u == nullptr || step.work == nullptr || out == nullptr || step.u == step.work ||
      out == step.work || out == step.u)
    throw std::invalid_argument("stencil: a shared alternating step needs three arrays");
  if (!takes_alternating(stream.device(), step))
    throw std::invalid_argument("stencil: alternating steps of this kind are not made here");
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_alternating_rows(stream, rows_of(step, planes_));
  auto columns = sweep_of(step, 1);
  std::int64_t const before = planes_.lower() * lines_;
  columns.in = step.work - before;
  columns.out = out - before;
  columns.vectors = columns.vectors && is_aligned(out);
  solve(stream, columns);
#endif
}

template <class T>
void SharedLines<T>::solve([[maybe_unused]] Stream& stream, [[maybe_unused]] LineSolve<T> lines) {
  if (lines.in == nullptr || lines.out == nullptr || lines.axis != lines.grid.dims - 1 ||
      !takes_lines(stream.device(), lines))
    throw std::invalid_argument("stencil: lines of this kind are not solved by ranks");
#ifdef GRIDSTRIDE_WITH_CUDA
  std::int64_t const before = planes_.lower() * lines_;
  lines.in -= before;
  lines.out -= before;
  solve(stream, sweep_of(lines));
#endif
}

/// With `in` and `out` as if they had all planes.
template <class T>
void SharedLines<T>::solve([[maybe_unused]] Stream& stream,
                           [[maybe_unused]] LineSweep<T> const& columns) {
#ifdef GRIDSTRIDE_WITH_CUDA
  ColumnShare<T> share;
  share.first_part = parts_of_rows(planes_.lower());
  share.parts = parts_of_rows(planes_.upper()) - share.first_part;
  if (boxes_) {
    share.rank = planes_.ranks().rank();
    share.ranks = planes_.ranks().count();
    share.number = ++number_;
    std::size_t const turn = number_ % 2 * box_bytes<T>(lines_, parts_);
    for (int rank = 0; rank < share.ranks; ++rank)
      share.boxes[rank] = reinterpret_cast<ToldLine*>(boxes_->of(rank) + turn);
    return cuda_alternating_columns(stream, columns, share);
  }
  share.told = reinterpret_cast<Told<T>*>(told_.data());
  cuda_tell_columns(stream, columns, share);
  pieces_->gather(stream, pieces_of<T>(told_.span(), lines_, parts_, planes_.cuts()));
  cuda_alternating_columns(stream, columns, share);
#endif
}

template class SharedLines<float>;
template class SharedLines<double>;

}  // namespace gridstride::stencil
