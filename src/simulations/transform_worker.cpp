#include "simulations/transform_worker.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/difference/difference.hpp"
#include "kernels/evaluate/slabs.hpp"

namespace gridstride::transform {

namespace {

/// The direct variants: what they make of a point does not depend on where a chunk begins.
std::string_view direct(Backend backend) { return convolve::default_variant(backend); }

/// Of fewer values than these the interpreter is done before they could be compiled.
constexpr std::int64_t least_compiled = std::int64_t{1} << 26;

std::string_view evaluate_variant(Chain const& chain, Backend backend) {
  bool const few = chain.grid().size() < least_compiled;
  return chain.evaluate_variant() == "auto" && few ? evaluate::default_variant(backend)
                                                   : std::string_view(chain.evaluate_variant());
}

/// The formulas of a group, on pieces whose coordinates along the slowest axis are indices.
std::vector<evaluate::Formula> formulas_of(Chain const& chain, Together const& group) {
  auto const& [members, inputs] = group;
  std::vector<evaluate::Formula> formulas;
  for (int const member : members) {
    auto const& link = chain.link(member);
    auto const& work = std::get<ByFormula>(link.work);
    auto& formula = formulas.emplace_back(
        evaluate::Formula{evaluate::by_index(work.expression, link.grid, chain.slowest()), {}});
    for (int const from : link.from) {
      auto const input = std::ranges::find(inputs, from) - inputs.begin();
      auto const result = std::ranges::find(members, from) - members.begin();
      formula.from.push_back(
          static_cast<int>(input < std::ssize(inputs) ? input : std::ssize(inputs) + result));
    }
  }
  return formulas;
}

}  // namespace

template <class T>
Worker<T>::Worker(Stream const& stream, Chain const& chain, std::size_t values)
    : stream_(stream),
      chain_(&chain),
      memory_(stream, MemorySpace::device, values),
      filters_(chain.links().size()) {
  std::string_view const variant = evaluate_variant(chain, stream.backend());
  for (auto const& group : chain.together())
    formulas_.emplace_back(stream_, formulas_of(chain, group),
                           static_cast<int>(group.inputs.size()), variant);
  for (std::size_t l = 0; l < filters_.size(); ++l)
    if (auto const* filter = std::get_if<ByFilter>(&chain.links()[l].work))
      filters_[l].emplace(stream_, filter->taps.values, filter->taps.center);
}

template <class T>
std::vector<std::string> Worker<T>::fallbacks() const {
  std::vector<std::string> lines;
  for (auto const& formulas : formulas_)
    if (auto const& line = formulas.fallback();
        !line.empty() && std::ranges::find(lines, line) == lines.end())
      lines.push_back(line);
  return lines;
}

template <class T>
std::size_t Worker<T>::bytes(Chain const& chain) {
  std::size_t bytes = 0;
  for (auto const& group : chain.together())
    for (auto const& formula : formulas_of(chain, group))
      bytes += formula.expression.nodes().size() * sizeof(evaluate::Instruction);
  for (auto const& link : chain.links())
    if (auto const* filter = std::get_if<ByFilter>(&link.work))
      bytes += filter->taps.values.size() * sizeof(T);
  return bytes;
}

template <class T>
void Worker<T>::compute(Layout const& layout, T const* read, Resident<T> const& resident,
                        std::vector<ScanState<T>>& scans) {
  if (layout.values > memory_.size())
    throw std::logic_error("transform: a chunk is larger than was foreseen");
  layout_ = &layout;
  read_ = read;
  resident_ = &resident;
  auto const& groups = chain_->together();
  for (std::size_t l = 0; l < layout.arrays.size(); ++l) {
    // What a group is of has been made before its first member.
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (groups[g].members.front() == static_cast<int>(l)) evaluate(g);
    for (Placed const& piece : layout.arrays[l]) make(static_cast<int>(l), piece, scans);
  }
}

template <class T>
void Worker<T>::make(int place, Placed const& piece, std::vector<ScanState<T>>& scans) {
  auto const& work = chain_->link(place).work;
  if (std::holds_alternative<ByFilter>(work)) filter(place, piece);
  if (std::holds_alternative<ByDifference>(work)) difference(place, piece);
  if (std::holds_alternative<ByScan>(work))
    scan(place, piece, *std::ranges::find(scans, place, &ScanState<T>::place));
}

template <class T>
T const* Worker<T>::find(int place, Rows const& rows) const {
  Placed const& piece = layout_->piece(place, rows);
  std::int64_t const width = chain_->width(place);
  if (piece.resident) {
    auto const l = static_cast<std::size_t>(place);
    return resident_->values[l].data() + (rows.first - resident_->rows[l].first) * width;
  }
  T const* const first = std::holds_alternative<FromFile>(chain_->link(place).work)
                             ? read_ + piece.offset
                             : memory_.data() + piece.offset;
  return first + (rows.first - piece.rows.first) * width;
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

/// All members that the layout has are there for the same rows.
template <class T>
void Worker<T>::evaluate(std::size_t group) {
  auto const& [members, inputs] = chain_->together()[group];
  auto const pieces_of = [&](int place) -> std::vector<Placed> const& {
    return layout_->arrays[static_cast<std::size_t>(place)];
  };
  auto const there =
      std::ranges::find_if(members, [&](int member) { return !pieces_of(member).empty(); });
  if (there == members.end()) return;
  for (std::size_t p = 0; p < pieces_of(*there).size(); ++p) {
    Rows const rows = pieces_of(*there)[p].rows;
    std::vector<T*> results;
    std::vector<evaluate::ArrayView> arrays(inputs.size(), {nullptr, precision_of<T>()});
    for (int const member : members) {
      bool const wanted = !pieces_of(member).empty();
      results.push_back(wanted ? own(pieces_of(member)[p].offset) : nullptr);
      for (int const from : chain_->link(member).from)
        if (auto const input = std::ranges::find(inputs, from); wanted && input != inputs.end())
          arrays[static_cast<std::size_t>(input - inputs.begin())].data = find(from, rows);
    }
    evaluate::evaluate<T>(stream_, formulas_[group], rows_grid(*there, rows), results, arrays);
  }
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
std::size_t ScanState<T>::bytes(Device const& device, Chain const& chain, int place,
                                std::int64_t rows) {
  return static_cast<std::size_t>(rows * chain.width(place)) * sizeof(T) +
         scan::RunningScan<T>::bytes(device);
}

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
  if (scanned >= piece.last) return;
  auto const size = static_cast<std::size_t>((piece.last - scanned) * width_);
  scan_.add(stream, {input, size}, {output + (scanned - piece.first) * width_, size});
  rows_ = {std::max(piece.first, piece.last - capacity_), piece.last};
  copy(kept_.data(), output + (rows_.first - piece.first) * width_, rows_.count());
}

template class ScanState<float>;
template class ScanState<double>;
template class Worker<float>;
template class Worker<double>;

}  // namespace gridstride::transform
