#include "io/packing.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace gridstride::io {

std::size_t packing_bytes(int threads, std::size_t largest_field) {
  return static_cast<std::size_t>(threads) * 5 * std::min<std::size_t>(packed_block, largest_field);
}

std::vector<std::byte> deflated(std::span<std::byte const> bytes, int level) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> packed(size);
  int const status = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                               reinterpret_cast<Bytef const*>(bytes.data()), bytes.size(), level);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_OK) throw std::logic_error("zlib does not know this level of compression");
  packed.resize(size);
  return packed;
}

BlockSink::BlockSink(std::uint64_t bytes, std::uint64_t block_bytes, std::uint64_t group_bytes)
    : FieldSink(bytes),
      block_bytes_(block_bytes),
      group_bytes_(group_bytes),
      blocks_of_group_((group_bytes + block_bytes - 1) / block_bytes) {}

std::uint64_t BlockSink::block_count() const { return bytes() / group_bytes_ * blocks_of_group_; }

void BlockSink::put(std::uint64_t first_byte, std::span<std::byte const> bytes) {
  while (!bytes.empty()) {
    std::uint64_t const group = first_byte / group_bytes_, in_group = first_byte % group_bytes_;
    std::uint64_t const number = in_group / block_bytes_, within = in_group % block_bytes_;
    std::uint64_t const block_size = std::min(block_bytes_, group_bytes_ - number * block_bytes_);
    auto const part = bytes.first(std::min<std::uint64_t>(bytes.size(), block_size - within));
    std::uint64_t const block = group * blocks_of_group_ + number;
    if (part.size() == block_size)
      take(block, part);
    else
      collect(block, block_size, within, part);
    first_byte += part.size();
    bytes = bytes.subspan(part.size());
  }
}

/// Places of a block are written by threads at once, of which the last one hands it on.
void BlockSink::collect(std::uint64_t block, std::uint64_t block_size, std::uint64_t within,
                        std::span<std::byte const> bytes) {
  std::byte* target = nullptr;
  {
    std::lock_guard const lock(mutex_);
    auto const [open, is_new] = open_.try_emplace(block);
    if (is_new) open->second = {std::vector<std::byte>(block_size), block_size};
    target = open->second.bytes.data() + within;
  }
  std::memcpy(target, bytes.data(), bytes.size());
  std::vector<std::byte> whole;
  {
    std::lock_guard const lock(mutex_);
    auto const open = open_.find(block);
    open->second.missing -= bytes.size();
    if (open->second.missing > 0) return;
    whole = std::move(open->second.bytes);
    open_.erase(open);
  }
  take(block, whole);
}

}  // namespace gridstride::io
