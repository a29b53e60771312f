// The step that picks values out: they come to the host chunk by chunk, and end as a table.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/rank_failures.hpp"
#include "core/rank_sums.hpp"
#include "core/ranks.hpp"
#include "core/text.hpp"
#include "kernels/select/select.hpp"
#include "simulations/transform_finder.hpp"

namespace gridstride::transform {

namespace {

template <class T>
class SelectFinder final : public Finder<T> {
 public:
  SelectFinder(Stream const& stream, Chain const& chain, Picked const& picked, std::size_t most,
               double host_bytes)
      : chain_(&chain),
        picked_(picked),
        host_bytes_(host_bytes),
        count_(stream, MemorySpace::device, 1),
        indices_(stream, MemorySpace::device, most),
        selected_(stream, MemorySpace::device, most) {}

  std::vector<int> places() const override {
    if (done_) return {};
    return {picked_.of, picked_.where};
  }
  void take(Worker<T>& worker, Rows const& chunk) override;
  void end_pass(Stream&) override;
  std::vector<Table> tables() const override;

 private:
  void append(std::size_t count, Stream& stream);
  void share();
  void require_room(std::size_t rows) const;

  Chain const* chain_;
  Picked picked_;
  double host_bytes_;  ///< that the table may take
  Buffer<std::int64_t> count_, indices_;
  Buffer<T> selected_;
  std::vector<std::int64_t> found_indices_;
  std::vector<T> found_;
  bool done_ = false;
};

template <class T>
void SelectFinder<T>::take(Worker<T>& worker, Rows const& chunk) {
  auto const rows = chain_->own(picked_.of, chunk);
  if (rows.empty()) return;
  auto const values = worker.values(picked_.of, rows);
  Stream& stream = worker.stream();
  select::flagged<T>(stream, values, worker.values(picked_.where, rows),
                     selected_.span().first(values.size()), indices_.span().first(values.size()),
                     count_.span(), rows.first * chain_->width(picked_.of));
  std::int64_t count = 0;
  copy_async(std::span(&count, 1), std::as_const(count_).span(), stream);
  stream.synchronize();
  append(static_cast<std::size_t>(count), stream);
}

template <class T>
void SelectFinder<T>::require_room(std::size_t rows) const {
  // Its columns are in float64 at the end.
  double const row = sizeof(T) + sizeof(std::int64_t) * (2.0 + 2.0 + chain_->grid().dims);
  if (static_cast<double>(rows) * row > host_bytes_)
    throw Error(
        fmt::format("select: '{}' has {} rows and more, which are beyond the host memory "
                    "of {} (limits.host_memory)",
                    picked_.name, rows, format_bytes(host_bytes_)));
}

template <class T>
void SelectFinder<T>::end_pass(Stream&) {
  done_ = true;
  if (chain_->shares().several()) share();
  auto const bad = std::ranges::find_if_not(found_, [](T value) { return std::isfinite(value); });
  if (bad == found_.end()) return;
  auto const& link = chain_->link(picked_.of);
  auto const index = found_indices_[static_cast<std::size_t>(bad - found_.begin())];
  throw NumericalError(fmt::format("{} is infinite or not a number at {}, which is selected for {}",
                                   link.name, format_place(link.grid, index), picked_.name));
}

/// Those of several ranks follow each other, on all of them.
template <class T>
void SelectFinder<T>::share() {
  RankCuts cuts = {0};
  for (auto const rows : of_all_ranks(ranks(), std::ssize(found_)))
    cuts.push_back(cuts.back() + rows);
  auto const all = static_cast<std::size_t>(cuts.back());
  fail_together(ranks(), [&] { require_room(all); });
  auto const share_column = [&](auto& column) {
    std::remove_reference_t<decltype(column)> shared(all);
    std::ranges::copy(column, shared.begin() + cuts[static_cast<std::size_t>(ranks().rank())]);
    share_parts(ranks(), std::span(shared), cuts);
    column = std::move(shared);
  };
  share_column(found_indices_);
  share_column(found_);
}

template <class T>
void SelectFinder<T>::append(std::size_t count, Stream& stream) {
  std::size_t const before = found_.size(), all = before + count;
  require_room(all);
  found_.resize(all);
  found_indices_.resize(all);
  copy_async(std::span(found_).subspan(before), std::as_const(selected_).span().first(count),
             stream);
  copy_async(std::span(found_indices_).subspan(before), std::as_const(indices_).span().first(count),
             stream);
  stream.synchronize();
}

template <class T>
std::vector<Table> SelectFinder<T>::tables() const {
  auto const& grid = chain_->link(picked_.of).grid;
  Table table{picked_.name,
              {{"index", "1", found_indices_},
               {"value", "1", std::vector<double>(found_.begin(), found_.end())}}};
  for (int axis = 0; axis < grid.dims; ++axis) {
    std::vector<double> coordinates;
    for (std::int64_t const index : found_indices_)
      coordinates.push_back(
          grid.coordinate(axis, grid.indices(index)[static_cast<std::size_t>(axis)]));
    table.columns.push_back(
        {std::string(axis_names[static_cast<std::size_t>(axis)]), "1", std::move(coordinates)});
  }
  return {table};
}

}  // namespace

template <class T>
std::unique_ptr<Finder<T>> make_select(Stream const& stream, Chain const& chain,
                                       Picked const& picked, std::size_t most, double host_bytes) {
  return std::make_unique<SelectFinder<T>>(stream, chain, picked, most, host_bytes);
}

template std::unique_ptr<Finder<float>> make_select(Stream const&, Chain const&, Picked const&,
                                                    std::size_t, double);
template std::unique_ptr<Finder<double>> make_select(Stream const&, Chain const&, Picked const&,
                                                     std::size_t, double);

}  // namespace gridstride::transform
