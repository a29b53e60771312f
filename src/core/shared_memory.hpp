#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/token.hpp"

namespace gridstride {

/// Memory of the host that other processes of this machine may map too. It is of no file that could
/// stay behind.
class SharedMemory {
 public:
  /// What another process finds it by.
  struct Name {
    std::int64_t process = 0;
    std::int32_t file = -1;
    std::uint64_t bytes = 0;
    Token token = {};  ///< drawn anew for each, and told in the memory too
  };

  /// Throws `Error` where the system has none.
  explicit SharedMemory(std::size_t bytes);

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  Name const& name() const { return name_; }

  /// The memory of another process, as long as somebody has it; null where this process cannot see
  /// it, as where it is on another machine.
  static std::shared_ptr<std::byte> open(Name const& name);

 private:
  std::shared_ptr<void> file_, memory_;
  Name name_;
};

}  // namespace gridstride
