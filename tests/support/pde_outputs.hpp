#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/diagnostics.hpp"
#include "support/pde_cases.hpp"

/// What follows from the fields of a system at the end of a run without files.
namespace gridstride::test {

/// The simulation at its end, with its fields on the host.
struct Ended {
  config::RunConfig config;
  Stream stream;
  std::unique_ptr<Simulation> simulation;

  explicit Ended(std::string const& yaml, Backend backend = Backend::cpu)
      : config(config_of(yaml)),
        stream(Device::open(backend)),
        simulation(entry_of(config).make(config, stream, {})) {
    while (!simulation->finished()) simulation->advance(1000, config.time.end);
  }
  std::vector<double> values(std::string const& name) {
    for (Field const& field : simulation->fields()) {
      if (field.name != name) continue;
      auto const host = test::to_host(field, stream);
      std::vector<double> all;
      for (std::int64_t i = 0; i < field.values(); ++i) all.push_back(test::value_at(host, i));
      return all;
    }
    return {};
  }
  std::vector<NamedValue> measured() {
    auto const fields = simulation->fields(), quantities = simulation->quantities();
    return Diagnostics(config, fields, stream, quantities)
        .measure(fields, simulation->clock(), quantities)
        .values;
  }
  double measured(std::string const& name) {
    for (auto const& value : measured())
      if (value.name == name) return value.value;
    ADD_FAILURE() << "there is no number " << name;
    return 0;
  }
};

}  // namespace gridstride::test
