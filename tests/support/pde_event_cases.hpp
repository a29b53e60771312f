#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/pde_cases.hpp"

/// Systems of equations with events and with conditions that end them, without files.
namespace gridstride::test {

struct EventResult {
  std::vector<std::vector<double>> fields;
  Clock clock;
  std::string ending;
};

inline EventResult result_of(Simulation const& simulation, Stream& stream) {
  EventResult result = {.fields = {}, .clock = simulation.clock(), .ending = simulation.ending()};
  for (Field const& field : simulation.fields()) {
    auto const host = to_host(field, stream);
    auto& values = result.fields.emplace_back();
    for (std::int64_t i = 0; i < field.values(); ++i) values.push_back(value_at(host, i));
  }
  return result;
}

/// Runs to the end, in calls of `max_steps` that stop at multiples of `every` as outputs do.
inline EventResult run_events(std::string const& yaml, Backend backend = Backend::cpu,
                              std::int64_t max_steps = std::int64_t{1} << 40, double every = 0) {
  auto const config = config_of(yaml);
  Stream stream(Device::open(backend));
  auto const simulation = entry_of(config).make(config, stream, {});
  for (double moment = 1; !simulation->finished(); ++moment) {
    double const until = every > 0 ? std::min(moment * every, config.time.end) : config.time.end;
    while (!simulation->finished() && simulation->clock().time < until)
      simulation->advance(max_steps, until);
  }
  return result_of(*simulation, stream);
}

/// Two fields that exchange their values, a wave on a string, and a bump that flows away.
inline std::string events_pde(std::string const& more = "") {
  return "simulation: pde\n"
         "grid: {points: [24, 17]}\n"
         "fields: {q: vector}\n"
         "boundary:\n"
         "  x: periodic\n"
         "  u: {y: {lower: {dirichlet: \"1 + sin(3*t)\"}, upper: {neumann: 0}}}\n"
         "  q: {y: {lower: {dirichlet: {x: t, y: 0}}, upper: {neumann: {x: 0, y: 0}}}}\n"
         "equations: {u: \"0.02*laplace(u) - div(u*q)\", q: \"0.03*laplace(q) - 0.2*grad(u)\"}\n"
         "initial: {u: \"1 + cos(2*pi*x)/5\", q: {x: 0, y: \"y/9\"}}\n"
         "time: {end: 0.3, scheme: ssprk3}\n"
         "events:\n"
         "  - {at: [0.1, 0.2], set: {u: \"u + exp(-9*(x - 0.5)^2) + div(q)/9 + t/100\"}}\n"
         "  - {at: 0.2, set: {q: [\"u - q.y\", \"q.x\"], u: \"u/2\"}}\n" +
         more;
}

/// u decays as e^−t, v stays.
inline std::string decaying_pde(std::string const& more) {
  return "simulation: pde\n"
         "grid: {points: [9, 7], upper: [1, 2]}\n"
         "boundary: {x: {neumann: 0}, y: {neumann: 0}}\n"
         "equations: {u: -u, v: 0*v}\n"
         "initial: {u: 1, v: \"x*(1 + y)\"}\n"
         "time: {end: 20, step: 0.01}\n" +
         more;
}

}  // namespace gridstride::test
