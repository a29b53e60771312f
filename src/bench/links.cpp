#include "bench/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "bench/report.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/rank_links.hpp"
#include "core/text.hpp"
#include "core/timer.hpp"
#include "kernels/support/gpu_links.hpp"

namespace gridstride::bench {

namespace of_links {

constexpr std::size_t sizes[] = {8, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
constexpr std::size_t most = sizes[std::size(sizes) - 1];
constexpr int ways = 2, samples = 11;
constexpr double sample_seconds = 3e-3;

/// A ring of ranks, and what this one sends and receives.
class Ring {
 public:
  Ring(Ranks& ranks, Stream& stream, std::string_view transport)
      : ranks_(ranks),
        stream_(stream),
        beside_{(ranks.rank() + ranks.count() - 1) % ranks.count(),
                (ranks.rank() + 1) % ranks.count()},
        links_(open_gpu_links(ranks, stream, beside_, most, Meanwhile::nothing, transport)),
        sent_(stream, MemorySpace::device, ways * most),
        come_(stream, MemorySpace::device, ways * most) {
    for (int way = 0; way < ways; ++way) {
      std::vector<std::byte> const bytes(most, mark(ranks.rank(), way));
      copy_async(part(sent_, way, most), std::span(bytes), stream);
      stream.synchronize();
    }
  }

  /// Seconds of one exchange among `count` that follow one another.
  double exchange(std::size_t bytes, int count) {
    stream_.synchronize();
    std::byte none{};
    ranks_.broadcast({&none, 1});  // together
    Timer const timer;
    for (int i = 0; i < count; ++i) {
      std::vector<RankLinks::Arrival> arrivals;
      for (int way = 0; way < ways; ++way) {
        links_.links->start(way, {part(sent_, way, bytes)}, stream_);
        arrivals.push_back({way, {part(come_, way, bytes)}, &stream_});
      }
      links_.links->let_go(stream_);
      links_.links->finish(arrivals);
    }
    stream_.synchronize();
    return timer.seconds() / count;
  }

  void require_what_was_sent() {
    for (int way = 0; way < ways; ++way) {
      std::vector<std::byte> bytes(most);
      copy_async(std::span(bytes), std::as_const(come_).span().subspan(offset(way), most), stream_);
      stream_.synchronize();
      std::byte const expected = mark(beside_[static_cast<std::size_t>(1 - way)], way);
      if (!std::ranges::all_of(bytes, [&](std::byte byte) { return byte == expected; }))
        throw VerificationError(fmt::format("what rank {} was sent by {} has not come",
                                            ranks_.rank(), links_.transport));
    }
  }

 private:
  static std::byte mark(int rank, int way) { return static_cast<std::byte>(2 * rank + way + 1); }
  static std::size_t offset(int way) { return static_cast<std::size_t>(way) * most; }
  static std::span<std::byte> part(Buffer<std::byte>& buffer, int way, std::size_t bytes) {
    return buffer.span().subspan(offset(way), bytes);
  }

  Ranks& ranks_;
  Stream& stream_;
  RanksBeside beside_;
  OpenedLinks links_;
  Buffer<std::byte> sent_, come_;
};

/// As many exchanges as the first rank finds to last long enough.
int exchanges_of_sample(Ranks& ranks, double seconds) {
  int count = static_cast<int>(std::clamp(sample_seconds / seconds, 1.0, 1000.0));
  ranks.broadcast(std::as_writable_bytes(std::span(&count, 1)));
  return count;
}

LinkReport measure(Ranks& ranks, Stream& stream, std::string_view transport) {
  LinkReport report{std::string(transport), {}};
  try {
    Ring ring(ranks, stream, transport);
    for (std::size_t const bytes : sizes) {
      ring.exchange(bytes, 3);
      int const count = exchanges_of_sample(ranks, ring.exchange(bytes, 3));
      std::vector<double> seconds;
      for (int sample = 0; sample < samples; ++sample)
        seconds.push_back(ring.exchange(bytes, count));
      std::ranges::nth_element(seconds, seconds.begin() + samples / 2);
      report.times.push_back({bytes, seconds[samples / 2]});
    }
    ring.require_what_was_sent();
  } catch (VerificationError const&) {
    throw;
  } catch (Error const& error) {
    report.lack = error.what();
  }
  return report;
}

}  // namespace of_links

LinkModel fit(std::vector<LinkTime> const& times) {
  // latency/t + (1/rate)·bytes/t = 1
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (auto const& [bytes, seconds] : times) {
    double const a = 1 / seconds, b = static_cast<double>(bytes) / seconds;
    aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
  }
  double const determinant = aa * bb - ab * ab;
  return {(a1 * bb - b1 * ab) / determinant, determinant / (aa * b1 - ab * a1)};
}

std::vector<LinkReport> measure_links(Ranks& ranks, Stream& stream) {
  std::vector<LinkReport> reports;
  auto const add = [&](std::string_view transport) {
    reports.push_back(of_links::measure(ranks, stream, transport));
  };
  if (stream.backend() == Backend::cpu) {
    add("mpi");
    return reports;
  }
  for (auto const& transport : gpu_transports(Meanwhile::nothing, of_links::most))
    add(transport.name);
  return reports;
}

std::string table(std::vector<LinkReport> const& reports) {
  std::string text;
  for (auto const& [transport, lack, times] : reports) {
    text += fmt::format("\n{}{}\n", transport, lack.empty() ? "" : ": " + lack);
    if (!lack.empty()) continue;
    for (auto const& [bytes, seconds] : times)
      text += fmt::format("  {:>9} {:>10.1f} us {:>9.2f} GB/s each way\n",
                          format_bytes(static_cast<double>(bytes)), seconds * 1e6,
                          static_cast<double>(bytes) / seconds * 1e-9);
    auto const [latency, rate] = fit(times);
    text += fmt::format("  about {:.1f} us and {:.1f} GB/s\n", latency * 1e6, rate * 1e-9);
  }
  return text;
}

std::string json(Ranks const& ranks, Device const& device, std::vector<LinkReport> const& reports) {
  nlohmann::ordered_json json = provenance(device);
  json["ranks"] = ranks.count();
  json["links"] = nlohmann::ordered_json::array();
  for (auto const& [transport, lack, times] : reports) {
    nlohmann::ordered_json entry = {{"transport", transport}};
    if (!lack.empty()) {
      entry["remark"] = lack;
    } else {
      auto const [latency, rate] = fit(times);
      entry["latency"] = latency;
      entry["rate"] = rate;
      for (auto const& [bytes, seconds] : times)
        entry["times"].push_back({{"bytes", bytes}, {"seconds", seconds}});
    }
    json["links"].push_back(std::move(entry));
  }
  return json.dump(1) + '\n';
}

}  // namespace gridstride::bench
