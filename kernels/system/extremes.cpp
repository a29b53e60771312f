#include "kernels/system/extremes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "equations/source.hpp"
#include "kernels/system/arguments.cuh"
#include "kernels/system/extreme_keys.hpp"
#include "kernels/system/rows.hpp"

namespace gridstride::system {

namespace {

constexpr int points_x = 64, points_y = 4;   // threads of a block
constexpr std::size_t terms_of_a_group = 8;  // whose extremes a thread has in registers

double number_of(unsigned long long key) { return std::bit_cast<double>(bits_of_key(key)); }

Extremes extremes_of(unsigned long long const* keys, std::int64_t points, std::int64_t first) {
  Extremes found;
  found.least = -number_of(keys[0]);
  found.greatest = number_of(keys[1]);
  if (keys[2] != 0) found.first_non_finite = first + points - static_cast<std::int64_t>(keys[2]);
  return found;
}

template <class T>
Extremes extremes_of(reduce::Moments<T> const& moments, std::int64_t first) {
  bool const finite = moments.first_non_finite < 0;
  return {static_cast<double>(moments.minimum), static_cast<double>(moments.maximum),
          finite ? -1 : first + moments.first_non_finite};
}

}  // namespace

template <class T>
RuntimeSource extremes_source(Step<T> const& step) {
  std::string text =
      program_text(*step.program, wraps_of(step), static_cast<int>(step.inputs.size()),
                   precision_of<T>(), equations::to_cuda(*step.program, precision_of<T>()));
  text += fmt::format("#define POINTS_X {}\n#define POINTS_Y {}\n", points_x, points_y);
  text += "#include \"kernels/system/extremes.cuh\"\n";
  return {.name = "extremes of terms", .text = std::move(text), .options = {"--fmad=false"}};
}

template RuntimeSource extremes_source(Step<float> const&);
template RuntimeSource extremes_source(Step<double> const&);

template <class T>
ExtremesFinder<T>::ExtremesFinder(Stream const& stream, Grid const& grid,
                                  equations::Terms const& terms,
                                  std::span<equations::Term const> of)
    : stream_(stream), grid_(grid), known_(stream.device()) {
  for (equations::Term const term : of)
    programs_.push_back(equations::program_of(terms, std::array{term}, grid.dims));
  prepared_.resize(programs_.size());
  if (of.empty()) return;
  moments_ = Buffer<reduce::Moments<T>>(stream_, MemorySpace::device, of.size());
  if (stream_.backend() == Backend::cpu) return;
  for (std::size_t first = 0; first < of.size(); first += terms_of_a_group)
    groups_.push_back(equations::program_of(
        terms, of.subspan(first, std::min(terms_of_a_group, of.size() - first)), grid.dims));
  keys_ = Buffer<unsigned long long>(stream_, MemorySpace::device, keys_of_term * of.size());
  found_keys_ = Buffer<unsigned long long>(stream_, MemorySpace::pinned, keys_.size());
  zero_async(keys_.span(), stream_);
}

template <class T>
std::vector<Extremes> ExtremesFinder<T>::find(Step<T> step, std::span<T> scratch,
                                              std::string_view variant) {
  add(std::move(step), scratch, variant);
  return take();
}

template <class T>
void ExtremesFinder<T>::add(Step<T> step, std::span<T> scratch, std::string_view variant,
                            std::optional<std::array<std::int64_t, 2>> const& planes) {
  if (programs_.empty()) return;
  auto const last = static_cast<std::size_t>(grid_.dims - 1);
  if (planes) {
    std::int64_t const first = step.piece.value().first[last];
    looked_ = {step.grid, *planes, first * (step.grid.size() / step.grid.points[last])};
  } else {
    step.grid = grid_;
    looked_ = {grid_, {0, grid_.points[last]}};
  }
  step.is_stage = false;
  step.outputs.clear();
  if (variant == "interpreter" || !queue_compiled(step)) add_one_by_one(step, scratch, variant);
}

template <class T>
std::vector<Extremes> ExtremesFinder<T>::take() {
  if (!joined_.empty()) return std::exchange(joined_, {});
  return programs_.empty() ? std::vector<Extremes>{} : wait_for_keys();
}

/// The device makes ready for the next time while the host goes on.
template <class T>
std::vector<Extremes> ExtremesFinder<T>::wait_for_keys() {
  copy_async(found_keys_.span(), std::as_const(keys_).span(), stream_);
  stream_.record(known_);
  zero_async(keys_.span(), stream_);
  known_.synchronize();
  std::vector<Extremes> found;
  for (std::size_t term = 0; term < programs_.size(); ++term)
    found.push_back(
        extremes_of(found_keys_.data() + keys_of_term * term, looked_.grid.size(), looked_.first));
  return found;
}

/// False where nothing can be compiled.
template <class T>
bool ExtremesFinder<T>::queue_compiled(Step<T>& step) {
  if (groups_.empty() || !can_compile_) return false;
  try {
    while (modules_.size() < groups_.size()) {
      step.program = &groups_[modules_.size()];
      modules_.push_back(compile(stream_.device(), extremes_source(step)));
    }
  } catch (RuntimeCompilerMissing const&) {
    can_compile_ = false;
    return false;
  }
  auto const& points = looked_.grid.points;
  auto const blocks_x = (points[0] + points_x - 1) / points_x;
  auto const blocks_y = (points[1] + points_y - 1) / points_y;
  std::int64_t const most =
      std::max<std::int64_t>(1, 16 * stream_.device().processors() / blocks_x);
  auto const along_y = std::min(blocks_y, most);
  Extent const blocks(
      static_cast<unsigned>(blocks_x), static_cast<unsigned>(along_y),
      static_cast<unsigned>(std::clamp<std::int64_t>(most / along_y, 1, points[2])));
  unsigned long long* keys = keys_.data();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    modules_[g]->launch(stream_, "extremes", {.grid = blocks, .block = {points_x, points_y}},
                        arguments_of(step), keys, static_cast<long long>(looked_.planes[0]),
                        static_cast<long long>(looked_.planes[1]));
    keys += keys_of_term * groups_[g].results.size();
  }
  return true;
}

