#pragma once

#include <cstddef>
#include <memory>

#include "core/rank_links.hpp"

/// For core/rank_links.cpp only.
namespace gridstride {

/// `p2p`: the boxes are in the memory of the rank that they come to, which is on the same machine.
std::unique_ptr<RankLinks> make_peer_links(Ranks& ranks, Stream const& link,
                                           RanksBeside const& beside, std::size_t bytes,
                                           SideFaults& faults);

}  // namespace gridstride
