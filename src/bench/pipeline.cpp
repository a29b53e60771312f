#include "bench/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/workloads.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "kernels/convolve/convolve.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::bench {

namespace of_pipeline {

// ------------------------------------------------------------------------------------ the ladder

/// How chunks go.
struct Way {
  std::string_view name;
  std::string_view idea;
  int lanes;
  MemorySpace memory;  ///< of the arrays
  bool slabs;          ///< by way of pinned slabs that the lanes' threads fill and empty
};

constexpr Way ways[] = {
    {"serial", "one chunk after the other: in, compute, out", 1, MemorySpace::pinned, false},
    {"lanes_2", "two lanes: one copies while the other computes", 2, MemorySpace::pinned, false},
    {"lanes_3", "three: one in, one at work, one out", 3, MemorySpace::pinned, false},
    {"lanes_4", "four, so that none waits for the host", 4, MemorySpace::pinned, false},
    {"lanes_8", "eight", 8, MemorySpace::pinned, false},
    {"pageable_serial", "serial from pageable memory, which the driver copies to its own first", 1,
     MemorySpace::host, false},
    {"pageable_4", "four lanes, each of which keeps a thread of the host busy", 4,
     MemorySpace::host, false},
    {"slabs_16", "pageable memory through pinned slabs, which the lanes' threads fill and empty",
     16, MemorySpace::host, true},
};
constexpr std::string_view default_way = "lanes_4";

Way const& way_of(std::string_view name) { return *std::ranges::find(ways, name, &Way::name); }

/// On the CPU all memory is alike.
std::vector<Row> rows_of_ways(Backend backend) {
  std::vector<Row> rows;
  for (auto const& way : ways)
    if (backend == Backend::cuda || way.memory == MemorySpace::pinned)
      rows.push_back({way.name, way.idea, way.name == default_way, false});
  return rows;
}

// -------------------------------------------------------------------------------------- the work

using Span = std::span<float>;
using ConstSpan = std::span<float const>;

/// What is done with an array, a chunk at a time.
struct Task {
  std::size_t halo = 0;  ///< values on each side of a chunk that its results depend on
  bool returns = true;   ///< as many values as come in
  /// Queues a chunk's work: `in` is the chunk with its halos, as far as the array has them.
  std::function<void(Lane&, ConstSpan in, Span out, std::int64_t chunk)> compute;
  /// The whole at once, on the host.
  std::function<void(Stream&, ConstSpan x, Span y)> reference;
  /// After the last chunk of a run: what there is beside y.
  std::function<Values()> finish = [] { return Values(); };
};

convolve::Shape line(std::size_t size) { return {{static_cast<std::int64_t>(size), 1, 1}, 0}; }

/// A filter for each lane.
using Filters = std::vector<convolve::Filter<float>>;

constexpr int most_lanes = 16;

std::shared_ptr<Filters> make_filters(Stream& stream, std::vector<double> const& taps) {
  auto const filters = std::make_shared<Filters>();
  for (int i = 0; i < most_lanes; ++i) filters->emplace_back(stream, taps, std::ssize(taps) / 2);
  return filters;
}

void filter(Stream& stream, convolve::Filter<float> const& by, ConstSpan in, Span out,
            std::string_view variant = "auto") {
  convolve::convolve(stream, by, line(in.size()), convolve::Boundary::nearest, in, out, 0, variant);
}

Task filter_task(Stream& stream, std::int64_t) {
  // Binomial coefficients: nearly a Gaussian, and with values of few bits every sum is exact.
  std::vector<double> taps = {1, 8, 28, 56, 70, 56, 28, 8, 1};
  for (double& tap : taps) tap /= 256;
  auto const filters = make_filters(stream, taps);
  Task task;
  task.halo = taps.size() / 2;
  task.compute = [filters](Lane& lane, ConstSpan in, Span out, std::int64_t) {
    filter(lane.stream(), (*filters)[lane.index()], in, out);
  };
  task.reference = [filters](Stream& host, ConstSpan x, Span y) {
    filter(host, filters->front(), x, y, "reference");
  };
  return task;
}

/// A filter that gives back what it gets, with as much work as is wanted: all taps are 0 but the
/// one in the middle.
std::vector<double> identity_taps(std::int64_t count) {
  std::vector<double> taps(static_cast<std::size_t>(count), 0.0);
  taps[taps.size() / 2] = 1;
  return taps;
}

/// A 64th of the array, so that the first chunk in and the last one out are a small part, but not
/// below 256 KiB.
std::size_t chunk_size(std::size_t size) {
  return std::clamp(size / 64, std::size_t{1} << 16, Pipeline::bus_chunk_bytes / sizeof(float));
}

std::int64_t chunk_count(std::size_t size) {
  return static_cast<std::int64_t>((size + chunk_size(size) - 1) / chunk_size(size));
}

/// Seconds that copying a chunk in takes while another one is copied out.
double seconds_of_copies(Stream& stream, std::size_t chunk) {
  Stream back(stream.device());
  constexpr std::size_t chunks = 8;
  std::size_t const size = chunks * chunk;
  Buffer<float> host_in(stream, MemorySpace::pinned, size), in(stream, MemorySpace::device, size);
  Buffer<float> host_out(stream, MemorySpace::pinned, size), out(back, MemorySpace::device, size);
  Event start(stream.device()), stop(stream.device()), other(stream.device());
  double seconds = 0;
  for (int run = 0; run < 2; ++run) {
    stream.record(start);
    back.wait(start);
    copy_async(in.span(), std::as_const(host_in).span(), stream);
    copy_async(host_out.span(), std::as_const(out).span(), back);
    back.record(other);
    stream.wait(other);
    stream.record(stop);
    seconds = elapsed_seconds(start, stop) / chunks;
  }
  return seconds;
}

/// So many taps that filtering a chunk takes as long as copying it, both ways at once.
std::int64_t balanced_taps(Stream& stream, std::size_t chunk) {
  constexpr std::int64_t trial = 1025;
  if (stream.backend() == Backend::cpu) return 9;
  convolve::Filter<float> const by(stream, identity_taps(trial), trial / 2);
  Buffer<float> in(stream, MemorySpace::device, chunk);
  Buffer<float> out(stream, MemorySpace::device, chunk);
  zero_async(in.span(), stream);
  Event start(stream.device()), stop(stream.device());
  constexpr int runs = 10;
  filter(stream, by, in.span(), out.span(), "register");
  stream.record(start);
  for (int run = 0; run < runs; ++run) filter(stream, by, in.span(), out.span(), "register");
  stream.record(stop);
  double const per_tap = elapsed_seconds(start, stop) / runs / trial;
  double const taps = seconds_of_copies(stream, chunk) / per_tap;
  return std::clamp(static_cast<std::int64_t>(taps), std::int64_t{1}, convolve::most_taps / 2) | 1;
}

Task balanced_task(Stream& stream, std::int64_t size) {
  auto const chunk = chunk_size(static_cast<std::size_t>(size));
  auto const filters = make_filters(stream, identity_taps(balanced_taps(stream, chunk)));
  Task task;
  auto const variant = stream.backend() == Backend::cuda ? "register" : "threads";
  task.compute = [filters, variant](Lane& lane, ConstSpan in, Span out, std::int64_t) {
    filter(lane.stream(), (*filters)[lane.index()], in, out, variant);
  };
  task.reference = [](Stream&, ConstSpan x, Span y) { std::ranges::copy(x, y.begin()); };
  return task;
}

/// Sums of the chunks, each in its place, and then their sum: the same for every number of lanes.
Task sum_task(Stream& stream, std::int64_t size) {
  struct Sums {
    Buffer<double> of_chunks, total;
  };
  auto const chunks = static_cast<std::size_t>(chunk_count(static_cast<std::size_t>(size)));
  auto const sums = std::make_shared<Sums>(
      Sums{{stream, MemorySpace::device, chunks}, {stream, MemorySpace::device, 1}});
  zero_async(sums->of_chunks.span(), stream);
  Task task;
  task.returns = false;
  task.compute = [sums](Lane& lane, ConstSpan in, Span, std::int64_t chunk) {
    auto const place = sums->of_chunks.span().subspan(static_cast<std::size_t>(chunk), 1);
    reduce::sum(lane.stream(), in, place);
  };
  task.reference = [sums](Stream& host, ConstSpan x, Span) {
    reduce::sum(host, x, sums->of_chunks.span().first(1), "reference");
  };
  task.finish = [sums, &stream] {
    reduce::sum<double>(stream, sums->of_chunks.span(), sums->total.span());
    Values values;
    sample<double>(stream, sums->total.span(), values);
    zero_async(sums->of_chunks.span(), stream);  // no run is to pass by what another one left
    return values;
  };
  return task;
}

// ----------------------------------------------------------------------------------- the journey

/// The arrays of a task in host memory, and the lanes of each way.
class Journey {
 public:
  Journey(Stream& stream, std::int64_t size, Task task)
      : stream_(stream), size_(static_cast<std::size_t>(size)), task_(std::move(task)) {}

