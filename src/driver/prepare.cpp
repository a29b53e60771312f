#include "driver/prepare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <ranges>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "core/nearly_equal.hpp"
#include "core/ranks.hpp"
#include "core/text.hpp"
#include "driver/diagnostics.hpp"
#include "driver/formats/format.hpp"
#include "driver/formulas.hpp"
#include "driver/output_paths.hpp"
#include "driver/reduction.hpp"
#include "driver/result_source.hpp"
#include "io/csr_group.hpp"
#include "io/dataset.hpp"
#include "io/matrix_market.hpp"
#include "io/matrix_market_coordinate.hpp"
#include "io/plain_numbers.hpp"
#include "io/result.hpp"
#include "io/shared_places.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/families.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "model/values.hpp"
#include "simulations/registry.hpp"

namespace gridstride {

namespace fs = std::filesystem;

int ordinal_of_rank(int devices) { return ranks().local_rank() % std::max(devices, 1); }

namespace {

/// A GPU for this process: without others on its machine the first.
Device gpu_of_rank() {
  if (ranks().local_count() == 1) return Device::open(Backend::cuda);
  auto const devices = Device::available();  // the host first
  auto const gpus = static_cast<int>(devices.size()) - 1;
  if (gpus == 0) return Device::open(Backend::cuda);  // says why there is none
  return devices[static_cast<std::size_t>(1 + ordinal_of_rank(gpus))];
}

}  // namespace

Device choose_device(config::RunConfig const& run, std::vector<std::string>& fallbacks) {
  auto const& choice = run.device;
  if (!choice.backend) {
    auto const devices = Device::available();
    if (auto const gpus = static_cast<int>(devices.size()) - 1; gpus > 0)
      return devices[static_cast<std::size_t>(1 + ordinal_of_rank(gpus))];
    fallbacks.push_back("device: auto took the cpu (" + Device::cuda_unavailable_reason() + ")");
    return devices[0];
  }
  try {
    bool const any = *choice.backend == Backend::cuda && !choice.has_ordinal;
    return any ? gpu_of_rank() : Device::open(*choice.backend, choice.ordinal);
  } catch (Error const& error) {
    throw ConfigError({run.problem(
        run.location("device"), fmt::format("{}; 'auto' or 'cpu' run on the host", error.what()))});
  }
}

namespace {

/// Why the formulas of a run cannot be compiled on a device; empty when they can.
std::string compiler_refusal(Device const& device) {
  try {
    Stream stream(device);
    evaluate::Program(stream, expression::Expression::parse("x"), "compiled");
  } catch (RuntimeCompilerMissing const& missing) {
    return missing.what();
  }
  return {};
}

std::vector<Problem> variant_problems(config::RunConfig const& run, Device const& device) {
  std::vector<Problem> problems;
  for (auto const& family : kernel_families()) {
    auto const chosen = run.kernels.find(family.name);
    if (chosen == run.kernels.end() || chosen->second == "auto") continue;
    std::vector<std::string_view> usable;
    std::string needs;
    for (auto const& row : family.rows) {
      if (row.backend != device.backend() || !row.in_build) continue;
      auto const lacking = missing(device.capabilities(), row.needs);
      if (device.backend() == Backend::cpu || lacking.empty())
        usable.push_back(row.name);
      else if (row.name == chosen->second)
        needs = fmt::format("needs {}; ", lacking);
    }
    auto const location = run.location(fmt::format("kernels.{}", family.name));
    if (std::find(usable.begin(), usable.end(), chosen->second) == usable.end())
      problems.push_back(run.problem(
          location, fmt::format("'{}' does not run on this device ({}{} has {})", chosen->second,
                                needs, name_of(device.backend()), format_choices(usable))));
    else if (auto const lack = chosen->second == "compiled" ? compiler_refusal(device) : "";
             !lack.empty())
      problems.push_back(
          run.problem(location, fmt::format("'compiled' cannot be used ({})", lack)));
    else if (auto const why = diagnostics_refusal(family.name, chosen->second, device);
             !why.empty())
      problems.push_back(run.problem(
          location, fmt::format("'{}' cannot serve the diagnostics ({})", chosen->second, why)));
  }
  return problems;
}

/// A cell of the grid, or what stands at that place of an array without one: `[3][5]`.
std::string format_place(config::RunConfig const& run, config::FieldSource const& source,
                         std::vector<std::int64_t> place, std::int64_t index) {
  if (run.has_grid)
    return fmt::format(
        "cell ({}){}", fmt::join(run.grid.indices(index / source.numbers), ", "),
        source.numbers > 1 ? fmt::format(", component {}", index % source.numbers) : "");
  for (auto& extent : std::views::reverse(place)) {
    std::int64_t const lines = index / extent;
    extent = index % extent;
    index = lines;
  }
  return format_shape(place);
}

/// Throws `IoError` where the file is not as it was when it was first looked into.
void require_seen(config::FieldSource const& source) {
  auto& seen = *source.seen;
  FileStamp const now = stamp_of(source.file);
  if (!seen) seen = now;
  require_same(source.file, *seen, now);
}

io::RawLayout layout_of(config::RawOptions const& raw) {
  auto type = number_type_called(raw.type).value();
  bool const big = raw.byte_order == "big";
  type.swapped = type.bytes > 1 && big != (std::endian::native == std::endian::big);
  return {type, raw.shape, raw.offset, raw.rest};
}

std::vector<std::int64_t> shape_of(config::RunConfig const& run,
                                   config::FieldSource const& source) {
  require_seen(source);
  switch (source.format()) {
    case config::FileFormat::result:
      return result_shape(run, source);
    case config::FileFormat::matrix_market: {
      auto const shape = io::inspect_matrix_market(source.file);
      return {shape.begin(), shape.end()};
    }
    case config::FileFormat::npy:
      return io::open_npy(source.file)->shape();
    case config::FileFormat::raw:
      return io::open_raw(source.file, layout_of(source.raw))->shape();
    case config::FileFormat::hdf5:
      break;
  }
  auto const info = io::inspect_dataset(source.file, source.dataset);
  if (info.numeric) return info.shape;
  throw IoError(source.file, fmt::format("dataset '{}' holds {} (numbers are needed)",
                                         source.dataset, info.type));
}

std::optional<SparseExtents> sparse_extents_of(config::FieldSource const& source) {
  require_seen(source);
  if (source.format() == config::FileFormat::matrix_market) {
    if (!io::is_coordinate_file(source.file)) return std::nullopt;
    return io::inspect_coordinate_file(source.file);
  }
  if (source.format() != config::FileFormat::hdf5 || !io::is_group(source.file, source.dataset))
    return std::nullopt;
  return io::inspect_csr_group(source.file, source.dataset);
}

std::unique_ptr<NumberSource> open_file(config::FieldSource const& source) {
  require_seen(source);
  switch (source.format()) {
    case config::FileFormat::result:
      return open_result(source);
    case config::FileFormat::matrix_market:
      return io::open_matrix_market(source.file);
    case config::FileFormat::npy:
      return io::open_npy(source.file);
    case config::FileFormat::raw:
      return io::open_raw(source.file, layout_of(source.raw));
    case config::FileFormat::hdf5:
      break;
  }
  return io::open_dataset(source.file, source.dataset);
}

/// What a file has wrong is wrong at the place of the config that names it.
template <class Use>
auto located(config::RunConfig const& run, config::FieldSource const& source, Use const& use) {
  try {
    return use();
  } catch (IoError const& error) {
    throw ConfigError({run.problem(source.location, error.what())});
  }
}

void require_foreign(config::RunConfig const& run, config::FieldSource const& source) {
  if (OutputPaths(run).owns(source.file))
    throw ConfigError({run.problem(
        source.location, fmt::format("{} is written by this very run, which would destroy what "
                                     "it begins with; give another name or output.directory",
                                     source.file.string()))});
}

/// A file's numbers, with `ConfigError` for what it has wrong.
class LocatedNumbers final : public NumberSource {
 public:
  LocatedNumbers(config::RunConfig const& run, config::FieldSource const& source)
      : run_(run),
        source_(source),
        numbers_(located(run, source, [&] { return open_file(source); })) {}

  NumberType type() const override { return numbers_->type(); }
  std::vector<std::int64_t> const& shape() const override { return numbers_->shape(); }
  std::optional<StoredOrder> order() const override { return numbers_->order(); }
  std::int64_t granule() const override { return numbers_->granule(); }
  std::size_t unpacking_bytes(int threads) const override {
    return numbers_->unpacking_bytes(threads);
  }
  void read(std::int64_t first, std::int64_t count, void* target) const override {
    located(run_, source_, [&] { numbers_->read(first, count, target); });
  }
  void read_stored(std::int64_t first, std::int64_t count, void* target) const override {
    located(run_, source_, [&] { numbers_->read_stored(first, count, target); });
  }
  void check_unchanged() const override {
    located(run_, source_, [&] {
      numbers_->check_unchanged();
      require_seen(source_);
    });
  }

 private:
  config::RunConfig const& run_;
  config::FieldSource source_;
  std::unique_ptr<NumberSource> numbers_;
};

/// What the grid says of the initial datasets' shapes.
std::vector<Problem> dataset_problems(config::RunConfig const& run, Inputs const& inputs) {
  std::vector<Problem> problems;
  for (auto const& [name, source] : run.initial) {
    try {
      auto const fault = shape_fault(run, source, inputs);
      if (!fault.empty()) problems.push_back(run.problem(source.location, fault));
    } catch (ConfigError const& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  return problems;
}

/// Whether a reference is what the run writes. A folder stands for the result in it.
bool is_own_result(OutputPaths const& paths, fs::path const& reference) {
  std::error_code none;
  if (paths.owns(reference) || fs::equivalent(reference, paths.directory, none)) return true;
  return std::ranges::any_of(fs::directory_iterator(reference, none), [&](auto const& entry) {
    return entry.path().extension() == ".h5" && paths.owns(entry.path());
  });
}

/// A run that writes over its config, or is compared with itself.
std::vector<Problem> own_output_problems(config::RunConfig const& run) {
  std::vector<Problem> problems;
  OutputPaths const paths(run);
  if (paths.owns(run.file))
    problems.push_back(
        run.problem(run.location("output.directory"), "the run would write over its own config"));
  if (!run.verify.reference.empty() && is_own_result(paths, run.verify.reference))
    problems.push_back(
        run.problem(run.location("verify.reference"),
                    fmt::format("{} is what this very run writes, and always equal to it",
                                run.verify.reference.string())));
  return problems;
}

}  // namespace

Inputs inputs_of(config::RunConfig const& run) {
  auto const shape = [&run](config::FieldSource const& source) {
    require_foreign(run, source);
    return located(run, source, [&] { return shape_of(run, source); });
  };
  auto const open = [&run](config::FieldSource const& source) -> std::unique_ptr<NumberSource> {
    require_foreign(run, source);
    return std::make_unique<LocatedNumbers>(run, source);
  };
  auto const refuse = [&run, shape](config::FieldSource const& source, std::int64_t place,
                                    double value) {
    std::string const why = !std::isfinite(value)
                                ? "all values have to be finite"
                                : fmt::format("{} does not reach {}", name_of(run.precision),
                                              source.squares ? "its square" : "that far");
    throw ConfigError({run.problem(
        source.location, fmt::format("{} has {} at {} ({})", describe(source), value,
                                     format_place(run, source, shape(source), place), why))});
  };
  auto const sparse_extents = [&run](config::FieldSource const& source) {
    require_foreign(run, source);
    return located(run, source, [&] { return sparse_extents_of(source); });
  };
  auto const read_sparse = [&run](config::FieldSource const& source) {
    return located(run, source, [&] {
      require_seen(source);
      auto matrix = source.format() == config::FileFormat::matrix_market
                        ? io::read_coordinate_file(source.file)
                        : io::read_csr_group(source.file, source.dataset);
      require_seen(source);
      return matrix;
    });
  };
  auto const places = [&run](config::FieldSource const& source) {
    if (source.format() != config::FileFormat::result)
      return std::vector<std::optional<AxisPlaces>>();
    return located(run, source, [&] { return result_places(source); });
  };
  return {shape, open, refuse, sparse_extents, read_sparse, io::open_places, places};
}

namespace {

std::string simulations_for_ranks() {
  std::vector<std::string_view> names;
  for (auto const& entry : simulation_entries())
    if (entry.info.takes_ranks) names.push_back(entry.info.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void check_on_device(config::RunConfig const& run, Device const& device) {
  auto const& entry = entry_of(run);
  auto const inputs = inputs_of(run);
  auto problems = variant_problems(run, device);
  if (auto const wanted = run.wanted_ranks(); wanted && *wanted != run.ranks)
    problems.push_back(run.problem(
        run.location("ranks"),
        fmt::format("the run is for {} processes, and there {} (`run --ranks` starts them)",
                    *wanted, run.ranks == 1 ? "is 1" : fmt::format("are {}", run.ranks))));
  if (run.ranks > 1 && !entry.info.takes_ranks)
    problems.push_back(
        run.problem(run.location("simulation"),
                    fmt::format("{} is not computed by several ranks (there are {}; {} are)",
                                run.simulation->name, run.ranks, simulations_for_ranks())));
  auto const append = [&](std::vector<Problem> const& more) {
    problems.insert(problems.end(), more.begin(), more.end());
  };
  append(dataset_problems(run, inputs));
  append(own_output_problems(run));
  if (entry.problems) append(entry.problems(run, inputs));
  if (problems.empty()) append(variant_problems(entry, run, inputs, device));
  if (!problems.empty()) throw ConfigError(problems);
}

namespace {

/// What keeps results from being written where the config says.
std::vector<Problem> place_problems(config::RunConfig const& run) {
  OutputPaths const paths(run);
  std::vector<Problem> problems;
  auto const fault = [&](fs::path const& path, std::string_view why) {
    problems.push_back(
        run.problem(run.location("output.directory"), fmt::format("'{}' {}", path.string(), why)));
  };
  std::error_code error;
  if (auto const why = folder_fault(paths.directory); !why.empty())
    problems.push_back(run.problem(run.location("output.directory"), why));
  std::vector<fs::path> files;
  for (FormatRow const& row : format_rows()) files.push_back(paths.file(row.file));
  files.push_back(paths.log);
  for (fs::path const& file : files) {
    if (!fs::exists(file, error)) continue;
    if (!fs::is_regular_file(file, error))
      fault(file, "is in the way (it is not a file)");
    else if (access(file.c_str(), W_OK) != 0)
      fault(file, fmt::format("cannot be written to ({})", std::strerror(errno)));
  }
  return problems;
}

}  // namespace

Checked check_before_run(config::RunConfig const& run, Stream& stream) {
  Device const& device = stream.device();
  Checked checked = {.inputs = inputs_of(run)};
  // A grid of which not one field fits has too many points to look at.
  double const field =
      static_cast<double>(run.grid.size()) * static_cast<double>(size_of(run.precision));
  if (run.has_grid && field > static_cast<double>(device.free_memory())) {
    if (auto problems = variant_problems(run, device); !problems.empty())
      throw ConfigError(problems);
    forecast(run, device);
  }
  check_on_device(run, device);
  if (auto problems = place_problems(run); !problems.empty()) throw ConfigError(problems);
  checked.expected = forecast(run, stream, checked.inputs, checked.simulation);
  if (auto problems = formula_problems(run, stream); !problems.empty()) throw ConfigError(problems);
  return checked;
}

std::unique_ptr<Simulation> take_simulation(config::RunConfig const& run, Stream const& stream,
                                            Checked& checked) {
  if (checked.simulation) return std::move(checked.simulation);
  return entry_of(run).make(run, stream, checked.inputs);
}

void check_start(config::RunConfig const& run, Stream& stream, Checked checked) {
  if (run.ranks > 1) return;  // all of them make the simulation, when it runs
  auto const simulation = take_simulation(run, stream, checked);
  if (run.simulation->has_time) require_finite_start(run, *simulation, stream);
}

std::vector<std::string> understood(config::RunConfig const& run, Device const& device) {
  auto const report = entry_of(run).report;
  return report ? report(run, inputs_of(run), device) : std::vector<std::string>();
}

namespace {

/// Whether points are the same ones, as `compare` takes them.
bool is_same_grid(Grid const& a, Grid const& b) {
  bool same = a.dims == b.dims && a.points == b.points;
  for (int axis = 0; same && axis < a.dims; ++axis)
    same = nearly_equal(a.origin[axis], b.origin[axis]) &&
           nearly_equal(a.spacing[axis], b.spacing[axis]);
  return same;
}

}  // namespace

void check_reference(config::RunConfig const& run) {
  auto const& path = run.verify.reference;
  if (path.empty()) return;
  auto const refuse = [&](std::string message) {
    throw ConfigError({run.problem(run.location("verify.reference"), std::move(message))});
  };
  std::error_code error;
  if (!fs::exists(path, error))
    refuse(fmt::format("there is no file {} (`verify --update` stores the run's result there)",
                       path.lexically_normal().string()));
  try {
    io::ResultFile const reference(path);
    Grid const written = written_grid(run);
    if (run.has_grid && !is_same_grid(reference.grid(), written))
      refuse(fmt::format("{} holds a grid of {} points, or other ends (the run {} {})",
                         path.lexically_normal().string(), format_points(reference.grid()),
                         written == run.grid ? "has" : "writes", format_points(written)));
  } catch (IoError const& failed) {
    refuse(failed.what());
  }
}

}  // namespace gridstride
