#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/memory_cases.hpp"
#include "support/transform_files.hpp"

/// Chains over files within limits of memory, on any device: what stays between passes, what is
/// taken, and that no bit depends on either.
namespace gridstride::test {

/// What stayed of the data for later passes: 0 nothing, 1 a part, 2 all.
inline int kept(Simulation const& simulation) {
  for (auto const& [name, text] : simulation.chosen())
    if (name == "kept for later passes") {
      auto const of = text.find(" of ");
      if (text.substr(0, of) == text.substr(of + 4)) return 2;
      return text.starts_with("0 B") ? 0 : 1;
    }
  return -1;
}

class TransformMemory : public TransformFiles {
 protected:
  /// Two files of other types than the run's.
  void write_data(std::int64_t size) {
    std::mt19937_64 generator(3);
    std::normal_distribution<double> normal;
    a_.resize(static_cast<std::size_t>(size));
    b_.resize(a_.size());
    for (std::size_t i = 0; i < a_.size(); ++i) {
      a_[i] = normal(generator);
      b_[i] = static_cast<std::int16_t>(generator() % 1000);
    }
    write("a.bin", a_);
    write("b.bin", b_);
  }

  /// Reductions of several passes over what a chain makes of the files; `shape` as in C order.
  std::string config(std::vector<std::int64_t> const& shape, std::string const& precision,
                     std::string const& limits, bool steps = true) const {
    auto const source = [&](std::string const& name, std::string const& type) {
      return fmt::format("{{file: {}, type: {}, shape: [{}]}}",
                         (folder_ / (name + ".bin")).string(), type, fmt::join(shape, ", "));
    };
    std::string const axis = shape.size() == 1 ? "x" : shape.size() == 2 ? "y" : "z";
    std::string const list = !steps ? "steps: []\n"
                                    : fmt::format(
                                          "steps:\n- formula: {{c: \"a*b - 0.5\"}}\n"
                                          "- filter: {{c: [{{box: {{size: 7, axis: {0}}}}}]}}\n"
                                          "- scan: {{s: {{of: c}}}}\n"
                                          "- difference: {{g: {{of: s, axis: {0}, order: 2}}}}\n",
                                          axis);
    std::string const one = steps ? "c" : "a", two = steps ? "g" : "b";
    return fmt::format(
        "simulation: transform\nprecision: {}\ninput: {{a: {}, b: {}}}\n{}"
        "reduce: [{{moments: {}}}, {{histogram: {{of: {}, bins: 30}}}}, {{norms: a}},\n"
        "  {{quantiles: {{of: {}, at: [0, 0.25, 0.5, 0.9, 1]}}}}, {{where_max: b}},\n"
        "  {{quantiles: {{of: {}, at: [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95]}}}}]\n"
        "limits: {{{}}}\n",
        precision, source("a", "float64"), source("b", "int16"), list, one, one, two, one, limits);
  }

  /// Limits of which the least leave room for next to nothing that stays, the largest for all.
  void expect_bits_of_what_stays(std::vector<std::int64_t> const& shape,
                                 std::string const& precision, bool steps, Backend backend) const {
    SCOPED_TRACE(fmt::format("{} [{}] {}", precision, fmt::join(shape, ", "), steps));
    auto const yaml = [&](std::string const& limits) {
      return config(shape, precision, limits, steps) + "output: {fields: []}\n";
    };
    auto const whole = transform(yaml("chunk: 1 GiB, streams: 1"), backend);
    std::set<int> seen;
    for (int kilobytes = 200; kilobytes < 30000 && !seen.contains(2); kilobytes += kilobytes / 8) {
      auto const limited =
          yaml(fmt::format("chunk: 9 kB, streams: 3, device_memory: {} kB", kilobytes));
      try {
        OneShot const done(limited, backend);
        seen.insert(kept(*done.simulation));
      } catch (ConfigError const&) {
        continue;  // too little for one line
      }
      SCOPED_TRACE(kilobytes);
      expect_same_bits(whole, transform(limited, backend));
    }
    EXPECT_TRUE(seen.contains(1) && seen.contains(2));
  }

  std::vector<double> a_;
  std::vector<std::int16_t> b_;
};

/// The most memory that a computation holds at a time, of its device and of the host.
struct MostUsed {
  double device, host;
};

inline MostUsed most_used(std::string const& yaml, Backend backend) {
  auto const before = [](Backend owner) {
    restart_peak(owner);
    return static_cast<double>(memory_use(owner).now);
  };
  double const cpu_before = before(Backend::cpu), cuda_before = before(Backend::cuda);
  OneShot const done(yaml, backend);
  double const host = static_cast<double>(memory_use(Backend::cpu).peak) - cpu_before;
  if (backend == Backend::cpu) return {host, 0};
  return {static_cast<double>(memory_use(Backend::cuda).peak) - cuda_before, host};
}

}  // namespace gridstride::test
