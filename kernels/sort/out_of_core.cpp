#include "kernels/sort/out_of_core.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/slab.hpp"
#include "kernels/sort/order.hpp"
#include "kernels/sort/sort.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/streaming_copy.hpp"

namespace gridstride::sort {

namespace {

/// The numbers by which a variant orders keys: `cub` takes −0 and 0 for equal.
template <class T>
struct Order {
  bool zeros_alike;

  Ordered<T> operator()(T key) const { return to_ordered(zeros_alike && key == 0 ? T(0) : key); }
};

/// How the keys are cut: into runs of equal size, but for the last, and the result into as many
/// ranges.
struct Cut {
  std::int64_t size, chunk;

  std::int64_t count() const { return (size + chunk - 1) / chunk; }
  std::int64_t first(std::int64_t n) const { return std::min(n * chunk, size); }
  std::int64_t size_of(std::int64_t n) const { return first(n + 1) - first(n); }
};

/// A sorted run, and the places in it that a bisection has left.
struct Window {
  std::int64_t low, high;
};

/// Where the first `rank` keys of the result end in each run. Keys of one number are taken from the
/// runs in their order.
template <class T>
std::vector<std::int64_t> ends_of(std::span<T const> runs, Cut const& cut, std::int64_t rank,
                                  Order<T> const& order) {
  std::vector<Window> windows;
  for (std::int64_t r = 0; r < cut.count(); ++r)
    windows.push_back({cut.first(r), cut.first(r + 1)});
  /// The first place of a run, within its window, whose key's number is not below.
  auto const lower_bound = [&](Window const& window, Ordered<T> number) {
    auto const begin = runs.begin() + window.low, end = runs.begin() + window.high;
    return std::partition_point(begin, end, [&](T key) { return order(key) < number; }) -
           runs.begin();
  };
  // The greatest number below which there are no more than `rank` keys.
  Ordered<T> low = 0, high = static_cast<Ordered<T>>(-1);
  std::vector<std::int64_t> places(windows.size());
  while (low < high) {
    Ordered<T> const middle = low + (high - low) / 2 + 1;
    std::int64_t below = 0;
    for (std::size_t r = 0; r < windows.size(); ++r) {
      places[r] = lower_bound(windows[r], middle);
      below += places[r] - cut.first(static_cast<std::int64_t>(r));
    }
    bool const few = below <= rank;
    (few ? low : high) = few ? middle : middle - 1;
    for (std::size_t r = 0; r < windows.size(); ++r)
      (few ? windows[r].low : windows[r].high) = places[r];
  }
  std::int64_t rest = rank;
  for (std::size_t r = 0; r < windows.size(); ++r) {
    places[r] = lower_bound(windows[r], low);
    rest -= places[r] - cut.first(static_cast<std::int64_t>(r));
  }
  for (std::size_t r = 0; r < windows.size() && rest > 0; ++r) {
    std::int64_t const end = cut.first(static_cast<std::int64_t>(r) + 1);
    auto const equal_end = std::partition_point(runs.begin() + places[r], runs.begin() + end,
                                                [&](T key) { return order(key) == low; });
    std::int64_t const taken = std::min(rest, equal_end - runs.begin() - places[r]);
    places[r] += taken;
    rest -= taken;
  }
  return places;
}

/// Lanes, each with memory for a chunk. Chunks go to the device, are sorted there and come back.
template <class T>
class Lanes {
 public:
  using Gather = std::function<void(std::int64_t chunk, std::span<T> target)>;

  Lanes(Stream& stream, Cut const& cut, int lanes, std::string_view variant)
      : cut_(cut), variant_(variant), pipeline_(stream, lanes) {
    for (Lane& lane : pipeline_.lanes())
      slabs_.emplace_back(lane.stream(), static_cast<std::size_t>(cut.chunk) * sizeof(T));
  }

  PipelineReport run(Gather const& gather, WriteKeys<T> const& write) {
    return pipeline_.run(
        cut_.count(),
        {{"gather", StageKind::host,
          [&](Lane& lane, std::int64_t chunk) { gather(chunk, host(lane, chunk)); }},
         {"copy in", StageKind::queued,
          [&](Lane& lane, std::int64_t chunk) {
            slab(lane).to_device(host(lane, chunk).size_bytes(), lane.stream());
          }},
         {"sort", StageKind::queued,
          [&](Lane& lane, std::int64_t chunk) {
            keys(lane.stream(), slab(lane).template device<T>(host(lane, chunk).size()), variant_);
          }},
         {"copy out", StageKind::queued,
          [&](Lane& lane, std::int64_t chunk) {
            slab(lane).to_host(host(lane, chunk).size_bytes(), lane.stream());
          }},
         {"put", StageKind::host,
          [&](Lane& lane, std::int64_t chunk) { write(cut_.first(chunk), host(lane, chunk)); }}});
  }