  void prepare() {
    if (arrays_) spoil_result();
  }

  PipelineReport run(Way const& way, bool timeline = false) {
    use(way.memory);
    auto& [pipeline, memory] = lanes_of(way);
    return pipeline.run(chunk_count(size_), stages(way, memory), timeline);
  }

  void run_reference() {
    use(MemorySpace::host);
    task_.reference(stream_, std::as_const(arrays_->x).span(), arrays_->y.span());
  }

  Values result() {
    stream_.synchronize();
    Values values = task_.finish();
    if (task_.returns) sample<float>(stream_, arrays_->y.span(), values);
    return values;
  }

 private:
  /// A lane's memory on the device, and its slabs.
  struct Memory {
    Buffer<float> in, out;
    Buffer<float> slab_in, slab_out;
  };
  struct Lanes {
    Pipeline pipeline;
    std::vector<Memory> memory;
  };
  struct Arrays {
    MemorySpace space;
    Buffer<float> x, y;
  };
  /// A chunk, and what of the array it needs.
  struct Window {
    std::size_t first, size;          ///< the chunk with its halos
    std::size_t own_first, own_size;  ///< the chunk, from the window's beginning
  };

  Window window(std::int64_t chunk) const {
    auto const first = static_cast<std::size_t>(chunk) * chunk_;
    auto const last = std::min(size_, first + chunk_);
    auto const begin = first - std::min(first, task_.halo);
    auto const end = std::min(size_, last + task_.halo);
    return {begin, end - begin, first - begin, last - first};
  }

