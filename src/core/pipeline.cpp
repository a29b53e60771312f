#include "core/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/processors.hpp"
#include "core/timer.hpp"

namespace gridstride {

namespace {

/// Chunks of a lane that may be under way on the device: while it is at one, the next is queued.
constexpr std::size_t depth = 2;
constexpr std::int64_t no_chunk = -1;

/// A point in a lane's stream. Who waits for it sleeps: there may be more lanes than processors, and
/// those have work for other lanes. On the CPU, where work is done when it is queued, a time.
class Mark {
 public:
  explicit Mark(Device const& device) {
    if (device.backend() == Backend::cuda) event_ = gpu::make_event(device.ordinal(), true);
  }

  void record(Stream& stream, Timer const& clock) {
    if (event_ == nullptr)
      seconds_ = clock.seconds();
    else
      gpu::record(event_.get(), stream.native());
  }
  void await() const {
    if (event_ != nullptr) gpu::synchronize_event(event_.get());
  }
  void hold(Stream& stream) const {
    if (event_ != nullptr) gpu::wait(stream.native(), event_.get());
  }
  /// On the run's clock, which began with `zero`. Waits for both.
  double seconds(Mark const& zero) const {
    return event_ == nullptr ? seconds_ : gpu::elapsed_seconds(zero.event_.get(), event_.get());
  }

 private:
  std::shared_ptr<void> event_;
  double seconds_ = 0;
};

}  // namespace

/// What a run keeps of a lane; made before it begins.
struct Lane::Marks {
  /// Where the queued stages of the chunks under way begin and end.
  struct Span {
    Mark start, stop;
    explicit Span(Device const& device) : start(device), stop(device) {}
  };
  std::vector<std::array<Span, depth>> spans;  ///< of each stage
  std::vector<double> moved;                   ///< of each stage
  std::array<std::int64_t, depth> chunks;      ///< under way
  std::size_t turn = 0;                        ///< of the chunk at work among those
  std::size_t stage = 0;                       ///< at work
  bool has_queued = false;                     ///< anything of the chunk at work
  Mark const* queued_last = nullptr;           ///< the end of all that the lane has queued

  void prepare(Device const& device, std::size_t stages) {
    while (spans.size() < stages) spans.push_back({Span(device), Span(device)});
    moved.assign(stages, 0);
    chunks.fill(no_chunk);
    turn = 0;
    queued_last = nullptr;
  }
};

Lane::Lane(Device const& device, std::size_t index, std::size_t slots)
    : index_(index), slots_(slots), stream_(device), marks_(std::make_unique<Marks>()) {}
Lane::Lane(Lane&&) noexcept = default;
Lane& Lane::operator=(Lane&&) noexcept = default;
Lane::~Lane() = default;

std::size_t Lane::slot() const { return index_ * slots_ + marks_->turn % slots_; }
void Lane::moved(std::size_t bytes) { marks_->moved[marks_->stage] += static_cast<double>(bytes); }

class PipelineRun {
 public:
  PipelineRun(std::span<Lane> lanes, std::int64_t chunks, std::span<PipelineStage const> stages)
      : lanes_(lanes),
        chunks_(chunks),
        stages_(stages),
        times_(stages.size() * static_cast<std::size_t>(chunks)),
        lane_of_(static_cast<std::size_t>(chunks)),
        next_(std::ssize(lanes)),
        turns_(stages.size(), 0),
        last_stops_(stages.size(), nullptr),
        zero_(lanes[0].stream().device()) {
    for (Lane& lane : lanes) lane.marks_->prepare(lane.stream().device(), stages.size());
  }

  /// Both clocks begin: the host's and that of the device's events.
  void begin() {
    zero_.record(lanes_[0].stream(), clock_);
    zero_.await();
    clock_.restart();
  }

