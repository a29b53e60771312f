#include "kernels/support/rank_planes.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

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
      links_(open_gpu_links(ranks, stream, beside_, plane_bytes, Meanwhile::kernels)),
      most_sums_(most_sums),
      plane_bytes_(plane_bytes) {
  if (cuts_.size() != static_cast<std::size_t>(ranks.count()) + 1)
    throw std::invalid_argument("planes cut for another number of ranks");
  if (stream.backend() == Backend::cpu) return;
  open_boxes(stream, plane_bytes);
}

#ifdef GRIDSTRIDE_WITH_CUDA
namespace {

PeerBoxes boxes_in(RankMemory const& memory, Ranks const& ranks, std::size_t most_sums,
                   std::size_t plane_bytes) {
  PeerBoxes boxes{.of = {},
                  .rank = ranks.rank(),
                  .count = ranks.count(),
                  .most_sums = most_sums,
                  .plane_bytes = plane_bytes};
  for (int rank = 0; rank < boxes.count; ++rank) boxes.of[rank] = memory.of(rank);
  return boxes;
}

/// Whether what kernels write to other GPUs comes there; a sentence where it does not.
std::string fault_of(PeerBoxes const& boxes, Stream& stream) {
  constexpr std::uint64_t patience = 10'000'000'000;
  auto const count = static_cast<std::size_t>(boxes.count);
  RankCuts cuts;
  std::vector<double> host(count, -1), expected;
  for (std::size_t rank = 0; rank <= count; ++rank) cuts.push_back(static_cast<std::int64_t>(rank));
  for (std::size_t rank = 0; rank < count; ++rank)
    expected.push_back(1.5 * static_cast<double>(rank));
  host[static_cast<std::size_t>(boxes.rank)] = 1.5 * boxes.rank;
  Buffer<double> device(stream, MemorySpace::device, count);
  copy_async(device.span(), std::span<double const>(host), stream);
  cuda_share(stream, boxes, device.data(), 1, cuts, 1, patience);
  copy_async(std::span(host), std::as_const(device).span(), stream);
  stream.synchronize();
  return host == expected ? std::string() : "what kernels write to another GPU does not come";
}

}  // namespace
#endif

void RankPlanes::open_boxes([[maybe_unused]] Stream stream,
                            [[maybe_unused]] std::size_t plane_bytes) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (auto const& way = links_.transport; way != "p2p" && way != "stores")
    boxes_lack_ = "as planes go";
  else if (ranks_.count() > PeerBoxes::most_ranks)
    boxes_lack_ = fmt::format("more than {} ranks", PeerBoxes::most_ranks);
  else
    boxes_ =
        std::make_unique<RankMemory>(ranks_, stream, PeerBoxes::bytes(most_sums_, plane_bytes));
  if (boxes_) boxes_lack_ = boxes_->failure();
  if (boxes_ && boxes_lack_.empty()) {
    shared_ = 1;
    auto const boxes = boxes_in(*boxes_, ranks_, most_sums_, plane_bytes);
    boxes_lack_ = first_text(ranks_, fault_of(boxes, stream));
  }
  if (!boxes_lack_.empty()) boxes_ = nullptr;
  if (!boxes_) staging_ = Buffer<double>(stream, MemorySpace::pinned, most_sums_);
#endif
}

void RankPlanes::start_bytes(Stream& stream, std::span<std::byte> values) {
  if (!started_.empty()) finish_bytes(stream);
  std::size_t const planes = static_cast<std::size_t>(held()), plane = values.size() / planes;
  if (plane * planes != values.size()) throw std::invalid_argument("planes of several sizes");
  started_ = values;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (boxes_) {
    auto const boxes = boxes_in(*boxes_, ranks_, most_sums_, plane_bytes_);
    auto const [below, above] = beside_;
    std::uint64_t const turn = ++sent_;
    shared_before_ = shared_;
    PlaneCopies copies;
    if (below >= 0)
      copies.add({values.data() + plane, boxes.plane(below, RankLinks::down, turn), plane});
    if (above >= 0)
      copies.add(
          {values.data() + (planes - 2) * plane, boxes.plane(above, RankLinks::up, turn), plane});
    return cuda_copy_planes(stream, copies);
  }
#endif
  if (beside_[0] >= 0) links_.links->start(RankLinks::down, {values.subspan(plane, plane)}, stream);
  if (beside_[1] >= 0)
    links_.links->start(RankLinks::up, {values.subspan((planes - 2) * plane, plane)}, stream);
}

/// What was written to others has come once a rank's sums have that were sent later.
void RankPlanes::finish_bytes(Stream& stream) {
  std::size_t const plane = started_.size() / static_cast<std::size_t>(held());
#ifdef GRIDSTRIDE_WITH_CUDA
  if (boxes_) {
    RankCuts const nothing(cuts_.size());
    if (shared_ == shared_before_) share(stream, nullptr, 0, nothing);
    auto const boxes = boxes_in(*boxes_, ranks_, most_sums_, plane_bytes_);
    PlaneCopies copies;
    if (beside_[0] >= 0)
      copies.add({boxes.plane(boxes.rank, RankLinks::up, sent_), started_.data(), plane});
    if (beside_[1] >= 0)
      copies.add({boxes.plane(boxes.rank, RankLinks::down, sent_),
                  started_.data() + (started_.size() - plane), plane});
    started_ = {};
    return cuda_copy_planes(stream, copies);
  }
#endif
  links_.links->finish(
      std::array{RankLinks::Arrival{RankLinks::down, {started_.last(plane)}, &stream},
                 RankLinks::Arrival{RankLinks::up, {started_.first(plane)}, &stream}});
  started_ = {};
}

void RankPlanes::exchange_bytes(Stream& stream, std::span<std::byte> values) {
  if (started_.data() != values.data()) {
    start_bytes(stream, values);
    if (!boxes_) links_.links->let_go(stream);
  }
  finish_bytes(stream);
}

void RankPlanes::share(Stream& stream, double* sums, int sets, RankCuts const& cuts) {
  if (static_cast<std::size_t>(sets * cuts.back()) > most_sums_)
    throw std::logic_error("more sums than ranks have memory for");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (boxes_) {
    auto const boxes = boxes_in(*boxes_, ranks_, most_sums_, plane_bytes_);
    return cuda_share(stream, boxes, sums, sets, cuts, ++shared_, 0);
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
  auto const& [links, way, remark] = links_;
  if (way == "mpi") return ranks_.transport();
  return fmt::format("{}{}, {}{}, beside {}", way, remark.empty() ? "" : " (" + remark + ")",
                     boxes_ ? "by kernels" : "sums through the host",
                     boxes_lack_.empty() ? "" : " (" + boxes_lack_ + ")", ranks_.transport());
}

}  // namespace gridstride
