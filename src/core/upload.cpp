#include "core/upload.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/buffer.hpp"
#include "core/slab_ring.hpp"

namespace gridstride::detail {

void upload_bytes(std::byte* target, std::byte const* source, std::size_t bytes, Stream& stream) {
  // To pin slabs takes some milliseconds.
  constexpr std::size_t worth_slabs = std::size_t{128} << 20;
  if (stream.backend() == Backend::cpu || bytes < worth_slabs) {
    copy_bytes_async(target, source, bytes, stream);
    return stream.synchronize();
  }
  std::size_t const piece = SlabRing::piece_bytes(Backend::cuda);
  auto const pieces = static_cast<std::int64_t>((bytes + piece - 1) / piece);
  auto const shape = SlabRing::shape_for(Backend::cuda, pieces, piece);
  auto const slab_pieces = static_cast<std::size_t>(shape.slab_pieces);
  Buffer<std::byte> slabs(stream, MemorySpace::pinned,
                          static_cast<std::size_t>(shape.slabs) * slab_pieces * piece);
  auto const begin_of = [&](std::int64_t number) {
    return std::min(static_cast<std::size_t>(number) * piece, bytes);
  };
  auto const slab_at = [&](std::size_t slab) { return slabs.data() + slab * slab_pieces * piece; };
  SlabRing::Work work;
  work.fill = [&](std::int64_t number, std::size_t slab) {
    auto const place = static_cast<std::size_t>(number % shape.slab_pieces) * piece;
    std::memcpy(slab_at(slab) + place, source + begin_of(number),
                begin_of(number + 1) - begin_of(number));
  };
  work.copy = [&](SlabRing::Filling const& all, Stream& copies) {
    std::size_t const first = begin_of(all.first);
    copy_bytes_async(target + first, slab_at(all.slab), begin_of(all.last) - first, copies);
  };
  work.take = [](SlabRing::Filling const&, Stream&) {};
  SlabRing(stream, shape).run(work);
  stream.synchronize();
}

}  // namespace gridstride::detail
