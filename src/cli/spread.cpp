#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "cli/json.hpp"
#include "cli/run.hpp"
#include "core/console.hpp"
#include "core/error.hpp"
#include "core/ranks.hpp"
#include "core/share_out.hpp"
#include "core/timer.hpp"
#include "driver/shared_run.hpp"
#include "driver/signals.hpp"
#include "io/atomic_file.hpp"

namespace gridstride::cli {

namespace {

/// What became of a file.
struct Ending {
  int rank = 0;
  double seconds = 0;
  int code = exit_code::done;
  std::string failure;             ///< empty when there is none
  std::string told = "done";       ///< of one without
  Json summaries = Json::array();  ///< of its runs

  std::string encoded() const {
    Json const json = {{"seconds", seconds},
                       {"code", code},
                       {"failure", failure},
                       {"told", told},
                       {"summaries", summaries}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // paths have any bytes
  }
  static Ending decoded(int rank, std::string const& text) {
    Json const json = Json::parse(text);
    return {rank, json["seconds"], json["code"], json["failure"], json["told"], json["summaries"]};
  }
};

std::string ending_told(std::vector<RunSummary> const& runs) {
  if (runs.size() > 1) return fmt::format("done, {} runs", runs.size());
  if (runs.front().done_before) return "done before";
  return runs.front().ending.empty() ? "done" : runs.front().ending;
}

/// What is told of a failure in a line.
std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

/// The files of a command line, each the work of one process.
class Spread {
 public:
  Spread(RunArguments const& arguments, std::vector<config::RunFile> files)
      : arguments_(arguments), files_(std::move(files)), endings_(arguments.files.size()) {}

  /// Returns the exit code: that of a signal which stopped it, or else of the first file, in the
  /// order of the command line, that failed.
  int go();

 private:
  Ending run_piece(std::size_t piece) const;
  void run_noted(std::size_t piece, Ending& ending) const;
  void note(std::size_t piece, Ending ending);
  void write_summaries() const;
  void tell_table() const;
  int tell_end() const;

