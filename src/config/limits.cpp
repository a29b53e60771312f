#include "config/limits.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gridstride::config {

namespace {

void declare_bytes(Visitor& v, std::string_view name, std::string_view documentation,
                   std::optional<double>& bytes) {
  v.visit(
      {.name = name, .unit = "B", .documentation = documentation, .minimum = 1, .maximum = 0x1p62},
      bytes, "auto");
}

}  // namespace

void declare_limits(Visitor& visitor, Limits& limits) {
  constexpr double most_streams = 16;
  visitor.section(
      {.name = "limits",
       .documentation = "What the run may take. Results have the same bits whatever it is."},
      [&](Visitor& v) {
        declare_bytes(v, "device_memory",
                      "Memory of the device, as `8 GiB`; `auto`: most of what is free.",
                      limits.device_memory);
        declare_bytes(v, "host_memory",
                      "Memory of the host, as `4 GiB`; `auto`: half of what is free.",
                      limits.host_memory);
        v.visit({.name = "streams",
                 .documentation = "How many chunks are under way at a time.",
                 .minimum = 1,
                 .maximum = most_streams},
                limits.streams, "auto");
        if (limits.streams && *limits.streams != std::floor(*limits.streams))
          v.fault("streams", fmt::format("{} is not a whole number", *limits.streams));
        declare_bytes(v, "chunk",
                      "How much of an array is worked on at a time, in whole lines along its "
                      "slowest axis and one at least.",
                      limits.chunk);
      });
}

}  // namespace gridstride::config
