#pragma once

#include <cstddef>
#include <memory>

#include "core/rank_links.hpp"

/// For core/rank_links.cpp only.
namespace gridstride {

/// `staged`: the boxes are in pinned memory of the host. A rank on the same machine maps them, and
/// MPI tells that one is filled; to others MPI sends what is in it.
std::unique_ptr<RankLinks> make_staged_links(Ranks& ranks, Stream const& link,
                                             RanksBeside const& beside, std::size_t bytes,
                                             SideFaults& faults);

}  // namespace gridstride
