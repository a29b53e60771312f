#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/field_sink.hpp"
#include "core/stream.hpp"

namespace gridstride::io {

/// Moves arrays between the memory of a device and files in slabs, by a few lanes, each with pinned
/// memory for a slab: while one copies, others write. Of arrays in the host's memory files take the arrays themselves.
/// Slabs begin at multiples of `bytes` and are that long, but for the last of an array.
class Slabs {
 public:
  static constexpr std::size_t bytes = slab_of_files;

  /// What goes through: arrays of up to so many bytes, and such as are made slab by slab.
  struct Use {
    std::size_t largest_array = 0;
    std::size_t largest_made = 0;
    bool packs = false;  ///< sinks pack what they get, which keeps threads busy

    std::size_t largest() const { return std::max(largest_array, largest_made); }
  };
  /// Takes all memory.
  Slabs(Stream const& stream, Use const& use);
  Slabs(Stream const& stream, std::size_t largest_array) : Slabs(stream, Use{largest_array}) {}
  ~Slabs();
  /// Of that, what the host has, and what a GPU has.
  struct Memory {
    std::size_t host, device;
  };
  static Memory memory(Backend backend, Use const& use);
  /// How many lanes there are.
  static int lanes(Use const& use);

  /// Queues what makes a slab of an array, in the device's memory, from its first byte on. Several
  /// threads call it at a time.
  using Make = std::function<void(Stream&, std::uint64_t first_byte, std::span<std::byte> slab)>;

  /// An array, and the places that its bytes go to. What is made needs no data.
  struct Output {
    std::byte const* data;
    std::size_t size;
    std::vector<FieldSink*> sinks;
    Make make = nullptr;
  };
  /// Begins after what is queued on the stream, and returns when all is written. Throws what a sink
  /// throws.
  void write(std::span<Output const> arrays);

  /// Fills `array`, in the device's memory, with what `fill` puts into each slab; several threads
  /// call it at a time. Throws what it throws.
  using Fill = std::function<void(std::uint64_t first_byte, std::span<std::byte> slab)>;
  void read(std::span<std::byte> array, Fill const& fill);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gridstride::io
