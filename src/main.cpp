#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "driver/run.hpp"

using namespace gridstride;

namespace {

enum ExitCode { done = 0, failed = 1, bad_input = 2, does_not_hold = 3, signal_base = 128 };

/// A word in the place of the subcommand that is none; CLI11 would only say that one is missing.
void require_known_subcommand(CLI::App const& app, std::string const& word) {
  std::vector<std::string> names;
  for (CLI::App const* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return;
  std::vector<std::string_view> const views(names.begin(), names.end());
  auto const nearest = nearest_name(word, views);
  throw CLI::ParseError(
      fmt::format("there is no subcommand '{}' (there is {}){}", word, format_choices(views),
                  nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)),
      CLI::ExitCodes::ExtrasError);
}

int report(std::exception const& error, int code) {
  fmt::print(stderr, "{}\n", error.what());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // A file that may not grow is an error of its write, not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Simulations from one YAML file, on the GPU or the host, to files ParaView opens.",
               "gridstride");
  app.set_version_flag("--version",
                       fmt::format("gridstride {} ({}{})", version(), git_hash(),
                                   built_with_cuda() ? ", with CUDA" : ", without CUDA"));
  app.require_subcommand(1);
  cli::Action action;
  cli::add_run(app, action);
  cli::add_check(app, action);
  cli::add_list(app, action);
  cli::add_describe(app, action);
  cli::add_compare(app, action);
  cli::add_verify(app, action);
  cli::add_info(app, action);
  cli::add_bench(app, action);
  try {
    if (argc > 1) require_known_subcommand(app, argv[1]);
    app.parse(argc, argv);
    return action();
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? done : bad_input;
  } catch (ConfigError const& error) {
    return report(error, bad_input);
  } catch (VerificationError const& error) {
    return report(error, does_not_hold);
  } catch (Interrupted const& error) {
    return report(error, signal_base + error.signal());
  } catch (std::exception const& error) {
    return report(error, failed);
  }
}
