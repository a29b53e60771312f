#pragma once

#include <memory>
#include <span>
#include <string>

#include "config/run_config.hpp"
#include "core/stream.hpp"
#include "driver/prepare.hpp"
#include "model/simulation.hpp"

/// A run whose steps several processes make. The first rank is the run: it reads, checks, keeps the
/// time, writes. The others make their part of its steps when it says so, and know nothing of files.
namespace gridstride {

/// Rank 0: the simulation of a run that was checked, with the other ranks at its side as long as it
/// lives. Throws as `take_simulation` does.
std::unique_ptr<Simulation> share_simulation(config::RunConfig const& run, Stream const& stream,
                                             Checked& checked);

/// Another rank: does what rank 0 says for those of these runs that it begins, until it ends. What
/// it throws is for `end_rank`.
void serve(std::span<config::RunConfig const* const> runs);

/// Rank 0's last call: lets the others end, or ends them where they wait for what it failed in.
void end_ranks(int exit_code);
/// The last call of another rank. `failure` is what it threw, which is told where rank 0 has not
/// failed in the same way, and ends all; empty without one.
void end_rank(std::string const& failure);

}  // namespace gridstride
