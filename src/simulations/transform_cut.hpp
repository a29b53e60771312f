#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/limits.hpp"
#include "core/device.hpp"
#include "simulations/transform_layout.hpp"

/// How large the chunks are that a chain goes through a device in, and what they take.
namespace gridstride::transform {

/// What stretches of stored numbers in a slab begin at multiples of (bytes).
inline constexpr std::size_t slab_alignment = 256;

inline std::size_t slab_aligned(std::size_t bytes) {
  return (bytes + slab_alignment - 1) / slab_alignment * slab_alignment;
}

/// Bytes that a run may take.
struct Room {
  double device, host;
};

/// What `limits` say. Where they say nothing: of a GPU all but what libraries and the gaps between
/// arrays take, of the host a half.
/// Of several processes that are on this machine, `on_host`, and on this device, `on_device`, each has
/// an equal part.
Room room_of(config::Limits const& limits, Device const& device, int on_device = 1,
             int on_host = 1);

/// What a cut is for.
struct Load {
  std::vector<int> places;             ///< that any pass looks at
  std::vector<int> written = {};       ///< those that go to files
  std::vector<int> picked = {};        ///< those that values are picked out of, for tables
  std::vector<int> stored_bytes = {};  ///< of a number of each array that comes from a file; else 0
  bool in_pieces = false;              ///< files may be read number by number: none packs them
  std::size_t value_bytes = 8;
  std::size_t lane_bytes = 0;               ///< of device memory that a lane takes beside its chunk
  double device_bytes = 0, host_bytes = 0;  ///< that there are for the lanes
  int processes = 1;                        ///< of the run on this machine
};

/// How a chain goes through a device.
struct Cut {
  std::int64_t rows = 0;  ///< of the data in a chunk
  int threads = 1;
  int each = 1;  ///< lanes of a thread
  /// Of a thread that reads for a GPU; each is free again when what was in it is there.
  int slabs = 1;
  bool stays_awake = false;  ///< a thread that waits for one of these
  // The most that a chunk takes in each lane:
  std::size_t values = 0;               ///< that it makes
  std::size_t read_values = 0;          ///< of files
  std::size_t read_bytes = 0;           ///< the same as they are stored
  std::size_t slab_bytes = 0;           ///< of those, what goes through a slab at once
  std::size_t pieces = 0;               ///< stretches of rows that are read
  std::size_t written_values = 0;       ///< that go to files
  std::size_t picked_values = 0;        ///< that may go to tables, of all lanes together
  std::vector<std::int64_t> kept = {};  ///< rows of each array that its scan keeps
  std::size_t kept_values = 0;          ///< in these

  int lanes() const { return threads * each; }
  /// Whether a chunk does not take more than that.
  bool holds(Chain const& chain, Load const& load, Layout const& layout) const;
  /// Bytes of all lanes.
  std::size_t device_bytes(Load const& load, Backend backend) const;
  std::size_t host_bytes(Load const& load) const;
};

/// The cut for a load: within its bytes, as far as one row and one lane are.
Cut cut_for(Chain const& chain, config::Limits const& limits, Load const& load, Backend backend);

/// Throws `ConfigError` at `limits` where a cut takes more than there is.
void require_room(config::RunConfig const& run, Cut const& cut, Load const& load, Backend backend);

/// What of a chunk leaves the device in a pass.
struct Leaving {
  bool written = false;  ///< arrays that go to files
  bool picked = false;   ///< values that go to tables
};

/// The chunks of one pass, where the rows `resident[place]` of files are in device memory:
/// several chunks of the cut together, wherever the memory that there is holds what they take.
std::vector<Rows> chunks_of_pass(Chain const& chain, Load const& load, Cut const& cut,
                                 std::vector<int> const& places, std::vector<Rows> const& resident,
                                 Leaving const& leaving);

}  // namespace gridstride::transform
