#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/transform_cases.hpp"

/// Sorts and spectra of arrays in chunks, on any device.
namespace gridstride::test {

/// Values of which many are equal, of both zeros too; in memory, and to files by ranges of keys.
inline void expect_sorts_of_any_cut(Backend backend) {
  for (std::string const precision : {"float32", "float64"})
    for (std::string const points : {"50021", "241, 211", "7, 89, 83"}) {
      auto const yaml = [&](std::string const& limits) {
        return fmt::format(
            "simulation: transform\nprecision: {}\ngrid: {{points: [{}]}}\n"
            "input: {{a: \"sin(1e3*x + 17*x^2 + 3e3*z + 5e3*y)\"}}\n"
            "steps:\n- formula: {{c: \"floor(40*a)/20\", z0: \"-0*c\"}}\n"
            "- sort: {{s: {{of: a}}, o: {{of: c}}, n: {{of: z0}}}}\n"
            "output: {{fields: [a, s, o, n]}}\nlimits: {{{}}}\n",
            precision, points, limits);
      };
      auto const whole = transform(yaml("chunk: 1 GiB, streams: 1"), backend);
      auto expected = whole.fields.at("a");
      std::ranges::sort(expected);
      EXPECT_EQ(whole.fields.at("s"), expected);
      EXPECT_TRUE(std::ranges::is_sorted(whole.fields.at("o")));
      expect_same_bits(whole, transform(yaml("chunk: 20000 B, streams: 3"), backend));
      for (std::string const limits :
           {"device_memory: 2500 kB", "device_memory: 1600 kB, chunk: 5 kB, streams: 2"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", precision, points, limits));
        expect_same_bits(whole, transform_to_files(yaml(limits), backend));
      }
    }
}

/// Chunks smaller than a segment, as large as the data, and with ends in the midst of a group.
inline void expect_spectra_of_any_cut(Backend backend) {
  struct Case {
    std::string points, spectra;
    std::vector<std::string> limits;
  };
  for (Case const& one :
       {Case{"4001",
             "p: {of: a, segment: 256}, q: {of: d, segment: 101, overlap: 0, window: boxcar}, "
             "r: {of: a, segment: 4001, detrend: linear}, s: {of: d, segment: 2, detrend: none}",
             {"chunk: 64 B, streams: 3", "chunk: 1001 B", "chunk: 9000 B, streams: 2"}},
        Case{"200003",
             "p: {of: a, segment: 16}, q: {of: d, segment: 100, overlap: 0.9, window: blackman}",
             {"chunk: 99991 B, streams: 2", "chunk: 300 kB, streams: 3"}}})
    for (std::string const precision : {"float32", "float64"}) {
      auto const yaml = [&](std::string const& limits) {
        return fmt::format(
            "simulation: transform\nprecision: {}\ngrid: {{points: {}, spacing: 0.01}}\n"
            "input: {{a: \"sin(7*x) + 0.3*cos(50*x^2)\"}}\n"
            "steps: [{{difference: {{d: {{of: a}}}}}}, {{spectrum: {{{}}}}}]\n"
            "limits: {{{}}}\n",
            precision, one.points, one.spectra, limits);
      };
      auto const whole = transform(yaml("chunk: 1 GiB, streams: 1"), backend);
      for (auto const& limits : one.limits) {
        SCOPED_TRACE(fmt::format("{} {} {}", precision, one.points, limits));
        expect_same_bits(whole, transform(yaml(limits), backend));
      }
    }
}

}  // namespace gridstride::test
