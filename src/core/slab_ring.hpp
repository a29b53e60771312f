#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/stream.hpp"

namespace gridstride {

/// Data that threads of the host read and a device takes, by way of a few slabs of the host's
/// memory. All threads fill the same slab, a piece each, and the next one when it has no piece left.
/// So the first slab is full soon and the bus has work, copies are as large as slabs, and there is
/// little memory to pin:
///
///     slab 0  |read 16 pieces|copy|         |read|copy|
///     slab 1                 |read|copy|         |read|copy|
///     slab 2                      |read|copy|         …
///
/// On the CPU a slab has one piece, which the thread that has read it takes out itself.
class SlabRing {
 public:
  struct Shape {
    std::int64_t pieces = 0;
    std::int64_t slab_pieces = 1;  ///< of a slab; those of the last one may be fewer
    std::int64_t slabs = 1;        ///< as many as fillings where the pieces need no slabs
    int threads = 1;

    std::int64_t fillings() const { return (pieces + slab_pieces - 1) / slab_pieces; }
  };
  /// A good shape for pieces of so many bytes, on a GPU: slabs of `slab_bytes`, or of one piece
  /// that is larger, and so many of them that each thread can be ahead by a piece.
  static Shape shape_for(Backend backend, std::int64_t pieces, std::size_t piece_bytes);
  /// Good sizes of pieces.
  static constexpr std::size_t slab_bytes = std::size_t{16} << 20;
  static std::size_t piece_bytes(Backend backend);

  SlabRing(Stream const& stream, Shape const& shape);

  /// A slab that is full: its pieces [first, last), and its place among the slabs.
  struct Filling {
    std::int64_t first, last;
    std::size_t slab;
  };
  struct Work {
    /// Fills the place of a piece in a slab; called by several threads at a time.
    std::function<void(std::int64_t piece, std::size_t slab)> fill;
    /// Queues what empties a slab; on a GPU one thread at a time calls it, and the next.
    std::function<void(Filling const&, Stream&)> copy;
    /// Queues what is to be done with that on the stream that the ring was made for. The slab is
    /// copied to its place again when that is done.
    std::function<void(Filling const&, Stream&)> take;
  };

  /// Begins after what is queued on the stream; when it returns all slabs are empty, and what
  /// `take` has queued may be under way. Returns the seconds until the last piece was read. Where
  /// work on a piece throws, those after it are given up, and what the first of them threw is
  /// thrown: the same for any number of threads.
  double run(Work const& work);

 private:
  Stream stream_, copies_;
  Shape shape_;
  std::vector<Event> copied_, taken_;  ///< of each slab, on a GPU
};

}  // namespace gridstride
