#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "config/input_files.hpp"
#include "core/console.hpp"
#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "driver/output_paths.hpp"
#include "driver/prepare.hpp"
#include "driver/run.hpp"
#include "io/atomic_file.hpp"
#include "io/compare.hpp"
#include "io/result.hpp"

namespace gridstride::cli {

namespace {

namespace fs = std::filesystem;

/// Whether a result holds what another one can be compared with.
bool is_comparable(io::ResultFile const& result) {
  return !result.fields().empty() || !result.tables().empty();
}

/// What keeps the result of a run from being stored, before it runs: a reference replaces no file but
/// a result, and none that the run reads.
void check_before_storing(config::RunConfig const& config) {
  auto const& path = config.verify.reference;
  if (path.empty()) return;
  auto const refuse = [&](std::string_view key, std::string message) {
    throw ConfigError({config.problem(config.location(key), std::move(message))});
  };
  auto const named = path.lexically_normal().string();
  std::error_code error;
  if (config.simulation->has_time && config.output.fields.empty())
    refuse("output.fields", "is empty, and a reference without fields equals no result");
  if (fs::is_directory(path, error))
    refuse("verify.reference",
           fmt::format("{} is a folder (the result is stored as a file: {})", named,
                       (path / (config.name + ".h5")).lexically_normal().string()));
  if (config::is_input(config, path))
    refuse("verify.reference",
           fmt::format("{} is a file that this run reads, and would be replaced", named));
  try {
    if (fs::exists(path, error)) io::ResultFile const earlier(path);
  } catch (IoError const& failed) {
    refuse("verify.reference",
           fmt::format("only a result is replaced ({}; remove it, or give another name)",
                       failed.what()));
  }
  if (auto const fault = folder_fault(fs::absolute(path, error).parent_path()); !fault.empty())
    refuse("verify.reference", fault);
}

void store_reference(fs::path const& result, fs::path const& reference) {
  if (!is_comparable(io::ResultFile(result)))
    throw IoError(result, "holds no field and no table (no result equals such a reference)");
  std::error_code failed;
  fs::create_directories(reference.parent_path(), failed);  // the file tells
  io::AtomicFile target(reference);
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
  if (options.reference.empty() && !options.l2_tolerance && !options.max_tolerance)
    throw ConfigError({config.problem(
        config.location("verify"),
        "has nothing to judge by ('tolerance' or 'reference' is needed; `run` tells "
        "the error)")});
  if (update)
    check_before_storing(config);
  else
    check_reference(config);
}

/// What came of one file.
struct Verdict {
  std::string file;
  std::string failure = {};  ///< why it did not run, or where the exact solution is too far off
  int code = exit_code::done;
  std::vector<NamedValue> errors = {};
  std::filesystem::path reference = {};  ///< that was stored or compared with, if any
  std::optional<io::Comparison> comparison = {};

