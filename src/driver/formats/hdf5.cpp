#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "config/changes.hpp"
#include "core/error.hpp"
#include "driver/formats/format.hpp"
#include "io/result.hpp"
#include "kernels/convert/convert.hpp"

namespace gridstride {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view result = ".h5", previous = ".h5.previous";

/// What may differ between two parts of a run; variants of kernels are the checkpoint's affair.
constexpr std::array<std::string_view, 10> free_to_change = {
    "device",      "time.end", "stop",    "output", "checkpoint",
    "diagnostics", "verify",   "kernels", "limits", "ranks"};

/// What decides which fields a result holds, and which points and values of them.
constexpr std::array<std::string_view, 2> choice = {"output.fields", "output.derived"};
constexpr std::array<std::string_view, 2> reduction = {"output.precision",
                                                       "output.every_nth_point"};

/// Moves a field of another file, a part at a time.
template <class T>
void carry_field(NumberSource const& from, FieldSink& to) {
  constexpr std::int64_t most = (std::int64_t{8} << 20) / static_cast<std::int64_t>(sizeof(T));
  Stream host(Device::open(Backend::cpu));
  std::int64_t const granule = from.granule(), all = from.size();
  std::int64_t const part = std::min(all, std::max(granule, most / granule * granule));
  auto const width = static_cast<std::size_t>(from.type().bytes);
  std::vector<std::byte> stored(static_cast<std::size_t>(part) * width);
  std::vector<T> values(static_cast<std::size_t>(part));
  std::int64_t ignored = convert::all_finite;  // values may be missing
  for (std::int64_t first = 0; first < all; first += part) {
    auto const count = static_cast<std::size_t>(std::min(part, all - first));
    from.read(first, static_cast<std::int64_t>(count), stored.data());
    auto const target = std::span(values).first(count);
    convert::convert<T>(host, {std::span(stored).first(count * width), from.type()}, target,
                        std::span(&ignored, 1));
    to.write(static_cast<std::uint64_t>(first) * sizeof(T), std::as_bytes(target));
  }
  from.check_unchanged();
}

/// The name that a config gives to a number, which may be that or a coordinate of an extreme.
std::string_view given_name(std::string_view number) {
  auto const dot = number.rfind('.');
  bool const is_coordinate =
      dot != number.npos && std::ranges::count(axis_names, number.substr(dot + 1)) > 0;
  return number.substr(0, is_coordinate ? dot : number.npos);
}

/// What a result holds of one step's diagnostics, as far as they mean the same now.
std::vector<NamedValue> diagnostics_of(io::ResultFile const& file, std::size_t step,
                                       std::vector<std::string> const& wanted,
                                       std::set<std::string, std::less<>> const& others) {
  std::vector<NamedValue> found;
  for (auto const& series : file.diagnostics())
    if (std::count(wanted.begin(), wanted.end(), series.name) > 0 &&
        !others.contains(given_name(series.name)))
      found.push_back({series.name, series.values[step]});
  return found;
}

/// What a result holds of one step's histograms, as far as it has them with as many bins.
std::vector<Histogram> histograms_of(io::ResultFile const& file, std::size_t step,
                                     std::vector<io::HistogramInfo> const& wanted) {
  std::vector<Histogram> found;
  for (auto const& info : wanted)
    if (std::count(file.histograms().begin(), file.histograms().end(), info) > 0)
      found.push_back(file.read_histogram(info.name, step));
  return found;
}

class Hdf5Writer final : public FormatWriter {
 public:
  explicit Hdf5Writer(WriterSetting const& setting)
      : contents_(setting.contents),
        resumed_(setting.resumed),
        path_(setting.paths.file(result)),
        aside_(setting.paths.file(previous)) {
    if (resumed_) find();
  }

  void begin() override {
    if (earlier_) carry_over();
    if (!writer_) writer_.emplace(path_, contents_);
    if (resumed_) remove_earlier(aside_);
  }

  void remove_stale() override { remove_earlier(aside_); }

  std::vector<FieldSink*> begin_step(Clock const&) override { return writer_->begin_step(); }

  void commit_step(Clock const& clock, std::span<NamedValue const> values,
                   std::span<Histogram const> histograms, std::span<Table const> tables) override {
    writer_->commit_step(clock.step, clock.time, values, histograms, tables);
  }

  void finish(io::Ending const& ending) override { writer_->finish(ending); }
  void stop(std::string const& why) override { writer_->stop(why); }
  std::int64_t files() const override { return 1; }

