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
#include "core/mark.hpp"
#include "core/processors.hpp"
#include "core/timer.hpp"

namespace gridstride {

namespace {

/// Chunks of a thread's only lane that may be under way on the device: while it is at one, the next
/// is queued.
constexpr std::size_t depth = 2;
constexpr std::int64_t no_chunk = -1;

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
  bool fed = false;                            ///< the stage after it has begun
  Timer const* clock = nullptr;                ///< of the run
  Mark const* queued_last = nullptr;           ///< the end of all that the lane has queued
  // Of threads with several lanes; guarded by the run's mutex, as is what this waits for.
  bool all_queued = false;        ///< of the chunk, up to the stage that is put off
  std::condition_variable awake;  ///< of the thread that has the lane

  void prepare(Device const& device, std::size_t stages, Timer const& clock_of_run) {
    while (spans.size() < stages) spans.push_back({Span(device), Span(device)});
    moved.assign(stages, 0);
    chunks.fill(no_chunk);
    turn = 0;
    queued_last = nullptr;
    all_queued = false;
    fed = false;
    clock = &clock_of_run;
  }
};

Lane::Lane(Stream const& stream, std::size_t index)
    : index_(index), stream_(stream), marks_(std::make_unique<Marks>()) {}
Lane::Lane(Lane&&) noexcept = default;
Lane& Lane::operator=(Lane&&) noexcept = default;
Lane::~Lane() = default;

void Lane::moved(std::size_t bytes) { marks_->moved[marks_->stage] += static_cast<double>(bytes); }

void Lane::feed() {
  if (std::exchange(marks_->fed, true)) return;
  marks_->spans.at(marks_->stage + 1)[marks_->turn].start.record(stream_, marks_->clock->seconds());
}

class PipelineRun {
 public:
  PipelineRun(std::span<Lane> lanes, std::size_t each, std::int64_t chunks,
              std::span<PipelineStage const> stages)
      : lanes_(lanes),
        each_(each),
        chunks_(chunks),
        stages_(stages),
        put_off_(first_put_off(stages)),
        times_(stages.size() * static_cast<std::size_t>(chunks)),
        lane_of_(static_cast<std::size_t>(chunks)),
        next_(std::ssize(lanes) / static_cast<std::int64_t>(each)),
        turns_(stages.size(), 0),
        waiting_(stages.size() * lanes.size(), nullptr),
        last_stops_(stages.size(), nullptr),
        zero_(lanes[0].stream().device()) {
    for (Lane& lane : lanes) lane.marks_->prepare(lane.stream().device(), stages.size(), clock_);
  }

  /// Both clocks begin: the host's and that of the device's events.
  void begin() {
    zero_.record(lanes_[0].stream(), 0);
    zero_.await();
    clock_.restart();
  }

  /// The life of a thread. It begins with the chunk of its number, so that neighbouring chunks are
  /// in different threads, and goes on with whatever chunk comes next when it has room for one.
  void work(std::size_t thread) noexcept {
    auto const own = lanes_.subspan(thread * each_, each_);
    auto const first = static_cast<std::int64_t>(thread);
    attempt(first, [&] {
      if (own[0].stream().backend() == Backend::cuda)
        gpu::use_device(own[0].stream().device().ordinal());
    });
    if (each_ == 1)
      go_on(own[0], first);
    else
      go_on_in_turn(own, first);
  }

  /// Tells all lanes to stop.
  void give_up() { fail(-1, nullptr); }

