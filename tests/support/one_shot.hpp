#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "driver/prepare.hpp"
#include "simulations/registry.hpp"
#include "support/heat_cases.hpp"

namespace gridstride::test {

inline constexpr Backend cpu = Backend::cpu;

/// A computation without time, done: the simulation refers to the stream.
struct OneShot {
  Stream stream;
  std::unique_ptr<Simulation> simulation;

  OneShot(std::string const& yaml, Backend backend) : stream(Device::open(backend)) {
    auto const config = config_of(yaml);
    simulation = entry_of(config).make(config, stream, inputs_of(config));
    EXPECT_FALSE(simulation->finished());
    simulation->advance(1, 0);
    EXPECT_TRUE(simulation->finished());
  }
};

}  // namespace gridstride::test
