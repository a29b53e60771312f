#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/number_type.hpp"
#include "core/stored_order.hpp"

namespace gridstride {

/// An array of numbers that is read as it is stored. All functions may be called by any number of
/// threads at once.
class NumberSource {
 public:
  virtual ~NumberSource() = default;

  virtual NumberType type() const = 0;
  /// Extents, the slowest axis first; empty for a single number.
  virtual std::vector<std::int64_t> const& shape() const = 0;
  std::int64_t size() const {
    std::int64_t product = 1;
    for (std::int64_t const extent : shape()) product *= extent;
    return product;
  }

  /// Reads elements in C order, as they are stored: `count` times the type's bytes, to `target`.
  /// Throws `IoError` for what cannot be read, or ends before.
  virtual void read(std::int64_t first, std::int64_t count, void* target) const = 0;

  /// The order in which they are stored; empty for C order.
  virtual std::optional<StoredOrder> order() const { return std::nullopt; }
  /// Elements in the stored order, with those that are no elements of the array.
  std::int64_t stored_size() const {
    auto const stored = order();
    return stored ? stored->tiles() * stored->tile_size() : size();
  }
  /// The same as `read`, in the stored order.
  virtual void read_stored(std::int64_t first, std::int64_t count, void* target) const {
    read(first, count, target);
  }
  /// Elements that are packed together: what is read in whole multiples of them, in the stored
  /// order, is unpacked once.
  virtual std::int64_t granule() const { return 1; }

  /// Host memory that so many threads need for that at most, beside what they read into.
  virtual std::size_t unpacking_bytes(int /*threads*/) const { return 0; }

  /// To be called when all is read. Throws `IoError` where the file is not as it was when it was
  /// opened: another size, or written to meanwhile.
  virtual void check_unchanged() const = 0;
};

}  // namespace gridstride