 private:
  Slab& slab(Lane const& lane) { return slabs_[lane.index()]; }
  /// A chunk's keys, which the stage that asks for them moves.
  std::span<T> host(Lane& lane, std::int64_t chunk) {
    auto const keys = slab(lane).template host<T>(static_cast<std::size_t>(cut_.size_of(chunk)));
    lane.moved(keys.size_bytes());
    return keys;
  }

  Cut cut_;
  std::string_view variant_;
  Pipeline pipeline_;
  std::vector<Slab> slabs_;
};

/// Lanes that keep both directions of the bus, the device and the host's memory at work; and chunks
/// that leave each lane its keys, as many for the sort to go to, and what else that needs. Larger
/// ones gain nothing, and much smaller ones make many runs to bisect.
constexpr int most_lanes = 6;
constexpr std::size_t most_chunk_bytes = std::size_t{64} << 20;
constexpr std::size_t parts = 3;

}  // namespace

template <class T>
OutOfCoreReport out_of_core(Stream& stream, ReadKeys<T> const& read, std::span<T> runs,
                            WriteKeys<T> const& write, std::size_t device_bytes,
                            std::string_view variant) {
  if (device_bytes < least_device_bytes)
    throw std::invalid_argument(
        fmt::format("sort: {} bytes of device memory are too few ({} are needed)", device_bytes,
                    least_device_bytes));
  if (variant == "auto") variant = default_variant(stream.backend());
  std::size_t const chunk_bytes = std::min(device_bytes / (parts * most_lanes), most_chunk_bytes);
  std::int64_t const size = std::ssize(runs);
  Cut const cut{
      size, std::clamp<std::int64_t>(size, 1, static_cast<std::int64_t>(chunk_bytes / sizeof(T)))};
  int const lanes = static_cast<int>(std::clamp<std::int64_t>(cut.count(), 1, most_lanes));
  Lanes<T> all(stream, cut, lanes, variant);
  auto const from_input = [&](std::int64_t run, std::span<T> target) {
    read(cut.first(run), target);
  };
  OutOfCoreReport report;
  if (cut.count() <= 1) {
    report.runs = all.run(from_input, write);
    return report;
  }
  report.runs = all.run(from_input, [&](std::int64_t first, std::span<T const> run) {
    copy_shared<T>(run, runs.data() + first);
  });
  std::vector<std::vector<std::int64_t>> ends(static_cast<std::size_t>(cut.count()) + 1);
  parallel_for(cut.count() + 1, [&](std::int64_t n) {
    ends[static_cast<std::size_t>(n)] = ends_of<T>(runs, cut, cut.first(n), {variant == "cub"});
  });
  report.ranges = all.run(
      [&](std::int64_t range, std::span<T> target) {
        auto const& from = ends[static_cast<std::size_t>(range)];
        auto const& to = ends[static_cast<std::size_t>(range) + 1];
        std::vector<std::int64_t> places(from.size());
        for (std::size_t r = 1; r < from.size(); ++r)
          places[r] = places[r - 1] + to[r - 1] - from[r - 1];
        parallel_for(cut.count(), [&](std::int64_t r) {
          auto const run = static_cast<std::size_t>(r);
          copy_past_caches<T>(runs.subspan(static_cast<std::size_t>(from[run]),
                                           static_cast<std::size_t>(to[run] - from[run])),
                              target.data() + places[run]);
        });
      },
      write);
  return report;
}

template <class T>
OutOfCoreReport out_of_core(Stream& stream, std::span<T> keys, std::span<T> sorted,
                            std::size_t device_bytes, std::string_view variant) {
  require_same_size("sort::out_of_core", named("keys", keys), named("sorted", sorted));
  require_disjoint("sort::out_of_core", named("keys", keys), named("sorted", sorted));
  return out_of_core<T>(
      stream,
      [&](std::int64_t first, std::span<T> target) {
        copy_shared<T>(keys.subspan(static_cast<std::size_t>(first), target.size()), target.data());
      },
      keys,
      [&](std::int64_t first, std::span<T const> source) {
        copy_shared<T>(source, sorted.data() + first);
      },
      device_bytes, variant);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                           \
  template OutOfCoreReport out_of_core(Stream&, ReadKeys<T> const&, std::span<T>,           \
                                       WriteKeys<T> const&, std::size_t, std::string_view); \
  template OutOfCoreReport out_of_core(Stream&, std::span<T>, std::span<T>, std::size_t,    \
                                       std::string_view);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sort
