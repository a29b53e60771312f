#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/transform_cases.hpp"

namespace gridstride::test {
namespace {

template <class S>
std::vector<char> bytes_of(std::vector<double> const& values, bool big_endian) {
  std::vector<char> bytes;
  for (double const value : values) {
    auto const number = static_cast<S>(value);
    auto const* const first = reinterpret_cast<char const*>(&number);
    bytes.insert(bytes.end(), first, first + sizeof(S));
    if (big_endian) std::reverse(bytes.end() - static_cast<std::ptrdiff_t>(sizeof(S)), bytes.end());
  }
  return bytes;
}

using Writer = std::vector<char> (*)(std::vector<double> const&, bool);
std::map<std::string, Writer> const writers = {
    {"int8", bytes_of<std::int8_t>},   {"int16", bytes_of<std::int16_t>},
    {"int32", bytes_of<std::int32_t>}, {"int64", bytes_of<std::int64_t>},
    {"float32", bytes_of<float>},      {"float64", bytes_of<double>}};

/// Chains of tools/make_chain_reference.py, in whose whole numbers nothing rounds: numpy's and
/// scipy's values to the last bit, in one chunk and in small ones, in both precisions.
TEST(TransformRandomChains, EqualNumpy) {
  auto const folder =
      std::filesystem::temp_directory_path() / fmt::format("gridstride_chains_{}", getpid());
  std::filesystem::create_directories(folder);
  std::ifstream stored(GRIDSTRIDE_SOURCE_DIR "/tests/data/random_chains.json");
  auto const chains = nlohmann::json::parse(stored);
  int number = 0;
  for (auto const& chain : chains.at("cases")) {
    auto const shape = chain.at("shape").get<std::vector<std::int64_t>>();
    std::string inputs;
    for (auto const& [name, file] : chain.at("files").items()) {
      auto const type = file.at("type").get<std::string>();
      auto const order = file.at("byte_order").get<std::string>();
      auto const bytes =
          writers.at(type)(file.at("values").get<std::vector<double>>(), order == "big");
      std::ofstream(folder / name, std::ios::binary)
          .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      inputs += fmt::format("{}: {{file: {}, type: {}, shape: [{}], byte_order: {}}}, ", name,
                            (folder / name).string(), type, fmt::join(shape, ", "), order);
    }
    std::vector<double> const spacing(shape.size(), chains.at("spacing").get<double>());
    for (std::string const precision : {"float32", "float64"})
      for (std::string const& limits :
           {std::string("chunk: 1 GiB, streams: 1"),
            fmt::format("chunk: {} B, streams: 3", chain.at("chunk").get<int>())}) {
        SCOPED_TRACE(fmt::format("chain {} in {}, {}", number, precision, limits));
        auto const found =
            transform(fmt::format("simulation: transform\nprecision: {}\ngrid: {{spacing: [{}]}}\n"
                                  "input: {{{}}}\nsteps: {}\nreduce: {}\nlimits: {{{}}}\n",
                                  precision, fmt::join(spacing, ", "), inputs,
                                  chain.at("steps").dump(), chain.at("reduce").dump(), limits),
                      Backend::cpu);
        for (auto const& [name, values] : chain.at("arrays").items())
          EXPECT_EQ(found.fields.at(name), values.get<std::vector<double>>()) << name;
        for (auto const& [name, value] : chain.at("numbers").items())
          EXPECT_EQ(found.numbers.at(name), value.get<double>()) << name;
      }
    ++number;
  }
  EXPECT_EQ(number, 30);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gridstride::test