  /// Arrays of the other kind go first: there may not be room for both.
  void use(MemorySpace space) {
    if (arrays_ && arrays_->space == space) return;
    arrays_.reset();
    arrays_.emplace(
        Arrays{space, {stream_, space, size_}, {stream_, space, task_.returns ? size_ : 0}});
    Stream host(Device::open(Backend::cpu));
    machine::fill_random(host, arrays_->x.span(), 1, {.bits = 12});
    spoil_result();
  }

  void spoil_result() {
    auto const y = arrays_->y.span();
    parallel_for(chunk_count(size_), [&](std::int64_t chunk) {
      auto const [first, size, own_first, own_size] = window(chunk);
      if (task_.returns) std::memset(&y[first + own_first], 0xff, own_size * sizeof(float));
    });
  }

  Lanes& lanes_of(Way const& way) {
    auto const found = lanes_.find(way.name);
    if (found != lanes_.end()) return found->second;
    auto& made = lanes_.emplace(way.name, Lanes{Pipeline(stream_, way.lanes), {}}).first->second;
    std::size_t const most = std::min(size_, chunk_ + 2 * task_.halo);
    std::size_t const out = task_.returns ? most : 0;
    for (Lane& lane : made.pipeline.lanes())
      made.memory.push_back({{lane.stream(), MemorySpace::device, most},
                             {lane.stream(), MemorySpace::device, out},
                             {lane.stream(), MemorySpace::pinned, way.slabs ? most : 0},
                             {lane.stream(), MemorySpace::pinned, way.slabs ? out : 0}});
    return made;
  }

  std::vector<PipelineStage> stages(Way const& way, std::vector<Memory>& memory) {
    auto const x = std::as_const(arrays_->x).span();
    auto const y = arrays_->y.span();
    bool const slabs = way.slabs;
    std::vector<PipelineStage> stages;
    auto const add = [&](std::string name, StageKind kind, auto work) {
      stages.push_back({std::move(name), kind, [=, this, &memory](Lane& lane, std::int64_t chunk) {
                          work(lane, memory[lane.index()], window(chunk), chunk);
                        }});
    };
    if (slabs)
      add("fill slab", StageKind::host, [=](Lane& lane, Memory& own, Window w, std::int64_t) {
        std::memcpy(own.slab_in.data(), &x[w.first], w.size * sizeof(float));
        lane.moved(w.size * sizeof(float));
      });
    add("copy in", StageKind::queued, [=](Lane& lane, Memory& own, Window w, std::int64_t) {
      auto const from =
          slabs ? std::as_const(own.slab_in).span().first(w.size) : x.subspan(w.first, w.size);
      copy_async(own.in.span().first(w.size), from, lane.stream());
      lane.moved(w.size * sizeof(float));
    });
    add("compute", StageKind::queued,
        [=, this](Lane& lane, Memory& own, Window w, std::int64_t chunk) {
          auto const out = task_.returns ? own.out.span().first(w.size) : Span();
          task_.compute(lane, std::as_const(own.in).span().first(w.size), out, chunk);
          lane.moved(w.size * sizeof(float));
        });
    if (!task_.returns) return stages;
    add("copy out", StageKind::queued, [=](Lane& lane, Memory& own, Window w, std::int64_t) {
      auto const to = slabs ? own.slab_out.span().first(w.own_size)
                            : y.subspan(w.first + w.own_first, w.own_size);
      copy_async(to, std::as_const(own.out).span().subspan(w.own_first, w.own_size), lane.stream());
      lane.moved(w.own_size * sizeof(float));
    });
    if (slabs)
      add("empty slab", StageKind::host, [=](Lane& lane, Memory& own, Window w, std::int64_t) {
        std::memcpy(&y[w.first + w.own_first], own.slab_out.data(), w.own_size * sizeof(float));
        lane.moved(w.own_size * sizeof(float));
      });
    return stages;
  }

