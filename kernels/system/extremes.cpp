#include "kernels/system/extremes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "equations/source.hpp"
#include "kernels/support/rank_transposition.hpp"
#include "kernels/system/arguments.cuh"
#include "kernels/system/extreme_keys.hpp"
#include "kernels/system/rows.hpp"

namespace gridstride::system {

namespace {

constexpr int points_x = 64, points_y = 4;   // threads of a block
constexpr int rows_together = 4;             // points that a thread has at a time
constexpr std::size_t few_terms = 4;         // of float32, for which it has twice as many
constexpr std::size_t short_program = 128;   // nodes
constexpr std::size_t terms_of_a_group = 8;  // whose extremes a thread has in registers

double number_of(unsigned long long key) { return std::bit_cast<double>(bits_of_key(key)); }

Extremes extremes_of(unsigned long long const* keys, std::int64_t points) {
  Extremes found;
  found.least = -number_of(keys[0]);
  found.greatest = number_of(keys[1]);
  if (keys[2] != 0) found.first_non_finite = points - static_cast<std::int64_t>(keys[2]);
  return found;
}

}  // namespace

template <class T>
RuntimeSource extremes_source(Step<T> const& step) {
  std::string text =
      program_text(*step.program, wraps_of(step), static_cast<int>(step.inputs.size()),
                   precision_of<T>(), equations::to_cuda(*step.program, precision_of<T>()));
  // What takes long to compile is written once.
  bool const is_small = sizeof(T) == sizeof(float) && step.program->results.size() <= few_terms;
  int const rows = step.program->code.size() > short_program ? 1
                   : is_small                                ? 2 * rows_together
                                                             : rows_together;
  text += fmt::format("#define POINTS_X {}\n#define POINTS_Y {}\n#define ROWS {}\n", points_x,
                      points_y, rows);
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
  prepared_.resize(of.size());
  if (of.empty()) return;
  moments_ = Buffer<reduce::Moments<T>>(stream_, MemorySpace::device, of.size());
  if (stream_.backend() == Backend::cpu) {
    for (equations::Term const term : of)
      programs_.push_back(equations::program_of(terms, std::array{term}, grid.dims));
    return;
  }
  std::size_t keys = 0;
  for (std::size_t first = 0; first < of.size(); first += terms_of_a_group) {
    auto const together = of.subspan(first, std::min(terms_of_a_group, of.size() - first));
    auto const program = equations::program_of(terms, together, grid.dims);
    groups_.push_back(without_followers(program));
    keys += keys_of_term * groups_.back().program.results.size();
    // What is fused in a term depends on those beside it: they stay, and it is stored last.
    for (std::size_t i = 0; i < together.size(); ++i) {
      auto& results = programs_.emplace_back(program).results;
      std::swap(results[i], results.back());
    }
  }
  keys_ = Buffer<unsigned long long>(stream_, MemorySpace::device, 2 * keys + 1);
  found_keys_ = Buffer<unsigned long long>(stream_, MemorySpace::pinned, keys);
  zero_async(keys_.span(), stream_);
}

template <class T>
std::int64_t ExtremesFinder<T>::Looked::whole(std::int64_t offset) const {
  if (offset < 0) return -1;
  auto const at = grid.indices(offset);
  std::int64_t index = 0;
  for (std::size_t axis = 3; axis-- > 0;)
    index = index * piece.whole[axis] + at[axis] + piece.first[axis];
  return index;
}

template <class T>
bool ExtremesFinder<T>::looks_at_points() const {
  return std::ranges::all_of(programs_, [](StencilProgram const& program) {
    return std::ranges::all_of(program.reach, [](auto reach) { return reach == 0; });
  });
}

template <class T>
std::vector<Extremes> ExtremesFinder<T>::find(Step<T> step, std::span<T> scratch,
                                              std::string_view variant) {
  add(std::move(step), scratch, variant);
  return take();
}

template <class T>
void ExtremesFinder<T>::add(Step<T> step, std::span<T> scratch, std::string_view variant,
                            std::optional<Counted> const& counted) {
  if (programs_.empty()) return;
  if (!counted) step.grid = grid_;
  looked_ = {.grid = step.grid,
             .counted = counted.value_or(Counted{{}, step.grid.points}),
             .piece = counted ? step.piece.value() : Piece{{}, grid_.points}};
  step.is_stage = false;
  step.outputs.clear();
  if (variant == "interpreter" || !queue_compiled(step)) add_one_by_one(step, scratch, variant);
}

template <class T>
std::vector<Extremes> ExtremesFinder<T>::take(std::function<void()> const& meanwhile) {
  if (!joined_.empty()) return std::exchange(joined_, {});
  return programs_.empty() ? std::vector<Extremes>{} : wait_for_keys(meanwhile);
}

template <class T>
std::vector<Extremes> ExtremesFinder<T>::wait_for_keys(std::function<void()> const& meanwhile) {
  stream_.record(known_);
  is_taken_ = true;
  if (meanwhile) meanwhile();
  known_.synchronize();
  std::vector<Extremes> found;
  auto const* keys = found_keys_.data();
  for (auto const& [program, results] : groups_) {
    for (Follower const& result : results) {
      Extremes& one =
          found.emplace_back(extremes_of(keys + keys_of_term * result.value, looked_.grid.size()));
      one.first_non_finite = looked_.whole(one.first_non_finite);
      if (one.least <= one.greatest)  // or no point has a number
        std::tie(one.least, one.greatest) =
            result.extremes(static_cast<T>(one.least), static_cast<T>(one.greatest));
    }
    keys += keys_of_term * program.results.size();
  }
  return found;
}

template <class T>
void ExtremesFinder<T>::prepare(std::vector<Input<T>> inputs) {
  Step<T> step;
  step.grid = grid_;
  step.inputs = std::move(inputs);
  if (!compile_groups(step)) return;
  for (auto const& module : modules_) module->resident_blocks("extremes", points_x * points_y);
}

/// False where nothing can be compiled.
template <class T>
bool ExtremesFinder<T>::compile_groups(Step<T>& step) {
  if (groups_.empty() || !can_compile_) return false;
  auto const wraps = wraps_of(step);
  if (modules_.empty()) wraps_ = wraps;
  if (wraps != wraps_) throw std::logic_error("extremes: a look around other axes than before");
  try {
    while (modules_.size() < groups_.size()) {
      step.program = &groups_[modules_.size()].program;
      modules_.push_back(compile(stream_.device(), extremes_source(step)));
    }
  } catch (RuntimeCompilerMissing const&) {
    can_compile_ = false;
    return false;
  }
  return true;
}

template <class T>
bool ExtremesFinder<T>::queue_compiled(Step<T>& step) {
  if (!compile_groups(step)) return false;
  auto const& points = looked_.grid.points;
  CountedPoints counted;
  std::ranges::copy(looked_.counted.begin, counted.begin);
  std::ranges::copy(looked_.counted.end, counted.end);
  auto const blocks_x = (points[0] + points_x - 1) / points_x;
  auto const blocks_y = (points[1] + points_y - 1) / points_y;
  if (std::exchange(is_taken_, false)) turn_ = 1 - turn_;
  std::size_t const all = found_keys_.size();
  ExtremeKeys keys{keys_.data() + turn_ * all, keys_.data() + (1 - turn_) * all, found_keys_.data(),
                   reinterpret_cast<unsigned*>(keys_.data() + 2 * all)};
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    // As many as run at a time.
    std::int64_t const resident =
        std::max(modules_[g]->resident_blocks("extremes", points_x * points_y), 1);
    std::int64_t const most =
        std::max<std::int64_t>(1, resident * stream_.device().processors() / blocks_x);
    auto const along_y = std::min(blocks_y, most);
    Extent const blocks(
        static_cast<unsigned>(blocks_x), static_cast<unsigned>(along_y),
        static_cast<unsigned>(std::clamp<std::int64_t>(most / along_y, 1, points[2])));
    modules_[g]->launch(stream_, "extremes", {.grid = blocks, .block = {points_x, points_y}},
                        arguments_of(step), keys, counted);
    for (auto* of : {&keys.joined, &keys.next, &keys.told})
      *of += keys_of_term * groups_[g].program.results.size();
  }
  return true;
}

