#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "driver/output_files.hpp"
#include "driver/run.hpp"
#include "io/atomic_file.hpp"
#include "io/compare.hpp"
#include "simulations/registry.hpp"

namespace gridstride::cli {

namespace {

namespace fs = std::filesystem;

void store_reference(fs::path const& result, fs::path const& reference) {
  io::AtomicFile target(reference);
  std::error_code failed;
  fs::copy_file(result, target.temporary(), fs::copy_options::overwrite_existing, failed);
  if (failed) throw IoError(reference, "cannot be written (" + failed.message() + ")");
  target.commit();
}

void require_something_to_verify(config::RunConfig const& config, bool update) {
  auto const& options = config.verify;
  if (options.exact.empty() && options.reference.empty())
    throw ConfigError(
        {config.problem(config.location("verify"),
                        "has nothing to compare with ('exact' or 'reference' is needed)")});
  if (!update && !options.reference.empty() && !fs::exists(options.reference))
    throw ConfigError({config.problem(
        config.location("verify.reference"),
        fmt::format("there is no file {} (`verify --update` stores the run's result there)",
                    options.reference.lexically_normal().string()))});
}

/// Runs one file and judges it. Returns whether it holds.
bool verify_file(config::RunConfig const& config, bool update, bool overwrite) {
  auto const& options = config.verify;
  RunOptions how;
  how.quiet = true;
  how.overwrite = overwrite;
  RunSummary summary;
  try {
    summary = run(config, how);
  } catch (VerificationError const& error) {
    fmt::print("{}: {}\n", config.file.string(), error.what());
    return false;
  }
  if (!summary.shortfall.empty())
    throw NumericalError(fmt::format("{}: {}", config.file.string(), summary.shortfall));
  for (auto const& found : summary.verified)
    fmt::print("{}: {} {:.6g}\n", config.file.string(), found.name, found.value);
  if (options.reference.empty()) return true;
  fs::path const result = OutputPaths(config).hdf5;
  if (update) {
    store_reference(result, options.reference);
    fmt::print("{}: stored {}\n", config.file.string(), options.reference.string());
    return true;
  }
  auto const comparison = io::compare(result, options.reference, options.rtol, options.atol);
  fmt::print("{}: against {}\n{}", config.file.string(), options.reference.string(),
             comparison.table());
  return comparison.equal();
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  struct Options {
    std::vector<std::string> files;
    OverrideOptions changes;
    bool update = false;
    bool overwrite = false;
  };
  auto const options = std::make_shared<Options>();
  auto* command = app.add_subcommand(
      "verify", "Run files and compare with their exact solutions and stored references");
  command->add_option("files", options->files, "YAML files")->required()->type_name("FILE");
  options->changes.add_to(*command);
  command->add_flag("--update", options->update, "Store the results as the new references");
  command->add_flag("--overwrite", options->overwrite, "Remove checkpoints of an earlier run");
  command->callback([options, &action] {
    action = [options] {
      std::vector<config::RunConfig> runs;
      for (auto const& file : options->files) {
        auto& config = runs.emplace_back(
            config::read_run_config(file, options->changes.overrides(), simulation_infos()));
        config.output.hdf5 = true;
        require_something_to_verify(config, options->update);
      }
      int failures = 0;
      for (auto const& config : runs)
        failures += verify_file(config, options->update, options->overwrite) ? 0 : 1;
      fmt::print("{} of {} verified\n", runs.size() - failures, runs.size());
      return failures == 0 ? 0 : 3;
    };
  });
}

}  // namespace gridstride::cli
