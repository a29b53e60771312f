#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
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

/// What decides which points and values of its fields a result holds.
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
  [[noreturn]] void refuse_contents(fs::path const& source) const;
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
  earlier_.emplace(source);
  if (earlier_->grid() != contents_.grid ||
      !std::is_permutation(earlier_->fields().begin(), earlier_->fields().end(),
                           contents_.fields.begin(), contents_.fields.end()) ||
      !std::is_permutation(earlier_->tables().begin(), earlier_->tables().end(),
                           contents_.tables.begin(), contents_.tables.end()))
    refuse_contents(source);
  if (earlier_->steps().empty() || earlier_->steps().front() >= resumed_->clock.step)
    require_new_series(source, *resumed_);
  auto const changes = config::describe_changes(
      earlier_->provenance().resolved_config, contents_.provenance.resolved_config, free_to_change);
  if (!changes.empty())
    throw IoError(source, fmt::format("is the result of another problem ({})", changes));
}

void Hdf5Writer::refuse_contents(fs::path const& source) const {
  auto const changes = config::describe_changes(
      earlier_->provenance().resolved_config, contents_.provenance.resolved_config, {}, reduction);
  throw IoError(source,
                changes.empty()
                    ? "holds another grid, other fields or other tables than this run"
                    : fmt::format("holds fields reduced otherwise than this run's ({})", changes));
}

void Hdf5Writer::carry_over() {
  if (earlier_->path() != aside_) {
    fs::rename(earlier_->path(), aside_);
    earlier_.emplace(aside_);  // whose parts are looked up by the name that it was opened by
  }
  auto const& old = *earlier_;
  writer_.emplace(path_, contents_);
  for (std::size_t i = 0; i < old.steps().size() && old.steps()[i] < resumed_->clock.step; ++i) {
    std::vector<NamedValue> diagnostics;
    for (auto const& series : old.diagnostics())
      if (std::count(contents_.diagnostics.begin(), contents_.diagnostics.end(), series.name) > 0)
        diagnostics.push_back({series.name, series.values[i]});
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
    writer_->commit_step(old.steps()[i], old.times()[i], diagnostics,
                         histograms_of(old, i, contents_.histograms), tables);
  }
  earlier_.reset();
  fs::remove(aside_);
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
