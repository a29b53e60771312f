#include "kernels/support/rank_planes.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "kernels/support/gpu_links.hpp"

namespace gridstride {

namespace {

RanksBeside ranks_beside(Ranks const& ranks, bool around) {
  int const rank = ranks.rank(), last = ranks.count() - 1;
  return {rank > 0 ? rank - 1 : (around ? last : -1), rank < last ? rank + 1 : (around ? 0 : -1)};
}

}  // namespace

RankPlanes::RankPlanes(Ranks& ranks, Stream const& stream, RankCuts cuts, bool around,
                       std::size_t plane_bytes, std::size_t most_sums)
    : ranks_(ranks),
      rank_(static_cast<std::size_t>(ranks.rank())),
      cuts_(std::move(cuts)),
      beside_(ranks_beside(ranks, around)),
      links_(open_gpu_links(ranks, stream, beside_, plane_bytes, Meanwhile::nothing)),
      most_sums_(most_sums) {
  if (cuts_.size() != static_cast<std::size_t>(ranks.count()) + 1)
    throw std::invalid_argument("planes cut for another number of ranks");
  if (stream.backend() == Backend::cpu) return;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (auto const name = links_.links->name(); name != "stores" && name != "p2p")
    boxes_lack_ = fmt::format("planes go by {}", name);
  else if (ranks.count() > SumBoxes::most_ranks)
    boxes_lack_ = fmt::format("more than {} ranks", SumBoxes::most_ranks);
  else
    boxes_ = std::make_unique<RankMemory>(ranks, stream, SumBoxes::bytes(most_sums));
  if (boxes_ && !boxes_->failure().empty()) boxes_lack_ = boxes_->failure();
  if (!boxes_lack_.empty()) boxes_ = nullptr;
  Stream queue = stream;
  if (!boxes_) staging_ = Buffer<double>(queue, MemorySpace::pinned, most_sums);
#endif
}

void RankPlanes::start_bytes(Stream& stream, std::span<std::byte> values) {
  if (!started_.empty()) finish_bytes(stream);
  std::size_t const planes = static_cast<std::size_t>(held()), plane = values.size() / planes;
  if (plane * planes != values.size()) throw std::invalid_argument("planes of several sizes");
  if (beside_[0] >= 0) links_.links->start(RankLinks::down, {values.subspan(plane, plane)}, stream);
  if (beside_[1] >= 0)
    links_.links->start(RankLinks::up, {values.subspan((planes - 2) * plane, plane)}, stream);
  started_ = values;
}

void RankPlanes::finish_bytes(Stream& stream) {
  std::size_t const plane = started_.size() / static_cast<std::size_t>(held());
  links_.links->finish(
      std::array{RankLinks::Arrival{RankLinks::down, {started_.last(plane)}, &stream},
                 RankLinks::Arrival{RankLinks::up, {started_.first(plane)}, &stream}});
  started_ = {};
}

void RankPlanes::exchange_bytes(Stream& stream, std::span<std::byte> values) {
  if (started_.data() != values.data()) {
    start_bytes(stream, values);
    links_.links->let_go(stream);
  }
  finish_bytes(stream);
}

void RankPlanes::share(Stream& stream, double* sums, int sets, RankCuts const& cuts) {
  if (static_cast<std::size_t>(sets * cuts.back()) > most_sums_)
    throw std::logic_error("more sums than ranks have memory for");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (boxes_) {
    SumBoxes boxes{
        .of = {}, .rank = ranks_.rank(), .count = ranks_.count(), .most_sums = most_sums_};
    for (int rank = 0; rank < boxes.count; ++rank) boxes.of[rank] = boxes_->of(rank);
    return cuda_share(stream, boxes, sums, sets, cuts, ++shared_);
  }
#endif
  share_through_host(stream, sums, sets, cuts);
}

void RankPlanes::share_through_host(Stream& stream, double* sums, int sets, RankCuts const& cuts) {
  auto const size = static_cast<std::size_t>(cuts.back());
  std::span<double> const all(sums, static_cast<std::size_t>(sets) * size);
  auto const host = staging_.size() > 0 ? staging_.span().first(all.size()) : all;
  if (staging_.size() > 0) copy_async(host, std::span<double const>(all), stream);
  stream.synchronize();
  for (int set = 0; set < sets; ++set)
    share_parts(ranks_, host.subspan(static_cast<std::size_t>(set) * size, size), cuts);
  if (staging_.size() == 0) return;
  copy_async(all, std::span<double const>(host), stream);
  stream.synchronize();
}

std::string RankPlanes::transport() const {
  auto const& [links, remark] = links_;
  if (links->name() == "mpi") return ranks_.transport();
  return fmt::format("planes {}{}, sums {}{}, beside {}", links->name(),
                     remark.empty() ? "" : " (" + remark + ")", boxes_ ? "p2p" : "staged",
                     boxes_lack_.empty() ? "" : " (" + boxes_lack_ + ")", ranks_.transport());
}

}  // namespace gridstride