 private:
  void find();
  bool is_before(std::size_t output) const;
  std::string difference() const;
  void carry_over();

  io::ResultContents const& contents_;
  std::optional<Resumed> const& resumed_;
  fs::path path_;
  fs::path aside_;  ///< where a result goes while a restart carries over what it holds
  std::optional<io::ResultFile> earlier_;  ///< the result to carry over
  std::optional<io::ResultWriter> writer_;
};

void Hdf5Writer::find() {
  // A restart that was killed while it carried over has left the whole of it aside.
  fs::path const source = fs::exists(aside_) ? aside_ : path_;
  if (!fs::exists(source)) return require_new_series(path_, *resumed_);
  if (!read_or_begin_anew(source, *resumed_, [&] { earlier_.emplace(source); })) return;
  auto const changes = config::describe_changes(
      earlier_->provenance().resolved_config, contents_.provenance.resolved_config, free_to_change);
  if (!changes.empty())
    throw IoError(source, fmt::format("is the result of another problem ({})", changes));
  if (earlier_->steps().empty() || !is_before(0)) return require_new_series(source, *resumed_);
  if (auto const why = difference(); !why.empty()) {
    begin_anew(source, why, *resumed_);
    earlier_.reset();
  }
}

/// Whether an output of the result is of before the moment that the run goes on from.
bool Hdf5Writer::is_before(std::size_t output) const {
  return earlier_->steps()[output] < resumed_->clock.step &&
         earlier_->times()[output] < resumed_->clock.time;
}

/// Why what the result holds cannot stand beside what this run writes; empty where it can.
std::string Hdf5Writer::difference() const {
  auto const& before = earlier_->provenance().resolved_config;
  auto const& after = contents_.provenance.resolved_config;
  if (auto const formulas = config::describe_other_formulas(before, after); !formulas.empty())
    return fmt::format("holds fields of other formulas than this run's ({})", formulas);
  if (earlier_->grid() == contents_.grid &&
      std::is_permutation(earlier_->fields().begin(), earlier_->fields().end(),
                          contents_.fields.begin(), contents_.fields.end()) &&
      std::is_permutation(earlier_->tables().begin(), earlier_->tables().end(),
                          contents_.tables.begin(), contents_.tables.end()))
    return {};
  auto const reduced = config::describe_changes(before, after, {}, reduction);
  if (!reduced.empty())
    return fmt::format("holds fields reduced otherwise than this run's ({})", reduced);
  auto const chosen = config::describe_changes(before, after, {}, choice);
  if (!chosen.empty()) return fmt::format("holds other fields than this run writes ({})", chosen);
  return "holds another grid, other fields or other tables than this run";
}

void Hdf5Writer::carry_over() {
  if (earlier_->path() != aside_) {
    fs::rename(earlier_->path(), aside_);
    earlier_.emplace(aside_);  // whose parts are looked up by the name that it was opened by
  }
  auto const& old = *earlier_;
  auto const others =
      config::other_numbers(old.provenance().resolved_config, contents_.provenance.resolved_config);
  writer_.emplace(path_, contents_);
  for (std::size_t i = 0; i < old.steps().size() && is_before(i); ++i) {
    auto const sinks = writer_->begin_step();
    for (std::size_t f = 0; f < sinks.size(); ++f) {
      auto const& info = contents_.fields[f];
      auto const from = old.open(info.name, i);
      if (info.precision == Precision::float32)
        carry_field<float>(*from, *sinks[f]);
      else
        carry_field<double>(*from, *sinks[f]);
    }
    std::vector<Table> tables;
    for (auto const& info : contents_.tables) tables.push_back(old.read_table(info.name, i));
    writer_->commit_step(old.steps()[i], old.times()[i],
                         diagnostics_of(old, i, contents_.diagnostics, others),
                         histograms_of(old, i, contents_.histograms), tables);
  }
  earlier_.reset();
}

}  // namespace

FormatRow hdf5_row() {
  return {.format = {.name = "hdf5",
                     .documentation = "one VTKHDF file, which ParaView 5.12 and h5py open"},
          .file = result,
          .aside = previous,
          .overhead = 512,  // the record of a step
          .open = [](WriterSetting const& setting) -> std::unique_ptr<FormatWriter> {
            return std::make_unique<Hdf5Writer>(setting);
          }};
}

}  // namespace gridstride