  RunArguments const& arguments_;
  std::vector<config::RunFile> const files_;  // as the first process has checked them
  SignalWatch signals_;
  std::vector<std::optional<Ending>> endings_;
  std::size_t ended_ = 0;
  std::atomic<int> stop_code_ = exit_code::done;  // of a run that a signal stopped
};

void Spread::run_noted(std::size_t piece, Ending& ending) const {
  auto how = options_of(arguments_);
  how.quiet = true;
  std::vector<RunSummary> runs;
  try {
    auto const failure =
        files_.empty()
            ? run_file(read_files({arguments_.files[piece]}, arguments_.changes).front(), how, runs)
            : run_file(files_[piece], how, runs);
    ending.summaries = Json::parse(summary_json(runs));
    if (failure) std::rethrow_exception(failure);
    ending.told = ending_told(runs);
  } catch (std::exception const& error) {
    ending.failure = error.what();
    ending.code = exit_code_of(error);
  }
  if (ending.summaries.empty())
    ending.summaries.push_back({{"config", arguments_.files[piece]}, {"failure", ending.failure}});
}

Ending Spread::run_piece(std::size_t piece) const {
  Ending ending;
  Timer const timer;
  run_noted(piece, ending);
  ending.seconds = timer.seconds();
  return ending;
}

void Spread::write_summaries() const {
  auto list = Json::array();
  for (auto const& ending : endings_)
    if (ending) list.insert(list.end(), ending->summaries.begin(), ending->summaries.end());
  if (list.empty() || arguments_.summary.empty()) return;
  write_summary(arguments_.summary,
                list.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
}

void Spread::note(std::size_t piece, Ending ending) {
  if (ending.code > exit_code::signal_base) stop_code_ = ending.code;
  auto const& file = arguments_.files[piece];
  ++ended_;
  if (!ending.failure.empty())
    tell(ending.failure.starts_with(file) ? ending.failure + '\n'
                                          : fmt::format("{}: {}\n", file, ending.failure));
  else if (!arguments_.quiet)
    tell(fmt::format("{} of {}: {}: {} ({:.2f} s)\n", ended_, files_.size(), file, ending.told,
                     ending.seconds));
  endings_[piece] = std::move(ending);
  if (io::is_stream(arguments_.summary)) return;
  try {
    write_summaries();  // what is known, for one who ends this before its end
  } catch (Error const&) {
    // so will the last time
  }
}

void Spread::tell_table() const {
  std::size_t width = 4;
  for (auto const& file : arguments_.files) width = std::max(width, file.size());
  auto text = fmt::format("{:<{}}  rank  seconds\n", "file", width);
  for (std::size_t i = 0; i < endings_.size(); ++i) {
    auto const& ending = endings_[i];
    auto const& file = arguments_.files[i];
    if (!ending) {
      text += fmt::format("{:<{}}     -        -  not begun\n", file, width);
      continue;
    }
    text += fmt::format("{:<{}}  {:>4}  {:>7.2f}  {}\n", file, width, ending->rank, ending->seconds,
                        ending->failure.empty() ? ending->told : first_line(ending->failure));
  }
  tell(text);
}

int Spread::tell_end() const {
  auto const count = [&](auto const& is) { return std::ranges::count_if(endings_, is); };
  auto const well = count([](auto const& one) { return one && one->failure.empty(); });
  auto const left = count([](auto const& one) { return !one; });
  int const code = stop_code_ != exit_code::done ? stop_code_.load()
                   : signals_.pending() != 0 && left > 0
                       ? exit_code::signal_base + signals_.pending()
                       : exit_code::done;
  if (!arguments_.quiet) tell_table();
  if (code != exit_code::done) {
    tell(
        fmt::format("stopped by {}: of {} files {} came to their end, {} did not begin; "
                    "`--restart` goes on with them\n",
                    signal_name(code - exit_code::signal_base), endings_.size(), well, left));
    return code;
  }
  if (!arguments_.quiet)
    tell(fmt::format("{} of {} files came to their end\n", well, endings_.size()));
  auto const failed =
      std::ranges::find_if(endings_, [](auto const& one) { return one->code != 0; });
  return failed == endings_.end() ? exit_code::done : (*failed)->code;
}

int Spread::go() {
  share_out(
      {.pieces = static_cast<std::int64_t>(arguments_.files.size()),
       .work = [this](auto piece) { return run_piece(static_cast<std::size_t>(piece)).encoded(); },
       .done =
           [this](auto piece, int rank, std::string const& text) {
             note(static_cast<std::size_t>(piece), Ending::decoded(rank, text));
           },
       .is_over = [this] { return stop_code_ != exit_code::done || signals_.pending() != 0; }});
  if (!ranks().is_first()) return exit_code::done;
  write_summaries();
  return tell_end();
}

/// Reads and checks all files; returns what it finds amiss.
std::exception_ptr refusal_of(RunArguments const& arguments, std::vector<config::RunFile>& files) {
  try {
    files = read_files(arguments.files, arguments.changes);
    check_all(files, arguments, options_of(arguments));
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

int spread_files(RunArguments const& arguments) {
  std::vector<config::RunFile> files;
  std::exception_ptr const refusal =
      ranks().is_first() ? refusal_of(arguments, files) : std::exception_ptr();
  bool may_begin = !refusal;
  ranks().broadcast(std::as_writable_bytes(std::span(&may_begin, 1)));
  if (refusal) std::rethrow_exception(refusal);
  std::signal(SIGPIPE, SIG_IGN);  // who reads the progress may leave
  int const code = may_begin ? Spread(arguments, std::move(files)).go() : exit_code::done;
  if (!ranks().is_first()) serve({});  // until the first one ends
  return code;
}

}  // namespace gridstride::cli
