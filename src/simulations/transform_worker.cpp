#include "simulations/transform_worker.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/difference/difference.hpp"
#include "kernels/evaluate/slabs.hpp"

namespace gridstride::transform {

namespace {

/// The direct variants: what they make of a point does not depend on where a chunk begins.
std::string_view direct(Backend backend) { return convolve::default_variant(backend); }

}  // namespace

template <class T>
Worker<T>::Worker(Stream const& stream, Chain const& chain, std::size_t values)
    : stream_(stream),
      chain_(&chain),
      memory_(stream, MemorySpace::device, values),
      programs_(chain.links().size()),
      filters_(chain.links().size()) {
  for (std::size_t l = 0; l < programs_.size(); ++l) {
    auto const& link = chain.links()[l];
    if (auto const* formula = std::get_if<ByFormula>(&link.work))
      programs_[l].emplace(stream_,
                           evaluate::by_index(formula->expression, link.grid, chain.slowest()),
                           chain.evaluate_variant());
    if (auto const* filter = std::get_if<ByFilter>(&link.work))
      filters_[l].emplace(stream_, filter->taps.values, filter->taps.center);
  }
}

template <class T>
void Worker<T>::compute(Layout const& layout, T const* read, std::vector<ScanState<T>>& scans) {
  if (layout.values > memory_.size())
    throw std::logic_error("transform: a chunk is larger than was foreseen");
  layout_ = &layout;
  read_ = read;
  for (std::size_t l = 0; l < layout.arrays.size(); ++l)
    for (Placed const& piece : layout.arrays[l]) make(static_cast<int>(l), piece, scans);
}

template <class T>
void Worker<T>::make(int place, Placed const& piece, std::vector<ScanState<T>>& scans) {
  auto const& work = chain_->link(place).work;
  if (std::holds_alternative<ByFormula>(work)) evaluate(place, piece);
  if (std::holds_alternative<ByFilter>(work)) filter(place, piece);
  if (std::holds_alternative<ByDifference>(work)) difference(place, piece);
  if (std::holds_alternative<ByScan>(work))
    scan(place, piece, *std::ranges::find(scans, place, &ScanState<T>::place));
}

template <class T>
T const* Worker<T>::find(int place, Rows const& rows) const {
  Placed const& piece = layout_->piece(place, rows);
  T const* const first = std::holds_alternative<FromFile>(chain_->link(place).work)
                             ? read_ + piece.offset
                             : memory_.data() + piece.offset;
  return first + (rows.first - piece.rows.first) * chain_->width(place);
}

template <class T>
Grid Worker<T>::rows_grid(int place, Rows const& rows) const {
  Grid grid = chain_->link(place).grid;
  int const axis = chain_->slowest();
  grid.points[axis] = rows.count();
  grid.origin[axis] = static_cast<double>(rows.first);
  grid.spacing[axis] = 1;
  return grid;
}

template <class T>
void Worker<T>::evaluate(int place, Placed const& piece) {
  std::vector<evaluate::ArrayView> arrays;
  for (int const from : chain_->link(place).from)
    arrays.push_back({find(from, piece.rows), precision_of<T>()});
  auto const grid = rows_grid(place, piece.rows);
  evaluate::evaluate<T>(stream_, *programs_[static_cast<std::size_t>(place)], grid, nullptr, 0,
                        {own(piece.offset), static_cast<std::size_t>(grid.size())}, arrays);
}

template <class T>
void Worker<T>::filter(int place, Placed const& piece) {
  auto const& link = chain_->link(place);
  auto const& work = std::get<ByFilter>(link.work);
  bool const along_rows = work.axis == chain_->slowest();
  Rows const rows = along_rows ? piece.window.rows : piece.rows;
  T const* const in =
      along_rows && piece.window.wraps ? join(place, piece) : find(link.from.front(), rows);
  auto const points = rows_grid(place, rows).points;
  auto const size = static_cast<std::size_t>(rows.count() * chain_->width(place));
  convolve::convolve<T>(stream_, *filters_[static_cast<std::size_t>(place)], {points, work.axis},
                        work.boundary, {in, size},
                        {own(along_rows ? piece.made : piece.offset), size}, work.value,
                        direct(stream_.backend()));
}

/// The window of a filter that goes round: rows of both ends one after the other.
template <class T>
T const* Worker<T>::join(int place, Placed const& piece) {
  int const from = chain_->link(place).from.front();
  std::int64_t const width = chain_->width(place), length = chain_->rows(place);
  T* const target = own(piece.joined);
  Rows const window = piece.window.rows;
  for (std::int64_t first = window.first; first < window.last;) {
    std::int64_t const row = (first % length + length) % length;
    std::int64_t const count = std::min(window.last - first, length - row);
    auto const size = static_cast<std::size_t>(count * width);
    copy_async(std::span<T>(target + (first - window.first) * width, size),
               std::span<T const>(find(from, {row, row + count}), size), stream_);
    first += count;
  }
  return target;
}

template <class T>
void Worker<T>::difference(int place, Placed const& piece) {
  auto const& link = chain_->link(place);
  auto const [axis, order] = std::get<ByDifference>(link.work);
  int const from = link.from.front();
  Rows rows = piece.rows;
  if (axis == chain_->slowest()) rows.last += order;
  auto const in = values(from, rows);
  auto const size = static_cast<std::size_t>(piece.rows.count() * chain_->width(place));
  difference::difference<T>(stream_, {rows_grid(from, rows).points, axis}, order, in,
                            {own(piece.offset), size});
}

template <class T>
void Worker<T>::scan(int place, Placed const& piece, ScanState<T>& state) {
  std::int64_t const first =
      std::max(piece.rows.first, layout_->scanned[static_cast<std::size_t>(place)]);
  T const* const in = first < piece.rows.last
                          ? find(chain_->link(place).from.front(), {first, piece.rows.last})
                          : nullptr;
  state.make(stream_, in, piece.rows, first, own(piece.offset));
}

template <class T>
ScanState<T>::ScanState(Stream const& stream, Chain const& chain, int place, std::int64_t rows)
    : place_(place),
      width_(chain.width(place)),
      capacity_(rows),
      scan_(stream, std::get<ByScan>(chain.link(place).work).what,
            chain.link(place).grid.spacing[0]),
      kept_(stream, MemorySpace::device, static_cast<std::size_t>(rows * width_)) {}

template <class T>
void ScanState<T>::make(Stream& stream, T const* input, Rows const& piece, std::int64_t scanned,
                        T* output) {
  auto const copy = [&](T* target, T const* source, std::int64_t rows) {
    auto const size = static_cast<std::size_t>(rows * width_);
    copy_async(std::span<T>(target, size), std::span<T const>(source, size), stream);
  };
  Rows const again{piece.first, std::min(scanned, piece.last)};
  if (!again.empty()) {
    if (!rows_.holds(again)) throw std::logic_error("transform: a scan has not kept enough rows");
    copy(output, kept_.data() + (again.first - rows_.first) * width_, again.count());
  }
  if (scanned < piece.last) {
    auto const size = static_cast<std::size_t>((piece.last - scanned) * width_);
    scan_.add(stream, {input, size}, {output + (scanned - piece.first) * width_, size});
  }
  rows_ = {std::max(piece.first, piece.last - capacity_), piece.last};
  copy(kept_.data(), output + (rows_.first - piece.first) * width_, rows_.count());
}

template class ScanState<float>;
template class ScanState<double>;
template class Worker<float>;
template class Worker<double>;

}  // namespace gridstride::transform
