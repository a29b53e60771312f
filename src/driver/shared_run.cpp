#include "driver/shared_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/console.hpp"
#include "core/error.hpp"
#include "core/rank_failures.hpp"
#include "core/ranks.hpp"
#include "core/version.hpp"
#include "driver/diagnostics.hpp"
#include "driver/error_norms.hpp"
#include "driver/output_paths.hpp"
#include "driver/seen_files.hpp"
#include "driver/signals.hpp"
#include "simulations/registry.hpp"

namespace gridstride {

namespace {

/// What rank 0 has the others do.
struct Command {
  enum Kind : std::int32_t {
    begin,
    advance,
    advance_whole_batches,
    settle,
    look,
    write,
    compare,
    save,
    load,
    end,
    quit
  };

  Kind kind = quit;
  std::int64_t most_steps = 0;  // to advance
  double until = 0;
  std::int64_t step = 0;  // where the run is
  double time = 0;
  std::uint64_t fingerprint = 0;  // of the run that begins
};

template <class T>
void share_value(T& value) {
  ranks().broadcast(std::as_writable_bytes(std::span(&value, 1)));
}

/// Whether all ranks make the same: that rank 0 waits for the others in the midst of something, and
/// that the others have been told to end.
struct Standing {
  bool is_together = false, is_over = false;
};

Standing standing;

Command receive() {
  Command command;
  share_value(command);
  standing.is_over = command.kind == Command::quit;
  return command;
}

/// Does what all ranks do together. Where it throws, they are not together any more.
template <class Work>
auto together(Work const& work) {
  standing.is_together = true;
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
    standing.is_together = false;
  } else {
    auto result = work();
    standing.is_together = false;
    return result;
  }
}

/// What has to be the same on all ranks.
std::uint64_t fingerprint(config::RunConfig const& run, Device const& device) {
  return std::hash<std::string>()(fmt::format("{}\n{}\n{}\n{}\n{}", version(), git_hash(),
                                              run.ranks, name_of(device.backend()),
                                              config::resolved_yaml(run)));
}

/// Rank 0's checkpoint: what the others need of it goes to them.
class TellingSource final : public CheckpointSource {
 public:
  explicit TellingSource(CheckpointSource const& source) : source_(source) {}

  bool contains(std::string_view name) const override { return tell(source_.contains(name)); }
  std::int64_t get_integer(std::string_view name) const override {
    return tell(source_.get_integer(name));
  }
  double get_real(std::string_view name) const override { return tell(source_.get_real(name)); }
  std::string get_text(std::string_view name) const override {
    auto text = source_.get_text(name);
    tell(text.size());
    ranks().broadcast(std::as_writable_bytes(std::span(text)));
    return text;
  }
  void get_array(std::string_view name, std::span<float> out, Stream& stream) const override {
    source_.get_array(name, out, stream);
  }
  void get_array(std::string_view name, std::span<double> out, Stream& stream) const override {
    source_.get_array(name, out, stream);
  }
  void get_parts(std::string_view name, Precision precision, std::uint64_t values,
                 FillParts const& fill) const override {
    source_.get_parts(name, precision, values, fill);
  }

 private:
  template <class T>
  static T tell(T value) {
    share_value(value);
    return value;
  }

  CheckpointSource const& source_;
};

/// The same on another rank, which has no arrays of the whole grid.
class ToldSource final : public CheckpointSource {
 public:
  bool contains(std::string_view) const override { return told<bool>(); }
  std::int64_t get_integer(std::string_view) const override { return told<std::int64_t>(); }
  double get_real(std::string_view) const override { return told<double>(); }
  std::string get_text(std::string_view) const override {
    std::string text(told<std::size_t>(), ' ');
    ranks().broadcast(std::as_writable_bytes(std::span(text)));
    return text;
  }
  void get_array(std::string_view, std::span<float>, Stream&) const override {}
  void get_array(std::string_view, std::span<double>, Stream&) const override {}
  void get_parts(std::string_view, Precision, std::uint64_t, FillParts const& fill) const override {
    fill(nullptr);
  }