  /// The life of a lane. It begins with the chunk of its number, so that neighbouring chunks are in
  /// different lanes, and goes on with whatever chunk comes next when it has room for one.
  void work(Lane& lane) noexcept {
    auto& marks = *lane.marks_;
    auto chunk = static_cast<std::int64_t>(lane.index());
    try {
      if (lane.stream().backend() == Backend::cuda)
        gpu::use_device(lane.stream().device().ordinal());
      while (goes_on(chunk)) {
        lane_of_[static_cast<std::size_t>(chunk)] = lane.index();
        marks.chunks[marks.turn] = chunk;
        marks.has_queued = false;
        for (std::size_t s = 0; s < stages_.size() && goes_on(chunk); ++s) take(lane, s, chunk);
        marks.turn = (marks.turn + 1) % depth;
        if (goes_on(chunk)) note_times(marks);
        chunk = next_++;
      }
      if (marks.queued_last != nullptr) marks.queued_last->await();
      if (failed_ < chunks_) return;
      for (std::size_t n = 0; n < depth; ++n, marks.turn = (marks.turn + 1) % depth)
        note_times(marks);
    } catch (...) {
      fail(chunk, std::current_exception());
      finish_after_failure(lane);
    }
  }

  /// Tells all lanes to stop.
  void give_up() { fail(-1, nullptr); }

  void throw_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  PipelineReport report(bool timeline) const;

 private:
  struct Times {
    double start, end;
  };

  /// Seconds that at least one of the spans covers.
  static double union_of(std::vector<Times> spans) {
    std::ranges::sort(spans, {}, &Times::start);
    double sum = 0, covered = 0;
    for (auto const& [start, end] : spans) {
      sum += std::max(0.0, end - std::max(start, covered));
      covered = std::max(covered, end);
    }
    return sum;
  }

  bool goes_on(std::int64_t chunk) const { return chunk < chunks_ && chunk < failed_; }
  Times& times(std::size_t stage, std::int64_t chunk) {
    return times_[stage * static_cast<std::size_t>(chunks_) + static_cast<std::size_t>(chunk)];
  }

  /// A chunk's stage; none where its turn does not come any more.
  void take(Lane& lane, std::size_t s, std::int64_t chunk) {
    PipelineStage const& stage = stages_[s];
    auto& marks = *lane.marks_;
    bool const has_own_memory = lane.slots_ > 1 && !marks.has_queued;
    if (stage.kind == StageKind::host && !has_own_memory && marks.queued_last != nullptr)
      marks.queued_last->await();
    if (stage.ordered && !await_turn(s, chunk)) return;
    marks.stage = s;
    gpu::Range const range(stage.name.c_str());
    if (stage.kind == StageKind::host) {
      double const start = clock_.seconds();
      stage.run(lane, chunk);
      times(s, chunk) = {start, clock_.seconds()};
    } else {
      auto& [start, stop] = marks.spans[s][marks.turn];
      if (stage.ordered && chunk > 0) last_stops_[s]->hold(lane.stream());
      start.record(lane.stream(), clock_);
      stage.run(lane, chunk);
      stop.record(lane.stream(), clock_);
      if (stage.ordered) last_stops_[s] = &stop;
      marks.queued_last = &stop;
      marks.has_queued = true;
    }
    if (stage.ordered) pass_turn(s, chunk);
  }

  bool await_turn(std::size_t stage, std::int64_t chunk) {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [&] { return turns_[stage] == chunk || failed_ < chunk; });
    return turns_[stage] == chunk;
  }

  void pass_turn(std::size_t stage, std::int64_t chunk) {
    {
      std::lock_guard const lock(mutex_);
      turns_[stage] = chunk + 1;
    }
    turn_.notify_all();
  }

  void fail(std::int64_t chunk, std::exception_ptr failure) {
    {
      std::lock_guard const lock(mutex_);
      if (chunk >= failed_) return;
      failed_ = chunk;
      failure_ = std::move(failure);
    }
    turn_.notify_all();
  }