  /// To be called when no thread is at work any more.
  void throw_failure() const {
    if (!failure_) return;
    for (Lane& lane : lanes_) finish_after_failure(lane);
    std::rethrow_exception(failure_);
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

  /// The first stage of the host that comes after a queued one, or the end.
  static std::size_t first_put_off(std::span<PipelineStage const> stages) {
    auto const is = [](StageKind kind) {
      return [kind](PipelineStage const& stage) { return stage.kind == kind; };
    };
    auto const queued = std::ranges::find_if(stages, is(StageKind::queued));
    auto const off = std::find_if(queued, stages.end(), is(StageKind::host));
    return static_cast<std::size_t>(off - stages.begin());
  }

  bool goes_on(std::int64_t chunk) const { return chunk < chunks_ && chunk < failed_; }
  Times& times(std::size_t stage, std::int64_t chunk) {
    return times_[stage * static_cast<std::size_t>(chunks_) + static_cast<std::size_t>(chunk)];
  }

  /// Work on a chunk, which fails where that throws.
  template <class Work>
  void attempt(std::int64_t chunk, Work const& work) noexcept {
    try {
      work();
    } catch (...) {
      fail(chunk, std::current_exception());
    }
  }

  /// A chunk after the other, in a thread's only lane.
  void go_on(Lane& lane, std::int64_t chunk) noexcept {
    auto& marks = *lane.marks_;
    for (; goes_on(chunk); chunk = next_++) {
      attempt(chunk, [&] {
        lane_of_[static_cast<std::size_t>(chunk)] = lane.index();
        marks.chunks[marks.turn] = chunk;
        for (std::size_t s = 0; s < stages_.size() && goes_on(chunk); ++s) take(lane, s, chunk);
        marks.turn = (marks.turn + 1) % depth;
        if (goes_on(chunk)) note_times(marks);
      });
      if (failed_ <= chunk) return finish_after_failure(lane);
    }
    attempt(chunk, [&] {
      if (marks.queued_last != nullptr) marks.queued_last->await();
      if (failed_ < chunks_) return;
      for (std::size_t n = 0; n < depth; ++n, marks.turn = (marks.turn + 1) % depth)
        note_times(marks);
    });
  }

  /// A chunk in each of a thread's lanes, begun and finished in turn.
  void go_on_in_turn(std::span<Lane> own, std::int64_t chunk) noexcept {
    std::size_t turn = 0;
    auto const finish_oldest = [&] {
      turn = (turn + 1) % own.size();
      finish(own[turn]);
    };
    for (; goes_on(chunk); chunk = next_++) {
      begin(own[turn], chunk);
      finish_oldest();
    }
    for (std::size_t n = 0; n < own.size(); ++n) finish_oldest();
  }

  /// A chunk up to the stage that is put off, in a lane that has none.
  void begin(Lane& lane, std::int64_t chunk) noexcept {
    lane_of_[static_cast<std::size_t>(chunk)] = lane.index();
    lane.marks_->chunks[0] = chunk;
    lane.marks_->all_queued = false;
    std::size_t s = 0;
    attempt(chunk, [&] {
      for (; s < put_off_ && stages_[s].kind == StageKind::host && goes_on(chunk); ++s)
        take(lane, s, chunk);
    });
    queue_on(&lane, s, chunk);
  }

  /// The queued stages of a chunk from s on, up to the one that is put off; then those of chunks
  /// that have waited for it.
  void queue_on(Lane* lane, std::size_t s, std::int64_t chunk) noexcept {
    while (lane != nullptr) {
      Lane* follower = nullptr;
      std::size_t follows_from = 0;
      bool waits = false;
      attempt(chunk, [&] {
        for (; s < put_off_ && goes_on(chunk); ++s) {
          waits = stages_[s].ordered && !has_turn(*lane, s, chunk);
          if (waits) return;
          run(*lane, s, chunk);
          if (!stages_[s].ordered) continue;
          if (auto* const next = pass_turn(s, chunk)) {
            follower = next;
            follows_from = s;
          }
        }
      });
      if (!waits) note_queued(*lane);
      lane = follower;
      s = follows_from;
      ++chunk;
    }
  }

  /// Ends the chunk of a lane, if it has one.
  void finish(Lane& lane) noexcept {
    auto& marks = *lane.marks_;
    std::int64_t const chunk = marks.chunks[0];
    if (chunk == no_chunk) return;
    attempt(chunk, [&] {
      await_queued(lane, chunk);
      for (std::size_t s = put_off_; s < stages_.size() && goes_on(chunk); ++s)
        take(lane, s, chunk);
      if (!goes_on(chunk)) return;
      if (marks.queued_last != nullptr) marks.queued_last->await();
      note_times(marks);
    });
    marks.chunks[0] = no_chunk;
  }

  /// A chunk's stage; none where its turn does not come any more.
  void take(Lane& lane, std::size_t s, std::int64_t chunk) {
    PipelineStage const& stage = stages_[s];
    if (auto const* last = lane.marks_->queued_last; stage.kind == StageKind::host && last)
      last->await();
    if (stage.ordered && !await_turn(lane, s, chunk)) return;
    run(lane, s, chunk);
    if (stage.ordered) pass_turn(s, chunk);
  }

  void run(Lane& lane, std::size_t s, std::int64_t chunk) {
    PipelineStage const& stage = stages_[s];
    auto& marks = *lane.marks_;
    marks.stage = s;
    gpu::Range const range(stage.name.c_str());
    if (stage.kind == StageKind::host) {
      double const start = clock_.seconds();
      stage.run(lane, chunk);
      times(s, chunk) = {start, clock_.seconds()};
      return;
    }
    auto& [start, stop] = marks.spans[s][marks.turn];
    if (stage.ordered && chunk > 0) last_stops_[s]->hold(lane.stream());
    if (!std::exchange(marks.fed, false)) start.record(lane.stream(), clock_.seconds());
    stage.run(lane, chunk);
    stop.record(lane.stream(), clock_.seconds());
    if (stage.ordered) last_stops_[s] = &stop;
    marks.queued_last = &stop;
  }

  /// Who waits for the turn of a chunk. Chunks that have not had theirs are in different lanes and
  /// follow each other, so that no two have the same place.
  Lane*& waiting(std::size_t stage, std::int64_t chunk) {
    auto const lanes = lanes_.size();
    return waiting_[stage * lanes + static_cast<std::size_t>(chunk) % lanes];
  }

  /// Without waiting. Where it is not its turn, who passes that to it goes on with it.
  bool has_turn(Lane& lane, std::size_t stage, std::int64_t chunk) {
    std::lock_guard const lock(mutex_);
    if (turns_[stage] == chunk) return true;
    waiting(stage, chunk) = &lane;
    return false;
  }

  bool await_turn(Lane& lane, std::size_t stage, std::int64_t chunk) {
    std::unique_lock lock(mutex_);
    waiting(stage, chunk) = &lane;
    lane.marks_->awake.wait(lock, [&] { return turns_[stage] == chunk || failed_ < chunk; });
    waiting(stage, chunk) = nullptr;
    return turns_[stage] == chunk;
  }

  /// Wakes who waits for it; or returns the lane of the chunk that this thread goes on with.
  Lane* pass_turn(std::size_t stage, std::int64_t chunk) {
    std::lock_guard const lock(mutex_);
    turns_[stage] = chunk + 1;
    Lane* const next = std::exchange(waiting(stage, chunk + 1), nullptr);
    if (next == nullptr ||
        (each_ > 1 && stage < put_off_ && stages_[stage].kind == StageKind::queued))
      return next;
    next->marks_->awake.notify_one();
    return nullptr;
  }

  void note_queued(Lane& lane) {
    std::lock_guard const lock(mutex_);
    lane.marks_->all_queued = true;
    lane.marks_->awake.notify_one();
  }

  void await_queued(Lane& lane, std::int64_t chunk) {
    std::unique_lock lock(mutex_);
    lane.marks_->awake.wait(lock, [&] { return lane.marks_->all_queued || failed_ <= chunk; });
  }

  void fail(std::int64_t chunk, std::exception_ptr failure) {
    std::lock_guard const lock(mutex_);
    if (chunk >= failed_) return;
    failed_ = chunk;
    failure_ = std::move(failure);
    for (Lane& lane : lanes_) lane.marks_->awake.notify_all();
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
  std::size_t each_;
  std::int64_t chunks_;
  std::span<PipelineStage const> stages_;
  std::size_t put_off_;  ///< the first stage that is, in threads with several lanes
  std::vector<Times> times_;
  std::vector<std::size_t> lane_of_;  ///< of each chunk
  std::atomic<std::int64_t> next_;    ///< chunk that no lane has yet
  std::mutex mutex_;
  std::vector<std::int64_t> turns_;      ///< the chunk that each ordered stage comes to next
  std::vector<Lane*> waiting_;           ///< for a turn
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

Pipeline::Pipeline(Stream const& stream, int threads, std::size_t each, std::size_t streams)
    : stream_(stream), each_(each) {
  if (threads < 1) throw std::invalid_argument("pipeline: at least one lane is needed");
  if (each < 1 || each > most_each)
    throw std::invalid_argument(fmt::format("pipeline: a thread has 1 to {} lanes", most_each));
  std::size_t const lanes = static_cast<std::size_t>(threads) * each;
  lanes_.reserve(lanes);
  for (std::size_t i = 0; i < lanes; ++i)
    lanes_.emplace_back(
        streams == 0 || i < streams ? Stream(stream.device()) : lanes_[i % streams].stream(), i);
}

PipelineReport Pipeline::run(std::int64_t chunks, std::vector<PipelineStage> const& stages,
                             bool timeline) {
  if (chunks < 0) throw std::invalid_argument("pipeline: the number of chunks is negative");
  auto const most = std::ssize(lanes_) / static_cast<std::int64_t>(each_);
  auto const count = static_cast<std::size_t>(std::clamp<std::int64_t>(chunks, 1, most));
  auto const used = lanes().first(count * each_);
  PipelineRun run(used, each_, chunks, stages);
  Event ready(stream_.device());
  stream_.record(ready);
  run.begin();
  for (Lane& lane : used) lane.stream().wait(ready);
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    try {
      for (std::size_t t = 1; t < count; ++t) threads.emplace_back([&run, t] { run.work(t); });
    } catch (std::system_error const& refusal) {
      run.give_up();
      throw Error(fmt::format("thread {} of a pipeline of {} cannot be started ({})",
                              threads.size() + 2, count, refusal.what()));
    }
    run.work(0);
  }
  run.throw_failure();
  return run.report(timeline);
}

}  // namespace gridstride