 private:
  template <class T>
  static T told() {
    T value{};
    share_value(value);
    return value;
  }
};

/// Of another rank: the first one's checkpoint takes all, of arrays what ranks put there themselves.
class PartsAlone final : public CheckpointSink {
 public:
  void put_integer(std::string_view, std::int64_t) override {}
  void put_real(std::string_view, double) override {}
  void put_text(std::string_view, std::string_view) override {}
  void put_array(std::string_view, std::span<float const>, Stream&) override {}
  void put_array(std::string_view, std::span<double const>, Stream&) override {}
  void put_parts(std::string_view, Precision, std::uint64_t, WriteParts const& write) override {
    write(nullptr);
  }
};

/// What ranks fail in together, the first one tells, and all go on.
template <class Work>
auto together_or_failed(Work const& work) {
  try {
    return together(work);
  } catch (FailedTogether const& failed) {
    standing.is_together = false;
    std::rethrow_exception(failed.cause());
  }
}

/// Lets all ranks know whether they see the first one's files, and what is asked for of fields.
void share_files(config::RunConfig const& run, Simulation& simulation) {
  if (simulation.has_parts())
    simulation.share_files({lack_of_files(ranks(), OutputPaths(run)), inputs_of(run).open_places,
                            looks_of(run, simulation.fields_in_parts()),
                            parts_finder(run, simulation.fields_in_parts())});
}

/// The signals that came to any rank are rank 0's: all stop at the same step.
void gather_signals(SignalWatch const& watch) {
  int signal = watch.pending();
  auto const bytes = std::as_writable_bytes(std::span(&signal, 1));
  if (!ranks().is_first()) {
    RankMessage const message{0, 0, bytes};
    return ranks().exchange({&message, 1}, {});
  }
  std::vector<int> signals(static_cast<std::size_t>(ranks().count()));
  std::vector<RankMessage> messages;
  for (int rank = 1; rank < ranks().count(); ++rank)
    messages.push_back(
        {rank, 0,
         std::as_writable_bytes(std::span(signals).subspan(static_cast<std::size_t>(rank), 1))});
  ranks().exchange({}, messages);
  auto const came = std::ranges::find_if(signals, [](int one) { return one != 0; });
  if (signal == 0 && came != signals.end()) std::raise(*came);
}

/// What each rank does of a command to advance.
void make_steps(Simulation& simulation, Command const& command, SignalWatch const& watch) {
  if (command.kind == Command::advance)
    simulation.advance(command.most_steps, command.until);
  else
    simulation.advance_whole_batches(command.most_steps, command.until);
  gather_signals(watch);
}

/// A simulation of rank 0: what moves its state, or looks at it, the others do too.
class Shared final : public Simulation {
 public:
  Shared(config::RunConfig const& run, std::function<std::unique_ptr<Simulation>()> const& make)
      : simulation_(together(make)) {
    together([&] { gridstride::share_files(run, *simulation_); });
  }
  Shared(Shared const&) = delete;
  Shared& operator=(Shared const&) = delete;
  ~Shared() override {
    if (!standing.is_together) say(Command::end);
  }

  Clock clock() const override { return simulation_->clock(); }
  bool finished() const override { return simulation_->finished(); }
  std::string ending() const override { return simulation_->ending(); }
  double first_step() override { return simulation_->first_step(); }
  void advance(std::int64_t max_steps, double until) override {
    advance_as(Command::advance, max_steps, until);
  }
  void advance_whole_batches(std::int64_t max_steps, double until) override {
    advance_as(Command::advance_whole_batches, max_steps, until);
  }
  std::int64_t steps_at_once() const override { return simulation_->steps_at_once(); }
  void write_to(std::vector<FieldTarget> const& targets) override {
    simulation_->write_to(targets);
  }
  void tell_headway(std::function<void(Headway const&)> tell) override {
    simulation_->tell_headway(std::move(tell));
  }
  std::vector<Field> fields() const override {
    settle();
    return simulation_->fields();
  }
  bool keeps_fields(std::function<void()> before_change) override {
    return simulation_->keeps_fields(std::move(before_change));
  }
  std::vector<Field> quantities() const override {
    settle();
    return simulation_->quantities();
  }
  std::vector<Table> tables() const override { return simulation_->tables(); }
  Grid formula_grid(Field const& field) const override { return simulation_->formula_grid(field); }
  std::vector<NamedValue> diagnostics() const override { return simulation_->diagnostics(); }
  std::vector<DeviceNumber> measure() override {
    if (!has_parts()) settle();
    return simulation_->measure();
  }
  double values_per_update() const override { return simulation_->values_per_update(); }
  std::vector<NamedText> chosen() const override { return simulation_->chosen(); }
  std::vector<std::string> fallbacks() const override { return simulation_->fallbacks(); }
  std::string shortfall() const override { return simulation_->shortfall(); }
  bool has_parts() const override { return simulation_->has_parts(); }
  std::vector<Field> fields_in_parts() const override { return simulation_->fields_in_parts(); }
  FoundByParts write_parts(std::vector<FieldTarget> const& targets, bool measured) override {
    say(measured ? Command::write : Command::look);
    return together_or_failed([&] { return simulation_->write_parts(targets, measured); });
  }
  void compare_parts(PartsFinder& finder) override {
    say(Command::compare);
    together([&] { simulation_->compare_parts(finder); });
  }
  void save(CheckpointSink& sink) const override {
    if (!has_parts()) {
      settle();
      return simulation_->save(sink);
    }
    say(Command::save);
    together_or_failed([&] { simulation_->save(sink); });
  }
  void load(CheckpointSource const& source) override {
    say(Command::load);
    together([&] { simulation_->load(TellingSource(source)); });
  }

