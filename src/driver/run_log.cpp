#include "driver/run_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <string_view>
#include <system_error>

#include "config/input_files.hpp"
#include "core/file_stamp.hpp"
#include "io/run_lock.hpp"

namespace gridstride {

namespace {

constexpr std::string_view config_mark = "| ";
constexpr std::string_view input_mark = "input: ";
constexpr std::string_view ending_mark = "ended: ", early_mark = "ended early: ";

/// The text with `mark` in front of each line.
std::string marked(std::string_view text, std::string_view mark) {
  std::string result;
  while (!text.empty()) {
    auto const length = text.find('\n');
    if (!result.empty()) result += '\n';
    result += mark;
    result += text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  }
  return result;
}

}  // namespace

std::string logged_config(std::string const& resolved_yaml) {
  return marked(resolved_yaml, config_mark);
}

std::string logged_input(std::string const& file, std::string const& state) {
  return fmt::format("{}{}: {}", input_mark, file, state);
}

std::string logged_ending(std::string const& why) { return marked(why, ending_mark); }
std::string logged_early_ending(std::string const& why) { return marked(why, early_mark); }

InputStates states_of_inputs(config::RunConfig const& run) {
  InputStates states;
  for (auto const& [name, path] : config::input_files(run)) {
    std::error_code missing;
    if (!std::filesystem::is_regular_file(path, missing)) continue;
    FileStamp const stamp = stamp_of(path);
    states[name] =
        fmt::format("{} bytes, written {:%Y-%m-%d %H:%M:%S}.{:09} UTC", stamp.bytes,
                    fmt::gmtime(static_cast<std::time_t>(stamp.seconds)), stamp.nanoseconds);
  }
  return states;
}

std::string run_state(io::ResultFile const& result) {
  if (result.complete())
    return result.ended().empty() ? "complete"
                                  : fmt::format("the run came to its end, but {}", result.ended());
  auto const folder = result.path().parent_path();
  auto const holder = io::lock_holder(folder.empty() ? "." : folder, result.path().stem().string());
  if (result.ended().empty() && holder) return fmt::format("still running ({})", *holder);
  return fmt::format(
      "the run did not come to its end ({})",
      result.ended().empty() ? "it was killed, or its machine failed" : result.ended());
}

std::optional<LoggedRun> read_last_run(std::filesystem::path const& log) {
  std::ifstream file(log);
  std::optional<LoggedRun> last;
  bool in_config = false;
  for (std::string line; std::getline(file, line);) {
    bool const of_config = line.starts_with(config_mark);
    if (of_config && !in_config) last.emplace();
    in_config = of_config;
    if (of_config) {
      last->config += line.substr(config_mark.size()) + '\n';
    } else if (last && line.starts_with(ending_mark)) {
      last->ended += (last->ended.empty() ? "" : "\n") + line.substr(ending_mark.size());
    } else if (last && line.starts_with(early_mark)) {
      last->early += (last->early.empty() ? "" : "\n") + line.substr(early_mark.size());
    } else if (last && line.starts_with(input_mark)) {
      auto const state = line.rfind(": ");
      last->inputs[line.substr(input_mark.size(), state - input_mark.size())] =
          line.substr(state + 2);
    }
  }
  return last;
}

}  // namespace gridstride
