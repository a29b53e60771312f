#pragma once

#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "core/pipeline.hpp"

namespace gridstride::bench {

/// One run of a workload of `pipeline`, looked at from the inside.
struct PipelineRunReport {
  std::string operation;
  std::string way;  ///< the row
  std::size_t lanes;
  PipelineReport report;
};

/// A run of each operation by the default row and by `serial`, after one to warm up, with their
/// timelines. `size` 0 is the workloads' own.
std::vector<PipelineRunReport> pipeline_timelines(Stream& stream, std::int64_t size);

/// What `tools/plot_timeline.py` draws.
std::string timeline_json(Device const& device, std::vector<PipelineRunReport> const& runs);

}  // namespace gridstride::bench