 private:
  Command say(Command::Kind kind, std::int64_t most_steps = 0, double until = 0) const {
    auto const now = clock();
    Command command{kind, most_steps, until, now.step, now.time};
    share_value(command);
    return command;
  }

  void advance_as(Command::Kind kind, std::int64_t max_steps, double until) {
    auto const command = say(kind, max_steps, until);
    together([&] { make_steps(*simulation_, command, watch_); });
    is_settled_ = false;
  }

  void settle() const {
    if (is_settled_) return;
    say(Command::settle);
    together([&] { simulation_->fields(); });
    is_settled_ = true;
  }

  SignalWatch watch_;
  std::unique_ptr<Simulation> simulation_;
  mutable bool is_settled_ = false;
};

/// Of another rank.
void write_parts(Simulation& simulation, Command::Kind kind) {
  try {
    PartsAlone sink;
    if (kind == Command::save)
      simulation.save(sink);
    else
      simulation.write_parts({}, kind == Command::write);
  } catch (FailedTogether const&) {  // the first rank tells it
  }
}

/// One run, until rank 0 has ended it.
void serve_run(config::RunConfig const& run, Stream const& stream) {
  SignalWatch const watch;
  auto const simulation = entry_of(run).make(run, stream, inputs_of(run));
  share_files(run, *simulation);
  for (auto command = receive(); command.kind != Command::end; command = receive()) {
    auto const now = simulation->clock();
    if (command.kind == Command::quit) return;
    if (now.step != command.step || now.time != command.time)
      throw Error(fmt::format("is at step {}, t = {}, where the first one is at step {}, t = {}",
                              now.step, now.time, command.step, command.time));
    if (command.kind == Command::advance || command.kind == Command::advance_whole_batches) {
      make_steps(*simulation, command, watch);
    } else if (command.kind == Command::settle) {
      simulation->fields();
    } else if (command.kind == Command::load) {
      simulation->load(ToldSource());
    } else if (command.kind == Command::compare) {
      PartsComparison comparison(run, simulation->fields_in_parts(), now.time);
      simulation->compare_parts(comparison);
    } else {
      write_parts(*simulation, command.kind);
    }
  }
}

}  // namespace

std::unique_ptr<Simulation> share_simulation(config::RunConfig const& run, Stream const& stream,
                                             Checked& checked) {
  Command command{.kind = Command::begin, .fingerprint = fingerprint(run, stream.device())};
  share_value(command);
  return std::make_unique<Shared>(run, [&] { return take_simulation(run, stream, checked); });
}

void serve(std::span<config::RunConfig const* const> runs) {
  std::optional<Stream> opened;
  std::vector<std::string> ignored;
  // To open a GPU takes a while, in which the first rank opens its own.
  if (!runs.empty()) opened.emplace(choose_device(*runs.front(), ignored));
  for (auto command = receive(); command.kind != Command::quit && !standing.is_over;) {
    bool is_known = false;
    for (auto const* const run : runs) {
      std::vector<std::string> fallbacks;
      Stream const stream(choose_device(*run, fallbacks));
      if (fingerprint(*run, stream.device()) != command.fingerprint) continue;
      is_known = true;
      standing.is_together = true;
      serve_run(*run, stream);
      standing.is_together = false;
      break;
    }
    if (!is_known) standing.is_together = true;  // which it waits for
    if (!is_known)
      throw Error(
          "has another version of gridstride, another config or a device of another kind "
          "than the first one");
    if (!standing.is_over) command = receive();
  }
}

void end_ranks(int exit_code) {
  if (ranks().count() == 1) return;
  if (standing.is_together) ranks().abort(exit_code);
  Command command;
  share_value(command);
  ranks().finish();
}

void end_rank(std::string const& failure) {
  if (!failure.empty() && (standing.is_together || receive().kind != Command::quit)) {
    // What all of them fail in is the first one's to tell, which ends this one meanwhile.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    tell(fmt::format("rank {}: {}\n", ranks().rank(), failure));
    ranks().abort(1);
  }
  ranks().finish();
}

}  // namespace gridstride
