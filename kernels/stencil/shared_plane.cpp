#include "kernels/stencil/shared_plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/rank_memory.hpp"
#include "kernels/stencil/rows.hpp"
#include "kernels/support/gpu_links.hpp"

namespace gridstride::stencil {

#ifdef GRIDSTRIDE_WITH_CUDA

namespace {

bool is_periodic(StepKind const& kind) { return kind.sides[1][0] == SideKind::periodic; }

/// Each that there is, once.
std::vector<SharedLines> lines_of(StepKind const& kind, RankCuts const& cuts) {
  std::vector<SharedLines> all;
  std::size_t const last = cuts.size() - 2;
  for (std::size_t rank = 0; rank <= last; ++rank) {
    bool const wraps = is_periodic(kind);
    SharedLines const own{cuts[rank + 1] - cuts[rank],
                          (rank > 0 || wraps ? 1 : 0) + (rank < last || wraps ? 1 : 0)};
    if (std::ranges::find(all, own) == all.end()) all.push_back(own);
  }
  return all;
}

/// Smaller planes gain nothing by another GPU, and are not what tests compare.
bool is_worth_it(StepKind const& kind, RankCuts const& cuts) {
  constexpr std::int64_t least_points = 96, least_lines = 48;  // of a line, and of a rank
  for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
    if (cuts[rank + 1] - cuts[rank] < least_lines) return false;
  return kind.grid.points[0] >= least_points;
}

template <class T>
std::optional<TileCut> cut_of(Device const& device, StepKind const& kind, RankCuts const& cuts) {
  return cuda_shared_cut<T>(device, kind.grid.points[0], lines_of(kind, cuts));
}

/// Whether another way between GPUs is wanted than through their memory.
std::string lack_of_stores() {
  char const* const text = std::getenv("GRIDSTRIDE_TRANSPORT");
  std::string_view const name = text == nullptr ? "" : text;
  if (name.empty() || name == "auto" || name == "p2p" || name == "stores") return {};
  return fmt::format("GRIDSTRIDE_TRANSPORT is {}", name);
}

/// Sends a little there and waits for it.
std::string fault_of_stores(Ranks& ranks, Stream const& stream, RanksBeside const& beside) try {
  constexpr std::size_t bytes = 4096;
  open_gpu_links(ranks, stream, beside, bytes, Meanwhile::nothing, "stores");
  return {};
} catch (Error const& error) {
  return error.what();
}

}  // namespace

template <class T>
struct SharedPlane<T>::Parts {
  RanksBeside beside;
  std::unique_ptr<RankMemory> memory;
  SharedTiles tiles;
};

template <class T>
std::optional<SharedPlan> plan_shared(Device const& device, StepKind const& kind,
                                      RankCuts const& cuts, Repetition const& wanted) {
  bool const is_wanted =
      (wanted.variant == "auto" || wanted.variant == "resident") && wanted.fused_steps == 0;
  if (device.backend() == Backend::cpu || !is_wanted || kind.grid.dims != 2 ||
      !can_be_fused(kind) || !is_worth_it(kind, cuts))
    return {};
  auto const cut = cut_of<T>(device, kind, cuts);
  if (!cut) return {};
  return SharedPlan{cut->across, cuda_shared_bytes<T>(*cut)};
}

template <class T>
SharedPlane<T>::SharedPlane(Ranks& ranks, Stream const& stream, StepKind const& kind,
                            RankCuts const& cuts)
    : parts_(std::make_unique<Parts>()) {
  int const rank = ranks.rank(), last = ranks.count() - 1;
  bool const wraps = is_periodic(kind);
  parts_->beside = {rank > 0 ? rank - 1 : (wraps ? last : -1),
                    rank < last ? rank + 1 : (wraps ? 0 : -1)};
  auto const cut = cut_of<T>(stream.device(), kind, cuts);
  auto const own = cut.value_or(TileCut{});
  auto const all = of_all_ranks(ranks, own);
  bool const is_same = cut && std::ranges::all_of(all, [&](auto const& one) { return one == own; });
  std::string const lack = is_same ? lack_of_stores() : "ranks have GPUs of several kinds";
  failure_ = first_text(ranks, lack);
  if (failure_.empty()) failure_ = fault_of_stores(ranks, stream, parts_->beside);
  if (!failure_.empty()) return;
  parts_->memory = std::make_unique<RankMemory>(ranks, stream, cuda_shared_bytes<T>(own));
  failure_ = parts_->memory->failure();
  if (!failure_.empty()) return;
  auto const reach = [&](int other) { return other < 0 ? nullptr : parts_->memory->of(other); };
  parts_->tiles = {.cut = own,
                   .memory = parts_->memory->of(rank),
                   .beside = {reach(parts_->beside[0]), reach(parts_->beside[1])}};
}

template <class T>
void SharedPlane<T>::make(Stream& stream, DiffusionStep<T> step, T* u, T* other,
                          std::int64_t steps) {
  step.in = other;
  step.out = u;
  auto const arguments = arguments_of(step);
  auto& tiles = parts_->tiles;
  auto const trips = [](std::int64_t some, int each) {
    return static_cast<std::uint32_t>((some + each - 1) / each);
  };
  constexpr std::int64_t most_steps = std::int64_t{1} << 30;  // of one launch
  for (std::int64_t left = steps; left > 0; left -= most_steps) {
    std::int64_t const some = std::min(left, most_steps);
    cuda_shared_grid(stream, arguments, tiles, static_cast<int>(some));
    tiles.exchanges += trips(some, tiles.cut.depth);
    tiles.across += trips(some, tiles.cut.across);
  }
}

#else

template <class T>
struct SharedPlane<T>::Parts {};

template <class T>
std::optional<SharedPlan> plan_shared(Device const&, StepKind const&, RankCuts const&,
                                      Repetition const&) {
  return {};
}

template <class T>
SharedPlane<T>::SharedPlane(Ranks&, Stream const&, StepKind const&, RankCuts const&)
    : failure_("this build is without CUDA") {}

template <class T>
void SharedPlane<T>::make(Stream&, DiffusionStep<T>, T*, T*, std::int64_t) {}

#endif

template <class T>
SharedPlane<T>::~SharedPlane() = default;

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template std::optional<SharedPlan> plan_shared<T>(Device const&, StepKind const&,      \
                                                    RankCuts const&, Repetition const&); \
  template class SharedPlane<T>;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil
