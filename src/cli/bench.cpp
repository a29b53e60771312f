#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <utility>

#include "bench/disk.hpp"
#include "bench/links.hpp"
#include "bench/pipeline.hpp"
#include "bench/report.hpp"
#include "bench/shared_poisson.hpp"
#include "cli/commands.hpp"
#include "config/faults.hpp"
#include "config/value.hpp"
#include "core/console.hpp"
#include "core/error.hpp"
#include "core/ranks.hpp"
#include "core/text.hpp"
#include "driver/prepare.hpp"
#include "io/atomic_file.hpp"

namespace gridstride::cli {

namespace {

struct BenchArguments {
  bench::Selection selection;
  std::string size;
  std::string device = "auto";
  std::string json;
  std::string timeline;
  std::string folder;
  RanksOption ranks;
};

[[noreturn]] void refuse(std::string const& option, std::string const& message) {
  throw ConfigError({{option, 0, 0, "", message}});
}

/// A whole number, as 1000000 or 1e6, or a power of two as 2^30.
std::int64_t parse_size(std::string const& text) {
  auto const number = [](std::string_view digits) {
    try {
      return config::parse_integer(digits);
    } catch (config::ValueError const&) {
      return std::int64_t{-1};
    }
  };
  std::int64_t size = number(text);
  if (text.starts_with("2^")) {
    auto const exponent = number(std::string_view(text).substr(2));
    size = exponent >= 0 && exponent <= 40 ? std::int64_t{1} << exponent : -1;
  }
  if (size < 1 || size > std::int64_t{1} << 40)
    refuse("--size " + text, "is not a number of elements (1 to 2^40, as 1000000, 1e6 or 2^20)");
  return size;
}

Device open_device(std::string const& text) {
  std::string const option = "--device " + text;
  auto const devices = Device::available();
  int const gpus = static_cast<int>(devices.size()) - 1;
  int ordinal = ordinal_of_rank(gpus);
  if (text == "cpu" || (text == "auto" && gpus == 0)) return devices[0];
  if (text == "auto") return devices[static_cast<std::size_t>(1 + ordinal)];
  if (text != "cuda") {
    auto const digits = std::string_view(text).substr(text.starts_with("cuda:") ? 5 : text.size());
    auto const [end, error] = std::from_chars(digits.begin(), digits.end(), ordinal);
    if (error != std::errc() || end != digits.end() || ordinal < 0)
      refuse(option, "is no device ('auto', 'cpu', 'cuda' or 'cuda:N' is needed)" +
                         config::suggestion(text, {"auto", "cpu", "cuda"}));
  }
  try {
    return Device::open(Backend::cuda, ordinal);
  } catch (Error const& error) {
    refuse(option, error.what());
  }
}

/// What is being measured, on standard error: in place on a terminal, else a line per workload.
class Progress {
 public:
  void workload(std::string const& text) {
    text_ = text;
    if (!terminal_) tell(text + '\n');
  }
  void step(std::string_view name) const {
    if (!terminal_) return;
    tell(fmt::format("\r{}: {}\033[K", text_, name));
  }
  void clear() const {
    if (terminal_) tell("\r\033[K");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  std::string text_;
};

/// What `bench machine` tells, beside what the others begin with.
std::vector<machine::Roof> machine_details(Stream& stream, BenchArguments const& options) {
  for (auto const& [option, given] : {std::pair{"--size", !options.size.empty()},
                                      std::pair{"--type", !options.selection.type.empty()},
                                      std::pair{"--variant", !options.selection.variant.empty()}})
    if (given) refuse(option, "is for kernel families ('machine' is measured as a whole)");
  auto const disk =
      bench::disk_roofs(options.folder.empty() ? std::filesystem::temp_directory_path()
                                               : std::filesystem::path(options.folder));
  auto roofs = machine::measure_details(stream);
  roofs.insert(roofs.end(), disk.begin(), disk.end());
  return roofs;
}

void write_timelines(Stream& stream, std::int64_t size, std::string const& file) {
  auto const runs = bench::pipeline_timelines(stream, size);
  io::write_text_file(file, bench::timeline_json(stream.device(), runs));
}

/// Of what several processes measure together: what the first one prints and writes.
template <class Reports>
int tell_reports(BenchArguments const& options, Stream& stream, std::string const& what,
                 Reports const& reports) {
  if (!ranks().is_first()) return 0;
  if (options.json != "-")
    fmt::print("{}{} ranks{}; {}\n{}", bench::heading(stream.device(), {}), ranks().count(), what,
               ranks().transport(), bench::table(reports));
  auto const json = [&] { return bench::json(ranks(), stream.device(), reports); };
  if (options.json == "-")
    fmt::print("{}", json());
  else if (!options.json.empty())
    io::write_text_file(options.json, json());
  return 0;
}

/// What a launcher has several processes for, all of which come here.
int run_links(BenchArguments const& options) {
  for (auto const& [option, given] : {std::pair{"--size", !options.size.empty()},
                                      std::pair{"--type", !options.selection.type.empty()},
                                      std::pair{"--variant", !options.selection.variant.empty()},
                                      std::pair{"--folder", !options.folder.empty()},
                                      std::pair{"--timeline", !options.timeline.empty()}})
    if (given) refuse(option, "is not for 'bench links', which takes several sizes");
  if (ranks().count() == 1)
    refuse("links", "are between processes (--ranks N, or a launcher, starts several)");
  Stream stream(open_device(options.device));
  return tell_reports(options, stream, " in a ring, both ways at a time",
                      bench::measure_links(ranks(), stream));
}

/// Likewise.
int run_shared_poisson(BenchArguments const& options) {
  for (auto const& [option, given] : {std::pair{"--variant", !options.selection.variant.empty()},
                                      std::pair{"--folder", !options.folder.empty()},
                                      std::pair{"--timeline", !options.timeline.empty()}})
    if (given) refuse(option, "is not for 'bench poisson' on several processes");
  std::string const& type = options.selection.type;
  if (!type.empty() && type != "float32" && type != "float64")
    refuse("--type " + type, "is no type of 'poisson' ('float32' or 'float64' is needed)");
  std::int64_t const size = options.size.empty() ? 0 : parse_size(options.size);
  Stream stream(open_device(options.device));
  return tell_reports(options, stream, "",
                      bench::measure_shared_poisson(ranks(), stream, type, size));
}

int run_bench(BenchArguments const& options) {
  if (options.selection.family == "links") return run_links(options);
  if (ranks().count() > 1 && options.selection.family == "poisson")
    return run_shared_poisson(options);
  if (ranks().count() > 1)
    throw Error(
        fmt::format("a launcher has started {} processes, and `bench links` and `bench poisson` "
                    "alone go over several of them",
                    ranks().count()));
  auto selection = options.selection;
  if (!options.size.empty()) selection.size = parse_size(options.size);
  bool const whole_machine = selection.family == "machine";
  if (!options.folder.empty() && !whole_machine) refuse("--folder", "is for 'bench machine'");
  if (!options.timeline.empty() && selection.family != "pipeline")
    refuse("--timeline", "is for 'bench pipeline'");
  Device const device = open_device(options.device);
  auto const workloads =
      whole_machine ? std::vector<bench::Workload>() : bench::select(selection, device.backend());
  bool const prints = options.json != "-";

  Progress progress;
  progress.workload("measuring the machine");
  Stream stream(device);
  bench::Report report{device, {}, {}};
  if (whole_machine) report.roofs = machine_details(stream, options);
  auto const roofs = machine::measure(stream);
  report.roofs.insert(report.roofs.begin(), roofs.begin(), roofs.end());
  if (prints) fmt::print("{}", bench::heading(device, report.roofs));
  for (auto const& workload : workloads) {
    progress.workload(fmt::format("[{}/{}] {} {} {}", report.measurements.size() + 1,
                                  workloads.size(), workload.family, workload.operation,
                                  workload.type));
    report.measurements.push_back(
        bench::measure(stream, workload, selection.size, report.roofs,
                       [&](std::string_view variant) { progress.step(variant); }));
    progress.clear();
    if (!prints) continue;
    fmt::print("{}", bench::table(report.measurements.back()));
    std::fflush(stdout);
  }
  if (prints && !whole_machine)
    fmt::print("\n* is what 'auto' means; the spread is from the 10th percentile to the 90th\n");
  if (options.json == "-")
    fmt::print("{}", bench::json(report));
  else if (!options.json.empty())
    io::write_text_file(options.json, bench::json(report));
  if (!options.timeline.empty()) write_timelines(stream, selection.size, options.timeline);
  int const wrong = report.wrong_variants();
  if (wrong > 0)
    throw VerificationError(fmt::format("{} of the variants' results are wrong", wrong));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action, std::vector<std::string> words) {
  auto const options = std::make_shared<BenchArguments>();
  auto* command = app.add_subcommand(
      "bench", "Measure the machine and the kernel variants; exit code 3 when one is wrong");
  command->add_option(
      "family", options->selection.family,
      "Kernel family, 'pipeline', 'machine' or 'links'; all but these two without one");
  command->add_option("--size", options->size, "Elements, or rows of the matrices, as 1e6 or 2^20")
      ->type_name("N");
  command->add_option("--type", options->selection.type, "Type of the elements, as float32");
  command->add_option("--variant", options->selection.variant, "This variant alone");
  command->add_option("--device", options->device, "auto, cpu, cuda or cuda:N");
  command->add_option("--json", options->json, "Write all figures as JSON; - for standard output")
      ->type_name("FILE");
  command
      ->add_option("--timeline", options->timeline,
                   "Write when each chunk of 'pipeline' was where, for tools/plot_timeline.py")
      ->type_name("FILE");
  command
      ->add_option("--folder", options->folder, "The disk that 'machine' measures: a folder there")
      ->type_name("DIR");
  options->ranks.add_to(*command);
  command->callback([options, &action, words = std::move(words)] {
    action = [options, words] {
      std::string const& family = options->selection.family;
      if (options->ranks.given->count() > 0 && family != "links" && family != "poisson")
        refuse("--ranks", "is for 'bench links' and 'bench poisson'");
      return options->ranks.must_launch() ? options->ranks.launch(words) : run_bench(*options);
    };
  });
}

}  // namespace gridstride::cli
