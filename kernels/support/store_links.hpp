#pragma once

#include <cstddef>
#include <cstdint>

#include "core/stream.hpp"

/// The kernels of `stores` (kernels/support/gpu_links.hpp), for its own file only.
namespace gridstride {

struct StoredPiece {
  std::byte const* from;
  std::byte* to;
  std::size_t bytes;
};

/// What a rank puts into another one's memory on a way, and takes out of its own.
struct StoredPieces {
  static constexpr int most = 64;
  StoredPiece pieces[most];
  int count = 0;
};

/// Queues that the pieces are copied, and that `flag` is `number` then.
void cuda_put(Stream& stream, StoredPieces const& pieces, std::uint64_t* flag,
              std::uint64_t number);

/// Queues that the pieces are copied once each of up to two flags has come to its number. With a
/// `patience`, in nanoseconds, they are copied after that time in any case.
struct AwaitedFlags {
  std::uint64_t const* flags[2];
  std::uint64_t numbers[2];
  int count = 0;
  std::uint64_t patience = 0;
};
void cuda_take(Stream& stream, StoredPieces const& pieces, AwaitedFlags const& awaited);

}  // namespace gridstride