template <class T>
void ExtremesFinder<T>::add_one_by_one(Step<T>& step, std::span<T> scratch,
                                       std::string_view variant) {
  step.outputs = {{.values = scratch.data()}};
  auto const plane = looked_.grid.size() / looked_.grid.points[looked_.grid.dims - 1];
  std::int64_t const lower = looked_.planes[0] * plane, upper = looked_.planes[1] * plane;
  auto const counted = std::span<T const>(scratch).subspan(static_cast<std::size_t>(lower),
                                                           static_cast<std::size_t>(upper - lower));
  for (std::size_t term = 0; term < programs_.size(); ++term) {
    step.program = &programs_[term];
    step.prepared = &prepared_[term];
    advance(stream_, step, variant);
    reduce::moments<T>(stream_, counted, moments_.span().subspan(term, 1));
  }
  std::vector<reduce::Moments<T>> moments(programs_.size());
  copy_async(std::span(moments), std::as_const(moments_).span(), stream_);
  stream_.synchronize();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (joined_.empty()) joined_.resize(programs_.size(), {infinity, -infinity});
  for (std::size_t term = 0; term < moments.size(); ++term) {
    Extremes& joined = joined_[term];
    auto const& [least, greatest, first_non_finite] =
        extremes_of(moments[term], looked_.first + lower);
    joined.least = std::min(joined.least, least);
    joined.greatest = std::max(joined.greatest, greatest);
    if (joined.first_non_finite < 0 ||
        (first_non_finite >= 0 && first_non_finite < joined.first_non_finite))
      joined.first_non_finite = first_non_finite;
  }
}

template class ExtremesFinder<float>;
template class ExtremesFinder<double>;

}  // namespace gridstride::system
