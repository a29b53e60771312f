#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/rank_links.hpp"

namespace gridstride {

/// What is made on a GPU while messages are on their way.
enum class Meanwhile {
  nothing,  ///< they are waited for: what counts is how soon they are there
  look,     ///< a kernel that reads all of the memory; then they are waited for
  kernels,  ///< which need all of its processors
};

/// The ways between GPUs (core/rank_links.hpp), the best first. Beside those of core
///
///   stores  a kernel writes into the memory of the GPU beside it and says so there, and one waits
///           for that: of one machine, a GPU for each rank. Without the host, in half the time of p2p
///           for up to 1 MiB; of more than 4 MiB copies have the higher rate, and of 4 MiB they leave
///           more of it to a look
std::span<Transport const> gpu_transports(Meanwhile meanwhile, std::size_t bytes);

/// `open_links` with these.
inline OpenedLinks open_gpu_links(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                                  std::size_t bytes, Meanwhile meanwhile,
                                  std::string_view wanted = {}) {
  return open_links(ranks, stream, beside, bytes, gpu_transports(meanwhile, bytes), wanted);
}

}  // namespace gridstride
