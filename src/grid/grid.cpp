#include "grid/grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace gridstride {

std::string format_points(Grid const& grid) {
  return fmt::format("{}", fmt::join(std::span(grid.points).first(grid.dims), " x "));
}

}  // namespace gridstride