  Stream& stream_;
  std::size_t size_, chunk_ = chunk_size(size_);
  Task task_;
  std::optional<Arrays> arrays_;
  std::map<std::string_view, Lanes> lanes_;
};

// --------------------------------------------------------------------------------- the workloads

struct Operation {
  std::string_view name;
  Task (*task)(Stream&, std::int64_t size);
  double bytes;   ///< over the link for each value
  Demand demand;  ///< of each value
};

constexpr double value_bytes = sizeof(float);

constexpr Operation operations[] = {
    {"copy, compute, copy",
     balanced_task,
     2 * value_bytes,
     {machine::duplex_roof, 2 * value_bytes, machine::copy_roof}},
    {"filter of 9 taps",
     filter_task,
     2 * value_bytes,
     {machine::duplex_roof, 2 * value_bytes, machine::copy_roof}},
    {"sum", sum_task, value_bytes, {machine::to_device_roof, value_bytes, machine::read_roof}},
};

Problem problem(Operation const& operation, Stream& stream, std::int64_t size) {
  auto const journey = std::make_shared<Journey>(stream, size, operation.task(stream, size));
  return {.prepare = [=](int) { journey->prepare(); },
          .run =
              [=](std::string_view name, int) {
                if (name == "reference")
                  journey->run_reference();
                else
                  journey->run(way_of(name));
              },
          .result = [=](int) { return journey->result(); }};
}

std::int64_t default_elements(Backend backend) {
  return default_size(backend, std::int64_t{1} << 29);
}

}  // namespace of_pipeline

std::vector<Workload> pipeline_workloads(Backend backend) {
  using namespace of_pipeline;
  std::vector<Workload> all;
  for (auto const& operation : operations)
    all.push_back({.family = "pipeline",
                   .operation = operation.name,
                   .type = type_name<float>(),
                   .by_default = true,
                   .size = default_elements(backend),
                   .work = per_element({.bytes = operation.bytes,
                                        .flops = 0,
                                        .asks = {operation.demand},
                                        .set_bytes = 2 * value_bytes}),
                   .rows = rows_of_ways(backend),
                   // The arrays are larger than caches, or a single set.
                   .make = [&operation](Stream& stream, std::int64_t size, int) {
                     return problem(operation, stream, size);
                   }});
  return all;
}

std::vector<PipelineRunReport> pipeline_timelines(Stream& stream, std::int64_t size) {
  using namespace of_pipeline;
  if (size == 0) size = default_elements(stream.backend());
  std::vector<PipelineRunReport> runs;
  for (auto const& operation : operations) {
    Journey journey(stream, size, operation.task(stream, size));
    for (auto const name : {std::string_view("serial"), default_way}) {
      auto const& way = way_of(name);
      journey.run(way);
      runs.push_back({std::string(operation.name), std::string(name),
                      static_cast<std::size_t>(way.lanes), journey.run(way, true)});
    }
  }
  return runs;
}

std::string timeline_json(Device const& device, std::vector<PipelineRunReport> const& runs) {
  nlohmann::ordered_json json;
  json["gridstride"] = {{"version", version()}, {"git_hash", git_hash()}};
  json["date"] = format_now();
  json["device"] = device.name();
  json["runs"] = nlohmann::ordered_json::array();
  for (auto const& [operation, way, lanes, report] : runs) {
    nlohmann::ordered_json run = {
        {"operation", operation}, {"way", way}, {"lanes", lanes}, {"seconds", report.seconds}};
    for (auto const& stage : report.stages)
      run["stages"].push_back({{"name", stage.name},
                               {"busy_seconds", stage.busy_seconds},
                               {"bytes", stage.bytes},
                               {"bytes_per_second", stage.rate()}});
    for (auto const& interval : report.timeline)
      run["intervals"].push_back({{"stage", interval.stage},
                                  {"chunk", interval.chunk},
                                  {"lane", interval.lane},
                                  {"start", interval.start},
                                  {"end", interval.end}});
    json["runs"].push_back(std::move(run));
  }
  return json.dump(1) + '\n';
}

}  // namespace gridstride::bench
