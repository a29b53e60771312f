#include "model/rank_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <ranges>
#include <tuple>
#include <utility>

#include "config/run_fields.hpp"
#include "core/own_places.hpp"
#include "core/rank_failures.hpp"
#include "core/rank_sums.hpp"
#include "kernels/convert/thin.hpp"
#include "model/bricks.hpp"
#include "model/out_of_core.hpp"
#include "model/vectors_of_slabs.hpp"

namespace gridstride {

OwnField own_field(config::FieldInfo const& field) {
  OwnField own{field.name, {}, config::magnitude_name(field)};
  for (auto const& number : config::numbers_of(std::span(&field, 1)))
    own.numbers.push_back(number.name);
  return own;
}

NotFinite::NotFinite(Found const& found, std::int64_t step, double time, Grid const& grid)
    : NumericalError(std::isnan(found.value) ? "NaN" : "infinity", step, time, found.number,
                     grid.indices(found.point)),
      value(found.value),
      field(found.field),
      place(found.place) {}

bool is_written_in_parts(config::RunConfig const& run, Backend backend) {
  bool const is_of_state = std::ranges::all_of(run.fields, [&](config::FieldInfo const& field) {
    return field.derived || run.initial.contains(field.name);
  });
  auto const variant = run.kernels.find("reduce");
  bool const goes_by_parts = std::ranges::all_of(run.diagnostics, [&](auto const& entry) {
    return entry.options->is_found_by_parts(run, backend);
  });
  bool const finds_moments =
      variant == run.kernels.end() || reduce::variant_of_blocks(variant->second, backend) ==
                                          reduce::variant_of_blocks("auto", backend);
  bool const is_worth_it = backend == Backend::cpu || ranks_here(run) < run.ranks;
  return run.ranks > 1 && is_of_state && goes_by_parts && finds_moments && is_worth_it;
}

std::size_t file_slabs_bytes(Backend backend, std::size_t field_bytes) {
  std::size_t const slab = std::min(field_bytes, slab_of_files);
  std::size_t const in_round = 3 * RankArrays<double>::slabs_at_once * slab;
  return in_round + (backend == Backend::cuda ? RankArrays<double>::most_lanes * slab : 0);
}

template <class T>
RankFiles<T>::RankFiles(Stream const& stream, SweepPlan const& plan, Ranks& ranks, OwnFiles files)
    : ranks_(ranks),
      stream_(stream),
      plan_(plan),
      arrays_(stream, plan, ranks),
      grid_(whole_grid(plan)),
      files_(std::move(files)) {}

namespace {

bool is_among(std::span<Written const> written, std::size_t field) {
  return std::ranges::any_of(written, [field](Written const& one) {
    return static_cast<std::size_t>(one.place) == field;
  });
}

}  // namespace

template <class T>
FoundByParts RankFiles<T>::write(std::span<std::span<T const> const> own, Names const& names,
                                 std::vector<Written> targets, bool measured) {
  take_names(own, names);
  fault_ = {};
  blocks_.clear();
  values_.clear();
  try {
    std::string lack = files_.lack;
    if (lack.empty()) {
      OwnPlaces places(ranks_, targets, files_.open, OwnPlaces::Seen::everywhere);
      lack = places.lacking();
      if (lack.empty())
        fail_together(ranks_, [&] {
          places.during([&] { put(places.written(), RankArrays<T>::Owners::all, measured); });
        });
    }
    if (!lack.empty())
      fail_together(ranks_, [&] { put(targets, RankArrays<T>::Owners::first, measured); });
    if (!lack.empty()) way_ = fmt::format("the first rank ({})", lack);
    refuse_faults();
  } catch (std::exception const&) {
    throw FailedTogether(std::current_exception());
  }
  FoundByParts found;
  if (!measured) return found;
  found.moments = moments_of();
  if (files_.finder) find(found);
  return found;
}

template <class T>
void RankFiles<T>::compare(std::span<std::span<T const> const> own, Names const& names,
                           PartsFinder& finder) {
  take_names(own, names);
  FoundByParts nothing;
  finder.find(parts({}), nothing);
}

template <class T>
void RankFiles<T>::take_names(std::span<std::span<T const> const> own, Names const& names) {
  names_ = names;
  own_.clear();
  for (OwnField const& field : names_.fields) {
    own_.emplace_back(own.begin(), own.begin() + std::ssize(field.numbers));
    own = own.subspan(field.numbers.size());
  }
}

template <class T>
void RankFiles<T>::put(std::vector<Written> const& written, typename RankArrays<T>::Owners owners,
                       bool wants_moments) {
  bool const by_all = owners == RankArrays<T>::Owners::all;
  auto const skips = [&](std::size_t field) { return by_all && !is_among(written, field); };
  look_where_they_lie(skips, wants_moments);
  arrays_.look(
      seen(), owners, [&](Slab const& slab) { take(slab, written, wants_moments); }, skips);
}

/// What comes after a value that is not finite is of no use.
template <class T>
void RankFiles<T>::take(Slab const& slab, std::vector<Written> const& written, bool wants_moments) {
  if (has_fault(slab)) return;
  for (std::size_t c = 0; c < slab.values.size() && wants_moments; ++c) {
    if (has_to_sum(slab)) note(first_number(slab.number) + c, slab.first, slab.values[c]);
    note_places(first_number(slab.number) + c, slab.first, slab.values[c]);
  }
  if (slab.values.size() > 1 || is_length_asked_for(slab.number))
    return take_vectors(slab, written, wants_moments);
  for (auto const& [place, sink] : written)
    if (static_cast<std::size_t>(place) == slab.number)
      put_points(*sink, slab.first, slab.values.front(), 1);
}

/// Values of points from one on, with components side by side. Those of them that are written follow one another in
/// files, too.
template <class T>
void RankFiles<T>::put_points(FieldSink& sink, std::int64_t first, std::span<T const> values,
                              std::size_t components) const {
  convert::Thinning const thinning{grid_.points, names_.every,
                                   static_cast<std::int64_t>(components)};
  std::int64_t const begin = first * thinning.components;
  auto const put = [&](std::int64_t number, std::span<T const> some) {
    if (!some.empty())
      sink.write(static_cast<std::uint64_t>(number) * sizeof(T), std::as_bytes(some));
  };
  if (thinning.is_whole()) return put(begin, values);
  auto const numbers = std::views::iota(std::int64_t{0}, thinning.kept_size());
  auto const number_from = [&](std::int64_t place) {
    auto const place_of = [&](std::int64_t number) { return thinning.place(number); };
    return std::ranges::lower_bound(numbers, place, {}, place_of) - numbers.begin();
  };
  std::int64_t const lower = number_from(begin), upper = number_from(begin + std::ssize(values));
  std::vector<T> kept;
  for (std::int64_t number = lower; number < upper; ++number)
    kept.push_back(values[static_cast<std::size_t>(thinning.place(number) - begin)]);
  put(lower, kept);
}

template <class T>
bool RankFiles<T>::has_fault(Slab const& slab) {
  Fault first;
  for (std::size_t c = 0; c < slab.values.size(); ++c) {
    auto const& values = slab.values[c];
    std::int64_t const place = reduce::first_non_finite_on_host(values);
    if (place < 0) continue;
    Fault const fault{.field = static_cast<std::int64_t>(slab.number),
                      .point = slab.first + place,
                      .component = static_cast<std::int64_t>(c),
                      .value = static_cast<double>(values[static_cast<std::size_t>(place)])};
    if (fault.is_before(first)) first = fault;
  }
  note(first);
  return first.field >= 0;
}

/// What is written has components side by side.
template <class T>
void RankFiles<T>::take_vectors(Slab const& slab, std::vector<Written> const& written,
                                bool wants_moments) {
  bool const sums = has_to_sum(slab);
  bool const wants_lengths =
      wants_moments && is_length_asked_for(slab.number) &&
      (sums || !files_.looks[first_number(slab.number) + slab.values.size()].places.empty());
  if (!wants_lengths && !is_among(written, slab.number)) return;
  for_vectors<T>(slab, [&](std::int64_t first, std::span<T const> vectors) {
    if (wants_lengths)
      note_lengths(slab.number, first, lengths_of(vectors, slab.values.size()), sums);
    for (auto const& [place, sink] : written)
      if (static_cast<std::size_t>(place) == slab.number)
        put_points(*sink, first, vectors, slab.values.size());
  });
}

/// Those of finite components may be beyond all numbers.
template <class T>
void RankFiles<T>::note_lengths(std::size_t field, std::int64_t first, std::span<T const> lengths,
                                bool sums) {
  if (std::int64_t const place = reduce::first_non_finite_on_host(lengths); place >= 0)
    note({.field = static_cast<std::int64_t>(field),
          .is_length = true,
          .point = first + place,
          .value = static_cast<double>(lengths[static_cast<std::size_t>(place)])});
  if (sums) note(first_number(field) + own_[field].size(), first, lengths);
  note_places(first_number(field) + own_[field].size(), first, lengths);
}

/// What blocks of values tell.
template <class T>
void RankFiles<T>::note(std::size_t number, std::int64_t first, std::span<T const> values) {
  std::vector<Moments> of_blocks((values.size() + reduce::host_block - 1) / reduce::host_block);
  reduce::block_moments(values, first, std::span(of_blocks));
  std::scoped_lock const lock(mutex_);
  for (std::size_t b = 0; b < of_blocks.size(); ++b)
    blocks_.push_back(
        {number, static_cast<std::uint64_t>(first / reduce::host_block) + b, of_blocks[b]});
}

template <class T>
void RankFiles<T>::note_places(std::size_t number, std::int64_t first, std::span<T const> values) {
  if (number >= files_.looks.size()) return;
  auto const& places = files_.looks[number].places;
  for (std::size_t which = 0; which < places.size(); ++which) {
    std::int64_t const i = places[which] - first;
    if (i < 0 || i >= std::ssize(values)) continue;
    std::scoped_lock const lock(mutex_);
    values_.push_back({number, which, static_cast<double>(values[static_cast<std::size_t>(i)])});
  }
}

template <class T>
bool RankFiles<T>::Fault::is_before(Fault const& other) const {
  auto const order = [](Fault const& fault) {
    return std::tuple(fault.field, fault.is_length, fault.point, fault.component);
  };
  return field >= 0 && (other.field < 0 || order(*this) < order(other));
}

template <class T>
void RankFiles<T>::note(Fault const& fault) {
  std::scoped_lock const lock(mutex_);
  if (fault.is_before(fault_)) fault_ = fault;
}

template <class T>
std::size_t RankFiles<T>::first_number(std::size_t field) const {
  std::size_t number = 0;
  for (std::size_t before = 0; before < field; ++before)
    number += own_[before].size() + (has_length(before) ? 1 : 0);
  return number;
}

/// Throws for the first one that any rank has found.
template <class T>
void RankFiles<T>::refuse_faults() {
  Fault first;
  for (Fault const& fault : of_all_ranks(ranks_, fault_))
    if (fault.is_before(first)) first = fault;
  if (first.field < 0) return;
  OwnField const& field = names_.fields[static_cast<std::size_t>(first.field)];
  auto const component = static_cast<std::size_t>(first.component);
  std::string const& number = first.is_length ? field.magnitude : field.numbers[component];
  throw NotFinite({.value = first.value,
                   .number = number,
                   .field = first.is_length ? number : field.name,
                   .point = first.point,
                   .place = first.point * std::ssize(field.numbers) + first.component},
                  names_.clock.step, names_.clock.time, grid_);
}

/// Where squares or the sum may leave the range of float64, they are found once more, of values times a
/// power of two.
template <class T>
std::vector<FieldMoments> RankFiles<T>::moments_of() {
  std::vector<FieldMoments> found(numbers());
  auto const all = blocks_of_all();
  for (std::size_t number = 0; number < all.size(); ++number) {
    auto const moments = reduce::combined_moments(std::span(all[number]));
    found[number] = {.minimum = static_cast<double>(moments.minimum),
                     .maximum = static_cast<double>(moments.maximum),
                     .sum = moments.sum,
                     .sum_of_squares = moments.sum_of_squares,
                     .plain_sum = moments.sum};
    double const largest =
        std::max(std::abs(found[number].minimum), std::abs(found[number].maximum));
    if (largest != 0 && !(largest > 1e-140 && largest < 1e140))
      found[number].exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  }
  scale(found);
  for (std::size_t number = 0; number < std::min(files_.looks.size(), found.size()); ++number)
    found[number].at.resize(files_.looks[number].places.size());
  for (auto const& [number, which, value] : to_first(ranks_, values_))
    found[number].at[which] = value;
  return found;
}

/// On the first rank, the blocks of each number in their order; nothing on the others.
template <class T>
auto RankFiles<T>::blocks_of_all() -> std::vector<std::vector<Moments>> {
  auto const blocks = to_first(ranks_, std::exchange(blocks_, {}));
  if (!ranks_.is_first()) return {};
  auto const each =
      static_cast<std::size_t>((arrays_.size() + reduce::host_block - 1) / reduce::host_block);
  std::vector<std::vector<Moments>> all(numbers(), std::vector<Moments>(each));
  for (auto const& [number, place, moments] : blocks) all[number][place] = moments;
  return all;
}

/// In pieces as diagnostics take them.
template <class T>
void RankFiles<T>::scale(std::vector<FieldMoments>& found) {
  std::vector<int> exponents;
  for (FieldMoments const& one : found) exponents.push_back(one.exponent);
  ranks_.broadcast(std::as_writable_bytes(std::span(exponents)));
  if (std::ranges::all_of(exponents, [](int exponent) { return exponent == 0; })) return;
  auto const note_scaled = [&](std::size_t number, std::int64_t first, std::vector<T> values) {
    auto const factor = static_cast<T>(std::scalbn(1.0, -exponents[number]));
    for (T& value : values) value *= factor;
    note(number, first, values);
  };
  arrays_.look(seen(), RankArrays<T>::Owners::all, [&](Slab const& slab) {
    std::size_t number = first_number(slab.number);
    for (auto const& values : slab.values) {
      if (exponents[number] != 0) note_scaled(number, slab.first, {values.begin(), values.end()});
      ++number;
    }
    if (!is_length_asked_for(slab.number) || exponents[number] == 0) return;
    for_vectors<T>(slab, [&](std::int64_t first, std::span<T const> vectors) {
      note_scaled(number, first, lengths_of(vectors, slab.values.size()));
    });
  });
  constexpr std::int64_t blocks_of_piece = (1 << 20) / reduce::host_block;
  auto const all = blocks_of_all();
  for (std::size_t number = 0; number < all.size(); ++number) {
    if (found[number].exponent == 0) continue;
    found[number].sum = found[number].sum_of_squares = 0;
    std::span<Moments const> rest = all[number];
    while (!rest.empty()) {
      auto const blocks = std::min<std::size_t>(rest.size(), blocks_of_piece);
      auto const piece = reduce::combined_moments(rest.first(blocks));
      found[number].sum += piece.sum;
      found[number].sum_of_squares += piece.sum_of_squares;
      rest = rest.subspan(blocks);
    }
  }
}

/// What diagnostics find then.
template <class T>
void RankFiles<T>::find(FoundByParts& found) try {
  std::vector<typename OwnParts<T>::Extremes> extremes(numbers());
  for (std::size_t number = 0; number < found.moments.size(); ++number)
    extremes[number] = {static_cast<T>(found.moments[number].minimum),
                        static_cast<T>(found.moments[number].maximum)};
  ranks_.broadcast(std::as_writable_bytes(std::span(extremes)));
  files_.finder->find(parts(extremes), found);
} catch (NumericalError const&) {
  throw FailedTogether(std::current_exception());
}

template <class T>
OwnParts<T> RankFiles<T>::parts(std::span<typename OwnParts<T>::Extremes const> extremes) {
  return {.stream = stream_,
          .plan = plan_,
          .ranks = ranks_,
          .clock = names_.clock,
          .fields = names_.fields,
          .values = own_,
          .extremes = extremes,
          .for_own = [this](std::size_t number, auto const& use) { for_own(number, use); }};
}

template class RankFiles<float>;
template class RankFiles<double>;

}  // namespace gridstride
