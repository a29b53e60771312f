#pragma once

#include <array>
#include <cstdint>

namespace gridstride {

/// By which a thing is known among those of other processes, containers and machines, which may have
/// the same numbers.
using Token = std::array<std::uint64_t, 2>;

/// Another one each time.
Token draw_token();

}  // namespace gridstride
