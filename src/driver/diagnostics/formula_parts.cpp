// Formulas of fields of which each of several ranks has a part. The pieces that one process has, and the blocks
// of these that are summed by themselves, are cut nowhere else: who has values of a block sends them to who has
// all of it for a while.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/rank_failures.hpp"
#include "core/rank_sums.hpp"
#include "driver/diagnostics/formula.hpp"
#include "expression/transform.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "kernels/support/parallel_for.hpp"
#include "model/rank_arrays.hpp"
#include "model/value_boxes.hpp"

namespace gridstride::formula {
namespace {

/// The weight of the trapezoidal rule along an axis, of the number of a point.
Expression weight_along(int axis, std::int64_t points) {
  using expression::Operation;
  auto const half_at = [axis](std::int64_t end, Expression const& other) {
    auto const is_end = expression::apply(Operation::equal, Expression::variable(axis),
                                          Expression(static_cast<double>(end)));
    return expression::apply(Operation::select, is_end, Expression(0.5), other);
  };
  return half_at(0, half_at(points - 1, Expression(1.0)));
}

/// Along all axes but the slowest.
Expression weight(config::RunOptions const& run) {
  Expression product(1.0);
  for (int axis = 0; axis < run.grid.dims - 1; ++axis)
    if (!is_periodic(run, axis)) product = product * weight_along(axis, run.grid.points[axis]);
  return product;
}

}  // namespace

/// A quantity is an array.
Expression by_indices(config::RunOptions const& run, Entry const& entry, bool weighs) {
  auto const formula = entry.quantity().empty() ? evaluate::by_indices(entry.formula(), run.grid)
                                                : Expression::variable(expression::first_array);
  return weighs ? formula * weight(run) : formula;
}

namespace {

/// One formula, times the weights for an integral.
template <class T>
class OfParts {
 public:
  OfParts(config::RunOptions const& run, Entry const& entry, bool weighs, OwnParts<T> const& parts)
      : run_(run),
        parts_(parts),
        weighs_(weighs),
        pieces_(pieces_of(run, run.grid)),
        stream_(parts.stream),
        program_(stream_, by_indices(run, entry, weighs && is_on_device()),
                 evaluate_variant(run, stream_.backend())),
        clock_(stream_, MemorySpace::device, 1),
        slabs_(stream_, parts.plan, parts.ranks) {
    evaluate::set_clock(stream_, clock_.data(), {parts.clock.time, 0, 0});
    if (!entry.quantity().empty()) {
      arrays_ = {find({entry.quantity(), entry.quantity()})};
      reads_ = {true};
      return;
    }
    for (Variable const& array : arrays_of(run))
      if (!array.own_grid) arrays_.push_back(find(array));
    reads_ = reads(entry.formula(), arrays_.size());
  }

  std::span<Piece const> pieces() const { return pieces_; }
  /// All ranks call it; on the first one, the moments of each piece.
  std::vector<Moments> moments();
  /// All ranks call it: on the first one the first point of a piece with this value, which some point of it has.
  std::int64_t place_of(double value, std::size_t piece);

 private:
  using Slab = typename RankArrays<double>::Slab;
  /// Of a block of a piece.
  struct Block {
    std::int64_t piece, place;
    Moments moments;
  };

  std::span<T const> find(Variable const& array) const;
  std::int64_t end_of(std::size_t piece) const {
    return pieces_[piece].first + pieces_[piece].grid.size();
  }
  bool is_on_device() const { return stream_.backend() == Backend::cuda; }
  std::vector<std::int64_t> cuts_of(Planes const& pieces) const;
  void look(Planes const& pieces, std::function<void(Slab const&)> const& use, bool alone);
  void find_where_it_lies(std::vector<Block>& own);
  void evaluate_box(PointBox const& box, double* values);
  void weigh(PointBox const& box, double* values) const;
  double weight(int axis, std::int64_t at) const;
  std::vector<Block> blocks_at(std::int64_t first, std::size_t values) const;
  std::vector<Block> blocks_of(Slab const& slab) const;

