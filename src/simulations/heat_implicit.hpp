#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/entry.hpp"

/// Implicit steps of heat: stable for any step, each a few tridiagonal systems.
namespace gridstride::heat {

std::vector<std::string_view> implicit_schemes();
bool is_implicit(config::RunConfig const& run);
/// Whether the scheme of a run estimates its error.
bool has_error(config::RunConfig const& run);

std::unique_ptr<Simulation> make_implicit(config::RunConfig const& run, Stream const& stream,
                                          Inputs const& inputs);

/// The step of a run (s); the longest where steps follow their error. Throws `ConfigError` where the
/// file gives none, since nothing but the accuracy that is wanted bounds it.
double implicit_step(config::RunConfig const& run, Inputs const& inputs);
MemoryForecast implicit_memory(config::RunConfig const& run, Backend backend);
/// Keys that mean something for explicit steps alone, and steps that no scheme makes.
std::vector<Problem> implicit_problems(config::RunConfig const& run);
/// How the step compares with what explicit ones could be.
std::vector<std::string> implicit_report(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::heat
