#pragma once

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/poisson_cases.hpp"

/// What tools/make_poisson_reference.py has made of dense matrices.
namespace gridstride::test {

inline nlohmann::json stored_cases(std::string const& kind) {
  std::ifstream file("tests/data/poisson_reference.json");  // of a folder made by tools/bundle
  if (!file) file.open(GRIDSTRIDE_SOURCE_DIR "/tests/data/poisson_reference.json");
  return nlohmann::json::parse(file).at(kind);
}

/// A stored case, whose g is u on Dirichlet sides and ∂u/∂n on Neumann sides.
inline std::string reference_yaml(nlohmann::json const& entry, std::string const& parameters,
                                  std::string const& source) {
  PoissonGrid const grid{entry.at("points").get<std::vector<int>>(), entry.at("sides")};
  std::string const g = entry.at("g");
  std::string yaml = poisson_yaml(grid, g, {g, g, g},
                                  fmt::format("source: \"{}\", {}", source, parameters), "float64");
  // `poisson_yaml` takes the slope along the axis, outward or not.
  for (std::string::size_type at; (at = yaml.find("neumann: \"-(")) != std::string::npos;)
    yaml.replace(at, 12, "neumann: \"(");
  return yaml;
}

inline double largest_difference(HostField const& u, nlohmann::json const& expected) {
  auto const values = expected.get<std::vector<double>>();
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    largest = std::max(largest, std::abs(value_at(u, static_cast<std::int64_t>(i)) - values[i]));
  return largest;
}

}  // namespace gridstride::test