  bool holds() const { return failure.empty() && (!comparison || comparison->equal()); }
};

/// Runs one file and compares.
void judge(config::RunConfig const& config, bool update, bool overwrite, Verdict& verdict) {
  auto const& options = config.verify;
  RunOptions how;
  how.quiet = true;
  how.overwrite = overwrite;
  auto const summary = run(config, how);
  if (!summary.shortfall.empty()) throw NumericalError(summary.shortfall);
  verdict.errors = summary.verified;
  if (options.reference.empty()) return;
  fs::path const result = OutputPaths(config).file(".h5");
  if (update)
    store_reference(result, options.reference);
  else
    verdict.comparison = io::compare(result, options.reference, options.rtol, options.atol);
  verdict.reference = options.reference;
}

/// The same; what keeps one file from being judged is told, and the others go on.
Verdict verify_file(config::RunConfig const& config, bool update, bool overwrite) {
  Verdict verdict{.file = config.file.string()};
  if (!config.swept.empty())
    verdict.file += fmt::format(" ({})", config::member_name(config.swept));
  try {
    judge(config, update, overwrite, verdict);
  } catch (SolutionMissed const& error) {
    verdict.failure = error.what();
    verdict.errors = error.errors();
  } catch (Interrupted const&) {
    throw;
  } catch (Error const& error) {
    verdict.failure = error.what();
    verdict.code = exit_code_of(error);
    tell(verdict.failure.starts_with(config.file.string())
             ? verdict.failure + '\n'
             : fmt::format("{}: {}\n", verdict.file, verdict.failure));
  }
  if (verdict.code == exit_code::done && !verdict.holds()) verdict.code = exit_code::does_not_hold;
  return verdict;
}

/// Of a file that did not run, the error is told already.
void print_verdict(Verdict const& verdict, bool update) {
  if (verdict.code != exit_code::done && verdict.code != exit_code::does_not_hold) return;
  if (!verdict.failure.empty()) return fmt::print("{}: {}\n", verdict.file, verdict.failure);
  for (auto const& found : verdict.errors)
    fmt::print("{}: {} {:.6g}\n", verdict.file, found.name, found.value);
  if (verdict.comparison)
    fmt::print("{}: against {}\n{}", verdict.file, verdict.reference.string(),
               verdict.comparison->table());
  else if (!verdict.reference.empty())
    fmt::print("{}: stored {}\n", verdict.file, verdict.reference.string());
  else if (update)
    fmt::print("{}: nothing is stored (verify.reference names no file)\n", verdict.file);
}

Json json_verdict(Verdict const& verdict) {
  Json json = {{"file", verdict.file}, {"holds", verdict.holds()}};
  if (!verdict.failure.empty()) json["failure"] = verdict.failure;
  json["errors"] = json_named(verdict.errors);
  if (verdict.comparison) {
    json["reference"] = verdict.reference.string();
    json["comparison"] = json_comparison(*verdict.comparison);
  } else if (!verdict.reference.empty()) {
    json["stored"] = verdict.reference.string();
  }
  return json;
}

struct VerifyArguments {
  std::vector<std::string> files;
  OverrideOptions changes;
  bool update = false;
  bool overwrite = false;
  bool quiet = false;
  bool json = false;
};

int verify_files(VerifyArguments const& options) {
  std::vector<config::RunConfig> runs;  // those of a sweep one by one
  for (auto& file : read_files(options.files, options.changes)) {
    if (file.is_sweep())
      std::ranges::move(file.members, std::back_inserter(runs));
    else
      runs.push_back(std::move(file.run));
  }
  for (auto& config : runs) {
    if (!config.output.has_format("hdf5")) config.output.formats.emplace_back("hdf5");
    require_something_to_verify(config, options.update);
  }
  Json verdicts = Json::array();
  std::size_t holding = 0;
  int code = exit_code::done;  // of the first that did not run, or else that of what does not hold
  for (auto const& config : runs) {
    Verdict const verdict = verify_file(config, options.update, options.overwrite);
    holding += verdict.holds() ? 1 : 0;
    if (code == exit_code::done || code == exit_code::does_not_hold)
      code = verdict.code == exit_code::done ? code : verdict.code;
    if (options.json)
      verdicts.push_back(json_verdict(verdict));
    else if (!options.quiet || !verdict.holds())
      print_verdict(verdict, options.update);
  }
  if (options.json)
    print_json({{"verified", holding}, {"of", runs.size()}, {"runs", std::move(verdicts)}});
  else if (!options.quiet)
    fmt::print("{} of {} verified\n", holding, runs.size());
  return code;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto const options = std::make_shared<VerifyArguments>();
  auto* command = app.add_subcommand(
      "verify", "Run files and compare with their exact solutions and stored references");
  command->add_option("files", options->files, "YAML files; - is standard input")
      ->required()
      ->type_name("FILE");
  options->changes.add_to(*command);
  command->add_flag("--update", options->update, "Store the results as the new references");
  command->add_flag("--overwrite", options->overwrite, "Remove checkpoints of an earlier run");
  auto* quiet = command->add_flag("--quiet", options->quiet, "Print only what does not hold");
  command->add_flag("--json", options->json, "As JSON")->excludes(quiet);
  command->callback([options, &action] { action = [options] { return verify_files(*options); }; });
}

}  // namespace gridstride::cli
