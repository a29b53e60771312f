#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/families.hpp"

namespace gridstride {
namespace {

TEST(KernelFamilies, EveryBackendHasOneDefault) {
  for (auto const& family : kernel_families()) {
    int cpu = 0, cuda = 0;
    for (auto const& row : family.rows)
      (row.backend == Backend::cpu ? cpu : cuda) += row.name == family.default_variant(row.backend);
    EXPECT_EQ(cpu, 1) << family.name;
    EXPECT_EQ(cuda, 1) << family.name;
  }
}

TEST(KernelFamilies, EveryHostHasAReference) {
  for (auto const& family : kernel_families())
    EXPECT_EQ(std::ranges::count_if(family.rows,
                                    [](KernelRow const& row) {
                                      return row.backend == Backend::cpu && row.in_build &&
                                             row.name == "reference";
                                    }),
              1)
        << family.name;
}

TEST(KernelFamilies, ARowOfABackendIsListedOnceWithItsIdea) {
  for (auto const& family : kernel_families()) {
    std::set<std::pair<Backend, std::string_view>> known;
    for (auto const& row : family.rows) {
      EXPECT_TRUE(known.insert({row.backend, row.name}).second) << family.name << ' ' << row.name;
      EXPECT_FALSE(row.idea.empty()) << family.name << ' ' << row.name;
    }
  }
}

/// The functions that a row of a family names in its idea.
std::string functions_of(std::string_view family, std::string_view variant) {
  std::string found;
  for (auto const& candidate : kernel_families())
    for (auto const& row : candidate.rows)
      if (candidate.name == family && row.name == variant && row.backend == Backend::cuda)
        for (std::string_view const function :
             {"gauss_kronrod: ", "tanh_sinh: ", "quasi_monte_carlo: ", "vegas: "})
          if (row.idea.find(function) != std::string::npos) found += function;
  return found;
}

TEST(KernelFamilies, ARowSaysOfWhichFunctionsItIs) {
  EXPECT_EQ(functions_of("adaptive", "on_chip"), "gauss_kronrod: tanh_sinh: ");
  EXPECT_EQ(functions_of("adaptive", "breadth_first"), "gauss_kronrod: ");
  EXPECT_EQ(functions_of("sampling", "tiles"), "quasi_monte_carlo: vegas: ");
  EXPECT_EQ(functions_of("riemann", "compensated"), "");
}

TEST(KernelFamilies, WhatSeveralFunctionsDoAlikeIsSaidOnce) {
  for (auto const& family : kernel_families())
    if (family.name == "sampling") {
      EXPECT_EQ(family.rows[0].idea,
                "monte_carlo, quasi_monte_carlo, vegas: one sample after the other");
    }
}

TEST(KernelFamilies, AnUnknownOneIsRefused) {
  EXPECT_THROW(variant_names("nonsense"), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride
