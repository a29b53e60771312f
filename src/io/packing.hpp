#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "core/field_sink.hpp"

/// Fields on their way to files that are compressed.
namespace gridstride::io {

/// Of a field's bytes, what is packed together: small, so that many threads have some, and large
/// enough for what repeats itself to be found.
inline constexpr std::uint64_t packed_block = std::uint64_t{1} << 20;

/// Host memory that so many threads need for fields of so many bytes, at most: each for a block as
/// it is, shuffled and packed, and for the two that its pieces begin and end in.
std::size_t packing_bytes(int threads, std::size_t largest_field);

/// The same bytes as zlib's deflate packs them, by a level from 1 to 9.
std::vector<std::byte> deflated(std::span<std::byte const> bytes, int level);

/// Takes a field in pieces of any size, in any order, and hands on whole blocks.
class BlockSink : public FieldSink {
 public:
  /// Blocks of so many bytes, which begin anew with each group.
  BlockSink(std::uint64_t bytes, std::uint64_t block_bytes, std::uint64_t group_bytes);

 protected:
  std::uint64_t block_count() const;

 private:
  /// Several threads at a time, a block each. The last one of a group may be shorter.
  virtual void take(std::uint64_t block, std::span<std::byte const> bytes) = 0;

  /// A block of which a part is missing.
  struct Open {
    std::vector<std::byte> bytes;
    std::uint64_t missing;
  };

  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override;
  void collect(std::uint64_t block, std::uint64_t block_size, std::uint64_t within,
               std::span<std::byte const> bytes);

  std::uint64_t block_bytes_, group_bytes_, blocks_of_group_;
  std::mutex mutex_;  // of what follows
  std::map<std::uint64_t, Open> open_;
};

}  // namespace gridstride::io
