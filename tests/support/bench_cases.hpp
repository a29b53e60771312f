#pragma once

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "bench/bench.hpp"

namespace gridstride::test {

/// A workload of doubling numbers, whose variants are right or wrong in ways of their own. It runs
/// on the host, whatever is measured otherwise.
inline bench::Workload doubling(std::vector<bench::Row> rows) {
  auto const make = [](Stream& stream, std::int64_t size, int sets) {
    bench::Arrays<std::int32_t> const input(stream, size, sets), output(stream, size, sets);
    return bench::Problem{.prepare =
                              [=, &stream](int set) {
                                machine::Distribution small;
                                small.below = 1000;
                                machine::fill_random(stream, input(set),
                                                     static_cast<std::uint64_t>(set), small);
                                bench::spoil(stream, output(set));
                              },
                          .run =
                              [=](std::string_view variant, int set) {
                                if (variant == "refuses")
                                  throw std::invalid_argument("doubling: 'refuses' refuses");
                                if (variant == "idle") return;
                                for (std::size_t i = 0; i < input(set).size(); ++i)
                                  output(set)[i] = 2 * input(set)[i];
                                if (variant == "wrong") ++output(set)[input(set).size() / 3];
                                // A fault that only large sizes show, as that of an index of too
                                // few bits.
                                if (variant == "wrong_late" && input(set).size() > 4'500'000)
                                  --output(set).back();
                                if (variant == "slow")
                                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
                              },
                          .result = bench::result_of(stream, output)};
  };
  return {.family = "doubling",
          .operation = "double",
          .type = "int32",
          .by_default = true,
          .size = 1000,
          .work = bench::per_element({.bytes = 8,
                                      .flops = 1,
                                      .asks = {{machine::copy_roof, 8}, {machine::float32_roof, 2}},
                                      .set_bytes = 8}),
          .rows = std::move(rows),
          .make = make};
}

/// A machine that copies 8 GB/s and computes 1 GFLOP/s.
inline std::vector<machine::Roof> simple_roofs() {
  return {{machine::copy_roof, "B/s", 8e9, "a guess"},
          {machine::read_roof, "B/s", 8e9, "a guess"},
          {machine::float32_roof, "FLOP/s", 1e9, "a guess"},
          {machine::float64_roof, "FLOP/s", 1e9, "a guess"},
          {machine::to_device_roof, "B/s", 1e9, "a guess"},
          {machine::to_host_roof, "B/s", 1e9, "a guess"},
          {machine::duplex_roof, "B/s", 1.5e9, "a guess"}};
}

}  // namespace gridstride::test