template <class T>
std::array<std::int64_t, 3> ExtremesFinder<T>::counts() const {
  auto const& [begin, end] = looked_.counted;
  return {end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]};
}

/// Of what a term was evaluated to, that which counts.
template <class T>
std::span<T const> ExtremesFinder<T>::counted(std::span<T> scratch) {
  auto const& begin = looked_.counted.begin;
  auto const& points = looked_.grid.points;
  auto const some = counts();
  auto const size = static_cast<std::size_t>(some[0] * some[1] * some[2]);
  T const* const first = scratch.data() + begin[0] + points[0] * (begin[1] + points[1] * begin[2]);
  bool const has_lines = some[0] == points[0] || some[1] * some[2] == 1;
  if (has_lines && (some[1] == points[1] || some[2] == 1)) return {first, size};
  if (strips_.size() < size) strips_ = Buffer<T>(stream_, MemorySpace::device, size);
  auto const bytes = [](std::int64_t values) {
    return static_cast<std::size_t>(values) * sizeof(T);
  };
  copy_own_rows(stream_, {.from = reinterpret_cast<std::byte const*>(first),
                          .from_pitch = bytes(points[0]),
                          .to = reinterpret_cast<std::byte*>(strips_.data()),
                          .to_pitch = bytes(some[0]),
                          .width = bytes(some[0]),
                          .rows = static_cast<std::size_t>(some[1]),
                          .planes = static_cast<std::size_t>(some[2]),
                          .from_plane = bytes(points[0] * points[1]),
                          .to_plane = bytes(some[0] * some[1])});
  return std::as_const(strips_).span().first(size);
}

