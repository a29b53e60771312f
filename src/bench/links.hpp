#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/ranks.hpp"
#include "core/stream.hpp"

/// What messages between the ranks of a run take (`gridstride bench links`).
namespace gridstride::bench {

/// Of ranks in a ring: each sends so many bytes both ways at a time, and waits for what comes.
struct LinkTime {
  std::size_t bytes = 0;
  double seconds = 0;  ///< median of the exchanges, one after the other
};

/// t = latency + bytes / rate, by least squares of what it is off, in parts of t.
struct LinkModel {
  double latency = 0;  ///< s
  double rate = 0;     ///< B/s on each way
};
/// Of at least two times of different sizes.
LinkModel fit(std::vector<LinkTime> const& times);

struct LinkReport {
  std::string transport;
  std::string lack;  ///< why there is none, or empty
  std::vector<LinkTime> times = {};
};

/// Every transport of the stream's device. All ranks call it; the first one's times count. Throws
/// `VerificationError` where something else comes than was sent.
std::vector<LinkReport> measure_links(Ranks& ranks, Stream& stream);

std::string table(std::vector<LinkReport> const& reports);
/// With its provenance.
std::string json(Ranks const& ranks, Device const& device, std::vector<LinkReport> const& reports);

}  // namespace gridstride::bench
