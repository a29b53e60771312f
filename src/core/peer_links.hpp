#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/rank_links.hpp"

/// For core/rank_links.cpp only.
namespace gridstride {

/// `p2p`: the boxes are in the memory of the rank that they come to. All ranks, which are on one
/// machine, make one; `failure` tells why what this one has is of no use, or is empty.
std::unique_ptr<RankLinks> make_peer_links(Ranks& ranks, Stream const& stream,
                                           RanksBeside const& beside, std::size_t bytes,
                                           std::string& failure);

}  // namespace gridstride
