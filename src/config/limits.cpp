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

void declare_whole(Visitor& v, Spec const& spec, std::optional<double>& number) {
  v.visit(spec, number, "auto");
  if (number && *number != std::floor(*number))
    v.fault(spec.name, fmt::format("{} is not a whole number", *number));
}

void declare_chunk(Visitor& v, Limits& limits) {
  declare_bytes(v, "chunk",
                "How much of an array is worked on at a time, in whole lines along its "
                "slowest axis and one at least.",
                limits.chunk);
}

constexpr Spec section = {
    .name = "limits",
    .documentation = "What the run may take. Results have the same bits whatever it is."};

}  // namespace

void declare_limits(Visitor& visitor, Limits& limits) {
  constexpr double most_streams = 64;
  visitor.section(section, [&](Visitor& v) {
    declare_bytes(v, "device_memory",
                  "Memory of the device, as `8 GiB`; `auto`: most of what is free.",
                  limits.device_memory);
    declare_bytes(v, "host_memory", "Memory of the host, as `4 GiB`; `auto`: half of what is free.",
                  limits.host_memory);
    declare_whole(v,
                  {.name = "streams",
                   .documentation = "How many chunks are under way at a time.",
                   .minimum = 1,
                   .maximum = most_streams},
                  limits.streams);
    declare_chunk(v, limits);
  });
}

void declare_grid_limits(Visitor& visitor, Limits& limits) {
  constexpr double most_steps = 1 << 20;
  visitor.section(section, [&](Visitor& v) {
    declare_bytes(v, "device_memory",
                  "Memory of the device for the arrays, as `8 GiB`. A grid that needs more stays "
                  "in the host's memory and goes through the device in slabs; `auto`: what is "
                  "free.",
                  limits.device_memory);
    declare_chunk(v, limits);
    declare_whole(v,
                  {.name = "trip_steps",
                   .documentation = "The most steps that such slabs make for each trip to the "
                                    "device.",
                   .minimum = 1,
                   .maximum = most_steps},
                  limits.trip_steps);
  });
}

}  // namespace gridstride::config
