#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/rank_links.hpp"

/// For core/rank_links.cpp only.
namespace gridstride {

/// `nccl`: the boxes are in the memory of the rank, and NCCL takes what is in one to another. All
/// ranks, each of which has the library and a GPU of its own, make one; `failure` tells why it cannot
/// be, or is empty.
std::unique_ptr<RankLinks> make_nccl_links(Ranks& ranks, Stream const& stream,
                                           RanksBeside const& beside, std::size_t bytes,
                                           std::string& failure);

}  // namespace gridstride
