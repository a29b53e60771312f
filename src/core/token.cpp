#include "core/token.hpp"

#include <random>

namespace gridstride {

Token draw_token() {
  std::random_device random;
  auto const draw = [&] { return std::uint64_t{random()} << 32 | random(); };
  return {draw(), draw()};
}

}  // namespace gridstride