  /// When the queued stages of the lane's oldest chunk under way were at work; waits for them.
  void note_times(Lane::Marks& marks) {
    std::int64_t const chunk = std::exchange(marks.chunks[marks.turn], no_chunk);
    if (chunk == no_chunk) return;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (stages_[s].kind != StageKind::queued) continue;
      auto const& [start, stop] = marks.spans[s][marks.turn];
      times(s, chunk) = {start.seconds(zero_), stop.seconds(zero_)};
    }
  }

  static void finish_after_failure(Lane& lane) noexcept {
    try {
      lane.stream().synchronize();
    } catch (std::exception const&) {
      // What failed before is what is told.
    }
  }

  std::span<Lane> lanes_;
  std::int64_t chunks_;
  std::span<PipelineStage const> stages_;
  std::vector<Times> times_;
  std::vector<std::size_t> lane_of_;  ///< of each chunk
  std::atomic<std::int64_t> next_;    ///< chunk that no lane has yet
  std::mutex mutex_;
  std::condition_variable turn_;
  std::vector<std::int64_t> turns_;      ///< the chunk that each ordered stage comes to next
  std::vector<Mark const*> last_stops_;  ///< the end of the one before, of queued ones
  std::atomic<std::int64_t> failed_ = std::numeric_limits<std::int64_t>::max();  ///< first chunk
  std::exception_ptr failure_;
  Mark zero_;
  Timer clock_;
};

PipelineReport PipelineRun::report(bool timeline) const {
  PipelineReport report;
  report.seconds = clock_.seconds();
  auto const chunks = static_cast<std::size_t>(chunks_);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    auto const begin = times_.begin() + static_cast<std::ptrdiff_t>(s * chunks);
    std::vector<Times> spans(begin, begin + static_cast<std::ptrdiff_t>(chunks));
    if (timeline)
      for (std::size_t n = 0; n < chunks; ++n)
        report.timeline.push_back(
            {s, static_cast<std::int64_t>(n), lane_of_[n], spans[n].start, spans[n].end});
    double bytes = 0;
    for (Lane const& lane : lanes_) bytes += lane.marks_->moved[s];
    report.stages.push_back({stages_[s].name, union_of(std::move(spans)), bytes});
  }
  return report;
}

PipelineReport& PipelineReport::operator+=(PipelineReport const& later) {
  std::vector<std::size_t> places;  // of its stages among these
  for (auto const& stage : later.stages) {
    auto const known = std::ranges::find(stages, stage.name, &StageReport::name);
    places.push_back(static_cast<std::size_t>(known - stages.begin()));
    if (known == stages.end()) stages.push_back({stage.name});
    stages[places.back()].busy_seconds += stage.busy_seconds;
    stages[places.back()].bytes += stage.bytes;
  }
  for (auto interval : later.timeline) {
    interval.stage = places[interval.stage];
    interval.start += seconds;
    interval.end += seconds;
    timeline.push_back(interval);
  }
  seconds += later.seconds;
  return *this;
}

int Pipeline::lanes_for(LaneUse use, std::int64_t chunks) {
  int const wanted = use == LaneUse::bus ? 4 : std::clamp(host_threads(), 4, 16);
  return static_cast<int>(std::clamp<std::int64_t>(chunks, 1, wanted));
}

Pipeline::Pipeline(Stream const& stream, int lanes, std::size_t slots) : stream_(stream) {
  if (lanes < 1) throw std::invalid_argument("pipeline: at least one lane is needed");
  if (slots < 1 || slots > depth)
    throw std::invalid_argument("pipeline: a lane has memory for one chunk or for two");
  lanes_.reserve(static_cast<std::size_t>(lanes));
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes); ++i)
    lanes_.emplace_back(stream.device(), i, slots);
}

PipelineReport Pipeline::run(std::int64_t chunks, std::vector<PipelineStage> const& stages,
                             bool timeline) {
  if (chunks < 0) throw std::invalid_argument("pipeline: the number of chunks is negative");
  auto const used = lanes().first(
      static_cast<std::size_t>(std::clamp<std::int64_t>(chunks, 1, std::ssize(lanes_))));
  PipelineRun run(used, chunks, stages);
  Event ready(stream_.device());
  stream_.record(ready);
  run.begin();
  for (Lane& lane : used) lane.stream().wait(ready);
  {
    std::vector<std::jthread> threads;
    threads.reserve(used.size());
    try {
      for (Lane& lane : used.subspan(1)) threads.emplace_back([&] { run.work(lane); });
    } catch (std::system_error const& refusal) {
      run.give_up();
      throw Error(fmt::format("thread {} of a pipeline of {} cannot be started ({})",
                              threads.size() + 2, used.size(), refusal.what()));
    }
    run.work(used[0]);
  }
  run.throw_failure();
  return run.report(timeline);
}

}  // namespace gridstride
