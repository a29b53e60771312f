#include "bench/timing.hpp"

#include <algorithm>
#include <cmath>

#include "core/timer.hpp"

namespace gridstride::bench {

namespace {

constexpr double least_sample_seconds = 100e-6;
constexpr double long_run_seconds = 1;
constexpr int least_samples = 5, most_samples = 101;
constexpr int most_runs = 64;
constexpr double trial_wait_seconds = 500e-6;
constexpr double longest_wait_seconds = 20e-3;

class Sampler {
 public:
  Sampler(Stream& stream, Workload const& workload, Problem const& problem, int sets,
          std::string_view variant)
      : stream_(stream), workload_(workload), problem_(problem), sets_(sets), variant_(variant) {}

  struct Sample {
    Event start, stop;
    double host_seconds;  // that it took to queue the runs
    double seconds() const { return elapsed_seconds(start, stop); }
  };

  /// Queues a sample, after a wait of the device.
  Sample queue(int runs, double wait_seconds) {
    if (workload_.in_place)
      for (int i = 0; i < runs; ++i) problem_.prepare((next_ + i) % sets_);
    Sample sample{Event(stream_.device()), Event(stream_.device()), 0};
    if (wait_seconds > 0) machine::occupy(stream_, wait_seconds);
    Timer host;
    stream_.record(sample.start);
    for (int i = 0; i < runs; ++i) {
      problem_.run(variant_, next_);
      next_ = (next_ + 1) % sets_;
    }
    stream_.record(sample.stop);
    sample.host_seconds = host.seconds();
    return sample;
  }

 private:
  Stream& stream_;
  Workload const& workload_;
  Problem const& problem_;
  int sets_;
  std::string_view variant_;
  int next_ = 0;
};

double percentile(std::vector<double> const& sorted, double share) {
  double const place = share * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(place);
  auto const above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

Timing summarize(std::vector<double> sample_seconds, int runs) {
  for (double& seconds : sample_seconds) seconds /= runs;
  std::ranges::sort(sample_seconds);
  return {.median = percentile(sample_seconds, 0.5),
          .p10 = percentile(sample_seconds, 0.1),
          .p90 = percentile(sample_seconds, 0.9),
          .samples = static_cast<int>(sample_seconds.size()),
          .runs_per_sample = runs};
}

Timing time_variant(Stream& stream, Workload const& workload, Problem const& problem, int sets,
                    std::string_view variant, double budget_seconds) {
  Sampler sampler(stream, workload, problem, sets, variant);
  double const first = sampler.queue(1, 0).seconds();
  if (first > long_run_seconds) return summarize({first}, 1);

  Timer whole;
  auto const trial = sampler.queue(1, trial_wait_seconds);
  double const run_seconds = trial.seconds();
  double const each_seconds = std::max(whole.seconds(), 1e-9);
  int const most = workload.in_place ? sets : most_runs;
  int const runs = std::clamp(static_cast<int>(std::ceil(std::min(
                                  1e6, least_sample_seconds / std::max(run_seconds, 1e-9)))),
                              1, most);
  int const samples = std::clamp(static_cast<int>(budget_seconds / (each_seconds * runs)),
                                 least_samples, most_samples);
  double const queueing = trial.host_seconds * runs;
  bool const host_is_slow = queueing > 0.5 * run_seconds * runs;
  double const wait = host_is_slow ? std::min(longest_wait_seconds, 1.5 * queueing + 20e-6) : 0;

  std::vector<Sampler::Sample> queued;
  queued.reserve(static_cast<std::size_t>(samples));
  for (int i = 0; i < samples; ++i) queued.push_back(sampler.queue(runs, wait));
  std::vector<double> seconds;
  seconds.reserve(queued.size());
  for (auto const& sample : queued) seconds.push_back(sample.seconds());
  return summarize(std::move(seconds), runs);
}

}  // namespace gridstride::bench
