#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "equations/language.hpp"

/// Systems as texts, and what is wrong with them.
namespace gridstride::equations::test {

/// A field `u`, and where there are two axes or more a vector `q`.
inline SystemText text_of(int dims, std::string const& of_u, std::string const& of_q = {}) {
  SystemText text;
  text.dims = dims;
  text.constants = {{"F", 0.04}, {"k", 0.06}};
  text.equations.push_back({{"u", {of_u}}, false});
  if (!of_q.empty()) text.equations.push_back({{"q", {of_q}}, true});
  return text;
}

/// What is wrong with a system, `u 3: message` for the character where it is; empty when nothing.
inline std::string faults_of(SystemText const& text) {
  std::vector<SystemFault> faults;
  bool const read = read_system(text, faults).has_value();
  EXPECT_EQ(read, faults.empty());
  std::string all;
  for (SystemFault const& fault : faults) {
    Definition const& definition =
        fault.in_equation ? text.equations[fault.definition] : text.lets[fault.definition];
    all += all.empty() ? "" : "\n";
    all += definition.name;
    if (definition.listed && fault.text) all += "." + std::to_string(*fault.text);
    all += " " + std::to_string(fault.error.position()) + ": " + fault.error.what();
  }
  return all;
}

inline System read(SystemText const& text) {
  std::vector<SystemFault> faults;
  auto system = read_system(text, faults);
  EXPECT_TRUE(system) << faults_of(text);
  return system ? *system : System{};
}

}  // namespace gridstride::equations::test
