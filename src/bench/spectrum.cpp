#include "kernels/spectrum/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_spectrum {

/// Noise that repeats itself with the distance of segments, so that all are alike and one of them
/// tells the whole spectrum.
template <class T>
class Spectrum {
 public:
  Spectrum(Stream& stream, spectrum::Options const& options, std::int64_t size, int sets)
      : stream_(stream),
        options_(options),
        samples_(stream, size, sets),
        densities_(stream, options.bins(), sets) {}

  void prepare(int set) {
    auto const samples = samples_(set);
    auto const hop = static_cast<std::size_t>(options_.hop());
    machine::fill_random(stream_, samples.first(std::min(hop, samples.size())), 5);
    for (std::size_t done = hop; done < samples.size();) {
      std::size_t const more = std::min(done, samples.size() - done);
      copy_async(samples.subspan(done, more), samples.first(more), stream_);
      done += more;
    }
    spoil(stream_, densities_(set));
  }

  void run(std::string_view variant, int set) {
    spectrum::Welch<T> welch(stream_, options_, variant);
    welch.add(stream_, samples_.constant(set));
    welch.finish(stream_, densities_(set));
  }

  /// The largest error beside the root of what a bin and the strongest one have; the bound of a
  /// transform of n points, 10·ε·log2(n) of its norm.
  Accuracy accuracy() {
    Stream host(Device::open(Backend::cpu));
    std::vector<T> segment(static_cast<std::size_t>(options_.segment));
    copy_async(std::span(segment), samples_.constant(0).first(segment.size()), stream_);
    std::vector<double> found(densities_.constant(0).size()), exact(found.size());
    copy_async(std::span(found), densities_.constant(0), stream_);
    stream_.synchronize();
    spectrum::Welch<T> one(host, options_, "reference");
    one.add(host, segment);
    one.finish(host, exact);
    double const greatest = *std::ranges::max_element(exact);
    Accuracy result{0, 20 * std::numeric_limits<T>::epsilon() *
                           std::log2(static_cast<double>(options_.segment)) *
                           std::sqrt(static_cast<double>(options_.segment))};
    for (std::size_t k = 0; k < found.size(); ++k) {
      double const error = std::abs(found[k] - exact[k]) / greatest;
      result.error = std::isfinite(error) ? std::max(result.error, error)
                                          : std::numeric_limits<double>::infinity();
    }
    return result;
  }

 private:
  Stream& stream_;
  spectrum::Options options_;
  Arrays<T> samples_;
  Arrays<double> densities_;
};

template <class T, std::int64_t segment>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  spectrum::Options const options{.segment = segment, .overlap = segment / 2};
  auto const all = std::make_shared<Spectrum<T>>(stream, options, size, sets);
  return {.prepare = [=](int set) { all->prepare(set); },
          .run = [=](std::string_view variant, int set) { all->run(variant, set); },
          .accuracy = [=](std::string_view) { return all->accuracy(); }};
}

template <class T, std::int64_t segment>
Workload workload(Backend backend, std::string_view operation, bool by_default = true) {
  // Two segments for each hop of half a segment; a real transform has 2.5·n·log2 n operations.
  double const flops = 2 * 2.5 * std::log2(static_cast<double>(segment));
  bool const fused = backend == Backend::cuda && segment <= 4096 && (segment & (segment - 1)) == 0;
  auto rows = rows_of(spectrum::variants<T>(), backend,
                      fused ? "fused" : spectrum::default_variant(backend));
  std::erase_if(rows, [&](Row const& row) { return row.name == "fused" && !fused; });
  return {
      .family = "spectrum",
      .operation = operation,
      .type = type_name<T>(),
      .by_default = by_default,
      .size = default_size(backend, std::int64_t{1} << 28),
      .work = per_element({.bytes = sizeof(T),
                           .flops = flops,
                           .asks = {{machine::read_roof, sizeof(T)}, {arithmetic_roof<T>(), flops}},
                           .set_bytes = sizeof(T)}),
      .rows = rows,
      .make = problem<T, segment>,
      .rounded = [](std::int64_t wanted) { return std::max(wanted, segment); },
      .error = "the largest error of a density beside the largest density"};
}

}  // namespace of_spectrum

std::vector<Workload> spectrum_workloads(Backend backend) {
  using namespace of_spectrum;
  return {workload<float, 4096>(backend, "segments of 4096"),
          workload<float, 256>(backend, "segments of 256"),
          workload<float, 6000>(backend, "segments of 6000", false),
          workload<double, 4096>(backend, "segments of 4096", false)};
}

}  // namespace gridstride::bench