  config::RunOptions const& run_;
  OwnParts<T> const& parts_;
  bool weighs_;
  std::vector<Piece> pieces_;
  Stream stream_;
  evaluate::Program program_;
  Buffer<evaluate::DeviceClock> clock_;
  RankArrays<double> slabs_;
  std::vector<std::span<T const>> arrays_;
  std::vector<bool> reads_;  // which of them the formula does
};

template <class T>
std::span<T const> OfParts<T>::find(Variable const& array) const {
  auto const field = std::ranges::find(parts_.fields, array.field, &OwnField::name);
  if (field == parts_.fields.end()) throw std::invalid_argument("diagnostics: a field is missing");
  return parts_.values[static_cast<std::size_t>(field - parts_.fields.begin())]
                      [static_cast<std::size_t>(array.component)];
}

/// Of slabs of whole blocks.
template <class T>
std::vector<std::int64_t> OfParts<T>::cuts_of(Planes const& pieces) const {
  std::vector<std::int64_t> cuts;
  for (auto p = static_cast<std::size_t>(pieces.lower); p < static_cast<std::size_t>(pieces.upper);
       ++p)
    for (std::int64_t first = pieces_[p].first; first < end_of(p);
         first += RankArrays<double>::slab_points(1))
      cuts.push_back(first);
  cuts.push_back(end_of(static_cast<std::size_t>(pieces.upper - 1)));
  return cuts;
}

/// Of slabs that this rank alone has values of, or without these.
template <class T>
void OfParts<T>::look(Planes const& pieces, std::function<void(Slab const&)> const& use,
                      bool alone) {
  auto const make = [this](std::size_t, PointBox const& box, double* values) {
    evaluate_box(box, values);
  };
  slabs_.look_at_made(1, make, RankArrays<double>::Owners::all, use, cuts_of(pieces),
                      [alone](std::size_t) { return !alone; });
}

/// What a GPU alone has values of stays there.
template <class T>
void OfParts<T>::find_where_it_lies(std::vector<Block>& own) {
  auto const slabs = slabs_.alone(cuts_of({0, std::ssize(pieces_)}));
  auto const most = static_cast<std::size_t>(RankArrays<double>::slab_points(1));
  Buffer<double> values(stream_, MemorySpace::device, slabs.empty() ? 0 : most);
  for (auto const& [first, last] : slabs) {
    auto const blocks = blocks_at(first, static_cast<std::size_t>(last - first));
    own.insert(own.end(), blocks.begin(), blocks.end());
  }
  Buffer<Moments> on_device(stream_, MemorySpace::device, own.size());
  std::size_t done = 0;
  for (auto const& [first, last] : slabs) {
    double* next = values.data();
    for (PointBox const& box : boxes_of(run_.grid, first, last)) {
      evaluate_box(box, next);
      next += gridstride::size_of(box);
    }
    auto const size = static_cast<std::size_t>(last - first);
    auto const blocks = blocks_at(first, size).size();
    reduce::block_moments<double>(stream_, std::as_const(values).span().first(size),
                                  own[done].place * reduce::host_block,
                                  on_device.span().subspan(done, blocks));
    done += blocks;
  }
  std::vector<Moments> found(own.size());
  copy_async(std::span(found), std::as_const(on_device).span(), stream_);
  stream_.synchronize();
  for (std::size_t b = 0; b < own.size(); ++b) own[b].moments = found[b];
}

/// Of strips the values of arrays come together first.
template <class T>
void OfParts<T>::evaluate_box(PointBox const& box, double* values) {
  auto const rows = block_rows(points_of(box), parts_.plan.shape.grid.points, points_of(box));
  std::int64_t const place = place_of_box(parts_.plan, parts_.ranks.rank(), box);
  std::vector<Buffer<T>> packed;
  std::vector<evaluate::ArrayView> views;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    T const* there = arrays_[i].data() + place;
    if (reads_[i] && rows.rows > 1) {
      auto& target = packed.emplace_back(stream_, MemorySpace::device,
                                         static_cast<std::size_t>(gridstride::size_of(box)));
      copy_rows(stream_, copied_rows(rows, const_cast<T*>(there), target.data(), false));
      there = target.data();
    }
    views.push_back({there, precision_of<T>()});
  }
  auto const size = static_cast<std::size_t>(gridstride::size_of(box));
  evaluate::evaluate<double>(stream_, program_, index_grid(run_.grid, box), clock_.data(), 0,
                             std::span(values, size), views);
  if (weighs_ && !is_on_device()) weigh(box, values);
}

template <class T>
double OfParts<T>::weight(int axis, std::int64_t at) const {
  bool const is_end = at == 0 || at == run_.grid.points[static_cast<std::size_t>(axis)] - 1;
  return axis < run_.grid.dims - 1 && is_end && !is_periodic(run_, axis) ? 0.5 : 1;
}

/// Along all axes but the slowest.
template <class T>
void OfParts<T>::weigh(PointBox const& box, double* values) const {
  std::int64_t const line = box[0].count(), last = box[0].upper - 1;
  for (std::int64_t z = box[2].lower; z < box[2].upper; ++z)
    for (std::int64_t y = box[1].lower; y < box[1].upper; ++y, values += line) {
      double const of_line = weight(1, y) * weight(2, z);
      values[0] *= of_line * weight(0, box[0].lower);
      for (std::int64_t i = 1; i < line - 1 && of_line != 1; ++i) values[i] *= of_line;
      if (line > 1) values[line - 1] *= of_line * weight(0, last);
    }
}

/// Those of so many values of a piece.
template <class T>
auto OfParts<T>::blocks_at(std::int64_t first, std::size_t values) const -> std::vector<Block> {
  auto const after = std::ranges::upper_bound(pieces_, first, {}, &Piece::first);
  std::int64_t const piece = after - pieces_.begin() - 1;
  std::int64_t const place =
      (first - pieces_[static_cast<std::size_t>(piece)].first) / reduce::host_block;
  std::vector<Block> blocks((values + reduce::host_block - 1) / reduce::host_block);
  for (std::size_t n = 0; n < blocks.size(); ++n)
    blocks[n] = {piece, place + static_cast<std::int64_t>(n), {}};
  return blocks;
}

template <class T>
auto OfParts<T>::blocks_of(Slab const& slab) const -> std::vector<Block> {
  auto const values = slab.values.front();
  auto const block = static_cast<std::size_t>(reduce::host_block);
  auto blocks = blocks_at(slab.first, values.size());
  parallel_for(std::ssize(blocks), reduce::host_block, [&](std::int64_t n) {
    auto const rest = values.subspan(static_cast<std::size_t>(n) * block);
    auto& [piece, place, moments] = blocks[static_cast<std::size_t>(n)];
    reduce::block_moments(rest.first(std::min(block, rest.size())), place * reduce::host_block,
                          std::span(&moments, 1));
  });
  return blocks;
}

template <class T>
std::vector<Moments> OfParts<T>::moments() {
  std::mutex mutex;
  std::vector<Block> own;
  if (is_on_device()) find_where_it_lies(own);
  look(
      {0, std::ssize(pieces_)},
      [&](Slab const& slab) {
        auto const blocks = blocks_of(slab);
        std::scoped_lock const lock(mutex);
        own.insert(own.end(), blocks.begin(), blocks.end());
      },
      !is_on_device());
  auto const blocks = to_first(parts_.ranks, own);
  if (!parts_.ranks.is_first()) return {};
  std::vector<std::vector<Moments>> of_pieces(pieces_.size());
  for (std::size_t p = 0; p < pieces_.size(); ++p)
    of_pieces[p].resize(static_cast<std::size_t>((pieces_[p].grid.size() + reduce::host_block - 1) /
                                                 reduce::host_block));
  for (auto const& [piece, place, moments] : blocks)
    of_pieces[static_cast<std::size_t>(piece)][static_cast<std::size_t>(place)] = moments;
  std::vector<Moments> found;
  for (auto const& of_piece : of_pieces)
    found.push_back(reduce::combined_moments(std::span<Moments const>(of_piece)));
  return found;
}

template <class T>
std::int64_t OfParts<T>::place_of(double value, std::size_t piece) {
  std::mutex mutex;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  auto const number = static_cast<std::int64_t>(piece);
  auto const use = [&](Slab const& slab) {
    auto const values = slab.values.front();
    auto const place = std::ranges::find(values, value);
    if (place == values.end()) return;
    std::scoped_lock const lock(mutex);
    first = std::min(first, slab.first + (place - values.begin()));
  };
  look({number, number + 1}, use, true);
  auto const all = of_all_ranks(parts_.ranks, first);
  return *std::ranges::min_element(all);
}

}  // namespace

