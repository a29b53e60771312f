#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "core/console.hpp"
#include "core/error.hpp"
#include "core/processors.hpp"
#include "core/ranks.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "driver/launch.hpp"
#include "driver/run.hpp"
#include "driver/shared_run.hpp"

using namespace gridstride;
namespace exit_code = gridstride::cli::exit_code;

namespace {

/// A word in the place of the subcommand that is none; CLI11 would only say that one is missing.
void require_known_subcommand(CLI::App const& app, std::string const& word) {
  std::vector<std::string> names;
  for (CLI::App const* command : app.get_subcommands({})) names.push_back(command->get_name());
  names.emplace_back("help");
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return;
  std::vector<std::string_view> const views(names.begin(), names.end());
  auto const nearest = nearest_name(word, views);
  throw CLI::ParseError(
      fmt::format("there is no subcommand '{}' (there is {}){}", word, format_choices(views),
                  nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)),
      CLI::ExitCodes::ExtrasError);
}

/// `help` and `help COMMAND` are other words for the option of that name.
std::vector<char const*> without_help_word(std::vector<char const*> words) {
  if (words.size() < 2 || words[1] != std::string_view("help")) return words;
  if (words.size() > 3) throw CLI::ExtrasError({words[3]});
  words.erase(words.begin() + 1);
  words.push_back("--help");
  return words;
}

/// What was probably meant by an option that the subcommand has not.
std::string hint_of_option(CLI::App const& app) {
  for (std::string word : app.remaining(true)) {
    word = word.substr(0, word.find('='));
    if (!word.starts_with('-')) continue;
    std::vector<std::string> own, elsewhere;
    for (CLI::App const* command : app.get_subcommands({})) {
      bool const meant = app.got_subcommand(command->get_name());
      for (CLI::Option const* option : command->get_options({}))
        for (auto const& name : option->get_lnames()) {
          if (meant) own.push_back("--" + name);
          if (word == "--" + name) elsewhere.push_back(command->get_name());
        }
    }
    if (!elsewhere.empty())
      return fmt::format(" ('{}' is an option of {})", word, fmt::join(elsewhere, ", "));
    std::vector<std::string_view> const names(own.begin(), own.end());
    auto const nearest = nearest_name(word, names);
    if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
  }
  return "";
}

std::string usage_error(CLI::App const* app, CLI::Error const& error) {
  return fmt::format("{}{}\nRun with --help for more information.\n", error.what(),
                     hint_of_option(*app));
}

/// What is not shared by several processes is not done by each of them.
void require_one_process(CLI::App const& app) {
  int const count = ranks().count();
  if (count == 1 || app.got_subcommand("run") || app.got_subcommand("bench")) return;
  throw Error(
      fmt::format("a launcher has started {} processes, and `run`, `bench links` and `bench "
                  "poisson` alone go over several of them",
                  count));
}

/// The exit code, once what was printed has left the buffer.
int finish(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  tell(fmt::format("standard output cannot be written ({})\n", std::strerror(errno)));
  return code == exit_code::done || code == exit_code::does_not_hold ? exit_code::failed : code;
}

int report(std::exception const& error, int code) {
  tell(fmt::format("{}\n", error.what()));
  return code;
}

/// What this process was asked for; the exit code, once all is told.
int act(CLI::App& app, cli::Action const& action, std::vector<char const*> const& given) {
  try {
    auto const words = without_help_word(given);
    if (words.size() > 1) require_known_subcommand(app, words[1]);
    app.parse(static_cast<int>(words.size()), words.data());
    require_one_process(app);
    require_stack();
    host_threads();  // an environment that cannot be is met here, by all
    return finish(action());
  } catch (CLI::ParseError const& error) {
    return finish(app.exit(error) == 0 ? exit_code::done : exit_code::bad_input);
  } catch (std::exception const& error) {
    return report(error, cli::exit_code_of(error));
  }
}

/// The same for another rank than the first, which speaks for all.
int follow(CLI::App& app, cli::Action const& action, std::vector<char const*> const& given) {
  std::string failure;
  try {
    auto const words = without_help_word(given);
    app.parse(static_cast<int>(words.size()), words.data());
    require_one_process(app);
    action();
  } catch (std::exception const& error) {
    failure = error.what();
  }
  end_rank(failure);
  return exit_code::done;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  // A file that may not grow is an error of its write, not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Simulations from one YAML file, on the GPU or the host, to files ParaView opens.",
               "gridstride");
  app.set_version_flag("--version",
                       fmt::format("gridstride {} ({}{})", version(), git_hash(),
                                   built_with_cuda() ? ", with CUDA" : ", without CUDA"));
  app.require_subcommand(1);
  app.failure_message(usage_error);
  app.footer("`gridstride help COMMAND` tells of one.");
  cli::Action action;
  cli::add_run(app, action, {argv, argv + argc});
  cli::add_check(app, action);
  cli::add_list(app, action);
  cli::add_describe(app, action);
  cli::add_compare(app, action);
  cli::add_verify(app, action);
  cli::add_info(app, action);
  cli::add_bench(app, action, {argv, argv + argc});
  cli::add_slurm(app, action);
  try {
    join_ranks();
  } catch (Error const& error) {
    return report(error, exit_code::failed);
  }
  std::vector<char const*> const words(argv, argv + argc);
  if (!ranks().is_first()) return follow(app, action, words);
  int const code = act(app, action, words);
  end_ranks(code);
  return hand_over(code);
}
