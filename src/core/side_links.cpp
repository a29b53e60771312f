#include "core/side_links.hpp"

namespace gridstride {

void SideLinks::start(int way, Pieces const& pieces, Stream& stream) {
  for (Part const& part : parts_)
    if (part.beside[static_cast<std::size_t>(way)] >= 0) part.links->start(way, pieces, stream);
}

void SideLinks::let_go(Stream& stream) {
  for (Part const& part : parts_)
    if (part.links != nullptr) part.links->let_go(stream);
}

/// No ranks wait for each other in a circle, whatever they are linked by:
///
/// Call an exchange what two ranks beside each other finish together. Where each rank finishes one at a
/// time, ranks have the exchanges that they share in one order, by which even and odd ones take turns
/// (model/rank_steps). Where a rank finishes those of both sides at once, all ranks do so, and here go
/// through the parts in the same order: first exchanges of the first part, of all pairs that it links,
/// then those of the second one. So all exchanges of all ranks can be put in one row in which each rank
/// comes to its own from left to right; exchanges of one part that a rank finishes at once are made by
/// one call of MPI or one group of NCCL, and need no order among them.
///
/// In an exchange, the host (p2p, staged) and the device (events, NCCL's group, kernels that wait for
/// stores) wait only for what both ranks have queued before it, and for the other one's side of it.
/// Streams and events keep what was queued to its left in the row. So the leftmost exchange that is not
/// done has nothing left to wait for: both ranks come to it, and it is done.
void SideLinks::finish(std::span<Arrival const> arrivals) {
  for (Part const& part : parts_) {
    std::vector<Arrival> own;
    for (Arrival const& arrival : arrivals)
      if (part.beside[static_cast<std::size_t>(1 - arrival.way)] >= 0) own.push_back(arrival);
    if (!own.empty()) part.links->finish(own);
  }
}

}  // namespace gridstride