template <Find find, class T>
std::vector<double> find_by_parts(config::RunOptions const& run, OwnParts<T> const& parts) {
  std::vector<double> values;
  for (auto const* asked : asked_for<Of<find>>(run)) {
    OfParts<T> formula(run, *asked, find == Find::integral, parts);
    auto const moments = formula.moments();
    OnPieces const found{run.grid, formula.pieces(), moments};
    fail_together(parts.ranks, [&] {
      if (!parts.ranks.is_first()) return;
      if (auto const point = found.first_non_finite())
        throw_not_finite(asked->name(), run.grid, *point, parts.clock);
    });
    OnPieces::Extreme extreme = {};
    if (parts.ranks.is_first() && find == Find::integral) values.push_back(found.integral());
    if (parts.ranks.is_first() && find != Find::integral) {
      extreme = found.extreme(find);
      values.push_back(extreme.value);
    }
    if (!asked->where()) continue;
    parts.ranks.broadcast(std::as_writable_bytes(std::span(&extreme, 1)));
    auto const at =
        run.grid.indices(formula.place_of(extreme.value, static_cast<std::size_t>(extreme.piece)));
    for (int axis = 0; axis < run.grid.dims; ++axis)
      values.push_back(run.grid.coordinate(axis, at[axis]));
  }
  return values;
}

#define GRIDSTRIDE_INSTANTIATE(FIND)                                          \
  template std::vector<double> find_by_parts<FIND>(config::RunOptions const&, \
                                                   OwnParts<float> const&);   \
  template std::vector<double> find_by_parts<FIND>(config::RunOptions const&, \
                                                   OwnParts<double> const&);
GRIDSTRIDE_INSTANTIATE(Find::integral)
GRIDSTRIDE_INSTANTIATE(Find::minimum)
GRIDSTRIDE_INSTANTIATE(Find::maximum)
#undef GRIDSTRIDE_INSTANTIATE

}  // namespace gridstride::formula
