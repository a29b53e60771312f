#pragma once

#include <cstddef>
#include <memory>

#include "core/rank_links.hpp"

/// For core/rank_links.cpp only.
namespace gridstride {

/// `nccl`: the boxes are in the memory of the rank, and NCCL takes what is in one to another. All
/// ranks have the library. Where some of them share a GPU all have faults.
std::unique_ptr<RankLinks> make_nccl_links(Ranks& ranks, Stream const& link,
                                           RanksBeside const& beside, std::size_t bytes,
                                           SideFaults& faults);

}  // namespace gridstride
