#pragma once

#include <string>

#include "support/memory_checkpoint.hpp"
#include "support/pde_cases.hpp"

namespace gridstride::test {

/// A run of more than 60 steps that stops within the first steps, after which limits are found more
/// often, between two looks at the limit and at one, and goes on from a checkpoint: the bits and the
/// steps are those of a run that never stopped.
inline void expect_bits_after_restarts(std::string const& text, Backend backend) {
  auto const config = config_of(text);
  auto const whole = run_pde(text, backend);
  ASSERT_GT(whole.steps, 60);
  for (std::int64_t const stop : {3, 32, 45}) {
    Stream stream(Device::open(backend));
    auto const first = entry_of(config).make(config, stream, {});
    while (first->clock().step < stop) first->advance(stop - first->clock().step, config.time.end);
    ASSERT_EQ(first->clock().step, stop);
    MemoryCheckpoint checkpoint;
    first->save(checkpoint);
    auto const second = entry_of(config).make(config, stream, {});
    second->load(checkpoint);
    EXPECT_EQ(second->clock().time, first->clock().time);
    while (!second->finished()) second->advance(7, config.time.end);
    EXPECT_EQ(second->clock().step, whole.steps) << stop;
    auto const fields = second->fields();
    ASSERT_EQ(fields.size(), whole.fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f) {
      auto const host = to_host(fields[f], stream);
      for (std::size_t i = 0; i < whole.fields[f].size(); ++i)
        ASSERT_EQ(value_at(host, static_cast<std::int64_t>(i)), whole.fields[f][i])
            << stop << ' ' << fields[f].name << ' ' << i;
    }
  }
}

}  // namespace gridstride::test
