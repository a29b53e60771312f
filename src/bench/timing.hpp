#pragma once

#include <string_view>
#include <vector>

#include "bench/workload.hpp"

namespace gridstride::bench {

/// Seconds of one run.
struct Timing {
  double median;
  double p10, p90;  ///< percentiles of the samples
  int samples;
  int runs_per_sample;
};

/// Times a variant on prepared sets, one after the other in turn.
///
/// A sample lies between two events of the stream and holds enough runs to last 100 µs, so that the
/// events' resolution of about half a microsecond does not show. Nothing waits between samples, and
/// where queueing a sample takes the host longer than half of what it takes the device, the device
/// is kept busy meanwhile: so the host's launch latency is in no sample. There are at least 5
/// samples and at most 101, for about `budget_seconds`; where a single run takes more than a
/// second, that one is the only sample.
Timing time_variant(Stream& stream, Workload const& workload, Problem const& problem, int sets,
                    std::string_view variant, double budget_seconds);

/// Of samples of `runs` runs each; at least one sample.
Timing summarize(std::vector<double> sample_seconds, int runs);

}  // namespace gridstride::bench