template <class T>
void ExtremesFinder<T>::add_one_by_one(Step<T>& step, std::span<T> scratch,
                                       std::string_view variant) {
  for (std::size_t term = 0; term < programs_.size(); ++term) {
    step.program = &programs_[term];
    step.outputs.assign(step.program->results.size(), {.values = scratch.data()});
    step.prepared = &prepared_[term];
    advance(stream_, step, variant);
    reduce::moments<T>(stream_, counted(scratch), moments_.span().subspan(term, 1));
  }
  std::vector<reduce::Moments<T>> moments(programs_.size());
  copy_async(std::span(moments), std::as_const(moments_).span(), stream_);
  stream_.synchronize();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (joined_.empty()) joined_.resize(programs_.size(), {infinity, -infinity});
  for (std::size_t term = 0; term < moments.size(); ++term) {
    Extremes& joined = joined_[term];
    joined.least = std::min(joined.least, static_cast<double>(moments[term].minimum));
    joined.greatest = std::max(joined.greatest, static_cast<double>(moments[term].maximum));
    std::int64_t const first = place_of(moments[term].first_non_finite);
    if (joined.first_non_finite < 0 || (first >= 0 && first < joined.first_non_finite))
      joined.first_non_finite = first;
  }
}

/// In the larger grid, of a place among what counts.
template <class T>
std::int64_t ExtremesFinder<T>::place_of(std::int64_t counted) const {
  if (counted < 0) return -1;
  auto const& begin = looked_.counted.begin;
  auto const& points = looked_.grid.points;
  auto const some = counts();
  std::int64_t const line = counted / some[0];
  return looked_.whole(begin[0] + counted % some[0] +
                       points[0] *
                           (begin[1] + line % some[1] + points[1] * (begin[2] + line / some[1])));
}

template class ExtremesFinder<float>;
template class ExtremesFinder<double>;

}  // namespace gridstride::system
