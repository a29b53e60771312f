#include "model/rank_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "core/own_places.hpp"
#include "core/rank_failures.hpp"
#include "core/rank_sums.hpp"
#include "model/bricks.hpp"
#include "model/out_of_core.hpp"

namespace gridstride {

NotFinite::NotFinite(double found, std::int64_t step, double time, std::string const& of,
                     Grid const& grid, std::int64_t at)
    : NumericalError(std::isnan(found) ? "NaN" : "infinity", step, time, of, grid.indices(at)),
      value(found),
      field(of),
      place(at) {}

bool is_written_in_parts(config::RunConfig const& run, Backend backend) {
  bool const is_of_state = std::ranges::all_of(run.fields, [&](config::FieldInfo const& field) {
    return field.components.empty() && run.initial.contains(field.name);
  });
  auto const variant = run.kernels.find("reduce");
  bool const has_norms =
      std::ranges::all_of(run.diagnostics, [](auto const& entry) { return entry.kind == "norms"; });
  bool const finds_norms =
      variant == run.kernels.end() || variant->second == "auto" || variant->second == "threads";
  bool const is_found_so = backend == Backend::cpu
                               ? has_norms && finds_norms
                               : run.diagnostics.empty() && ranks_here(run) < run.ranks;
  return run.ranks > 1 && is_of_state && is_found_so &&
         std::ranges::all_of(run.output.every_nth_point, [](std::int64_t n) { return n == 1; });
}

std::size_t file_slabs_bytes(Backend backend, std::size_t array_bytes) {
  std::size_t const slab = std::min(array_bytes, slab_of_files);
  std::size_t const in_round = 3 * RankArrays<double>::slabs_at_once * slab;
  return in_round + (backend == Backend::cuda ? RankArrays<double>::most_lanes * slab : 0);
}

template <class T>
RankFiles<T>::RankFiles(Stream const& stream, SweepPlan const& plan, Ranks& ranks, OwnFiles files)
    : ranks_(ranks),
      arrays_(stream, plan, ranks),
      grid_(whole_grid(plan)),
      files_(std::move(files)) {}

template <class T>
std::vector<FieldMoments> RankFiles<T>::write(std::span<std::span<T const> const> own,
                                              Names const& names, std::vector<Written> targets,
                                              bool wants_moments) {
  fault_ = {};
  blocks_.clear();
  try {
    std::string lack = files_.lack;
    if (lack.empty()) {
      OwnPlaces places(ranks_, targets, files_.open, OwnPlaces::Seen::everywhere);
      lack = places.lacking();
      if (lack.empty())
        fail_together(ranks_, [&] {
          places.during(
              [&] { put(own, places.written(), RankArrays<T>::Owners::all, wants_moments); });
        });
    }
    if (!lack.empty())
      fail_together(ranks_,
                    [&] { put(own, targets, RankArrays<T>::Owners::first, wants_moments); });
    if (!lack.empty()) way_ = fmt::format("the first rank ({})", lack);
    refuse_faults(names);
  } catch (std::exception const&) {
    throw FailedTogether(std::current_exception());
  }
  return wants_moments ? moments_of(own) : std::vector<FieldMoments>();
}

template <class T>
void RankFiles<T>::put(std::span<std::span<T const> const> own, std::vector<Written> const& written,
                       typename RankArrays<T>::Owners owners, bool wants_moments) {
  arrays_.look(own, owners, [&](Slab const& slab) { take(slab, written, wants_moments); });
}

/// What comes after a value that is not finite is of no use.
template <class T>
void RankFiles<T>::take(Slab const& slab, std::vector<Written> const& written, bool wants_moments) {
  auto const array = static_cast<std::int64_t>(slab.array);
  if (std::int64_t const place = reduce::first_non_finite_on_host(slab.values); place >= 0) {
    std::scoped_lock const lock(mutex_);
    Fault const fault{array, slab.first + place,
                      static_cast<double>(slab.values[static_cast<std::size_t>(place)])};
    if (fault_.array < 0 ||
        std::pair(fault.array, fault.place) < std::pair(fault_.array, fault_.place))
      fault_ = fault;
    return;
  }
  if (wants_moments) {
    std::vector<Moments> of_blocks((slab.values.size() + reduce::host_block - 1) /
                                   reduce::host_block);
    reduce::block_moments(slab.values, slab.first, std::span(of_blocks));
    std::scoped_lock const lock(mutex_);
    for (std::size_t b = 0; b < of_blocks.size(); ++b)
      blocks_.push_back({slab.array,
                         static_cast<std::uint64_t>(slab.first / reduce::host_block) + b,
                         of_blocks[b]});
  }
  for (auto const& [place, sink] : written)
    if (place == array)
      sink->write(static_cast<std::uint64_t>(slab.first) * sizeof(T), std::as_bytes(slab.values));
}

/// Throws for the first one that any rank has found.
template <class T>
void RankFiles<T>::refuse_faults(Names const& names) {
  Fault first;
  for (Fault const& fault : of_all_ranks(ranks_, fault_))
    if (fault.array >= 0 && (first.array < 0 || std::pair(fault.array, fault.place) <
                                                    std::pair(first.array, first.place)))
      first = fault;
  if (first.array < 0) return;
  throw NotFinite(first.value, names.clock.step, names.clock.time,
                  names.arrays[static_cast<std::size_t>(first.array)], grid_, first.place);
}

/// Where squares or the sum may leave the range of float64, they are found once more, of values times a
/// power of two.
template <class T>
std::vector<FieldMoments> RankFiles<T>::moments_of(std::span<std::span<T const> const> own) {
  std::vector<FieldMoments> found(own.size());
  auto const all = blocks_of_all(own.size());
  for (std::size_t array = 0; array < all.size(); ++array) {
    auto const moments = reduce::combined_moments(std::span(all[array]));
    found[array] = {moments.minimum, moments.maximum, moments.sum, moments.sum_of_squares, 0,
                    moments.sum};
    double const largest = std::max(std::abs(found[array].minimum), std::abs(found[array].maximum));
    if (largest != 0 && !(largest > 1e-140 && largest < 1e140))
      found[array].exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  }
  scale(own, found);
  return found;
}

/// On the first rank, the blocks of each array in their order; nothing on the others.
template <class T>
auto RankFiles<T>::blocks_of_all(std::size_t arrays) -> std::vector<std::vector<Moments>> {
  auto const blocks = to_first(ranks_, std::exchange(blocks_, {}));
  if (!ranks_.is_first()) return {};
  auto const each =
      static_cast<std::size_t>((arrays_.size() + reduce::host_block - 1) / reduce::host_block);
  std::vector<std::vector<Moments>> all(arrays, std::vector<Moments>(each));
  for (auto const& [array, number, moments] : blocks) all[array][number] = moments;
  return all;
}

/// By slabs, of as many values as the pieces that diagnostics take.
template <class T>
void RankFiles<T>::scale(std::span<std::span<T const> const> own,
                         std::vector<FieldMoments>& found) {
  ranks_.broadcast(std::as_writable_bytes(std::span(found)));
  if (std::ranges::all_of(found, [](FieldMoments const& one) { return one.exponent == 0; })) return;
  arrays_.look(own, RankArrays<T>::Owners::all, [&](Slab const& slab) {
    if (found[slab.array].exponent == 0) return;
    auto const factor = static_cast<T>(std::scalbn(1.0, -found[slab.array].exponent));
    std::vector<T> scaled(slab.values.begin(), slab.values.end());
    for (T& value : scaled) value *= factor;
    std::vector<Moments> of_blocks((scaled.size() + reduce::host_block - 1) / reduce::host_block);
    reduce::block_moments(std::span<T const>(scaled), 0, std::span(of_blocks));
    auto const moments = reduce::combined_moments(std::span<Moments const>(of_blocks));
    std::scoped_lock const lock(mutex_);
    blocks_.push_back(
        {slab.array, static_cast<std::uint64_t>(slab.first / RankArrays<T>::slab_values), moments});
  });
  auto const all = blocks_of_all(own.size());
  for (std::size_t array = 0; array < all.size(); ++array) {
    if (found[array].exponent == 0) continue;
    found[array].sum = found[array].sum_of_squares = 0;
    for (Moments const& piece : all[array]) {
      found[array].sum += piece.sum;
      found[array].sum_of_squares += piece.sum_of_squares;
    }
  }
}

template class RankFiles<float>;
template class RankFiles<double>;

}  // namespace gridstride
