#include "io/vti.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "config/text_position.hpp"
#include "config/visitor.hpp"
#include "core/error.hpp"
#include "driver/formats/format.hpp"
#include "io/pvd.hpp"

namespace gridstride {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view collection = ".pvd", image = ".vti";

/// VTK counts the points of an axis with 32 bits, and its files are XML.
void check(config::Visitor& visitor, config::RunOptions const& run) {
  auto const& points = run.grid_options.points;
  std::int64_t const most = std::numeric_limits<std::int32_t>::max();
  if (config::find_non_text(run.name))
    visitor.fault("output.formats",
                  "a .pvd cannot hold the name of this file (it is not UTF-8 text)");
  bool const fits = std::ranges::all_of(points, [](auto n) { return n < std::int64_t{1} << 59; });
  if (fits && std::ranges::any_of(points, [most](auto n) { return n > most; }))
    visitor.fault("output.formats",
                  fmt::format("a .vti has at most {} points along an axis ('hdf5' has no such "
                              "limit)",
                              most));
}

class VtiWriter final : public FormatWriter {
 public:
  explicit VtiWriter(WriterSetting const& setting)
      : paths_(setting.paths),
        contents_(setting.contents),
        resumed_(setting.resumed),
        list_(paths_.file(collection)) {
    if (resumed_) find();
  }

  void begin() override {
    if (!resumed_ || !fs::exists(list_)) return;
    std::set<std::string> kept;
    for (auto const& entry : earlier_) kept.insert(entry.file);
    // The others are of a later time, and this run may write fewer.
    series_.emplace(list_, std::move(earlier_));
    for (auto const& path : paths_.all_numbered(image))
      if (!kept.contains(path.filename().string())) remove_earlier(path);
  }

  void remove_stale() override {
    remove_earlier(list_);
    for (auto const& path : paths_.all_numbered(image)) remove_earlier(path);
  }

  void append(Clock const& clock, std::span<Field const> fields, std::span<NamedValue const>,
              std::span<io::Histogram const>) override {
    auto const path =
        paths_.numbered(series_ ? static_cast<std::int64_t>(series_->size()) : 0, image);
    io::write_vti(path, contents_.grid, fields, clock.time, clock.step);
    io::SeriesEntry entry{clock.time, path.filename().string()};
    if (series_)
      series_->append(std::move(entry));
    else
      series_.emplace(list_, std::vector{std::move(entry)});
    ++written_;
  }

  void finish(io::Ending const&) override {
    if (series_) series_->finish();
  }

  std::int64_t files() const override { return written_ + (written_ > 0 ? 1 : 0); }

 private:
  /// What cannot be found again is not begun anew unless the user said so.
  void find() {
    if (fs::exists(list_)) {
      for (double const time : io::read_pvd_times(list_))
        if (time < resumed_->clock.time)
          earlier_.push_back(
              {time, paths_.numbered(std::ssize(earlier_), image).filename().string()});
      if (earlier_.empty()) require_new_series(list_, *resumed_);
      return;
    }
    require_new_series(list_, *resumed_);
    if (auto const images = paths_.all_numbered(image); !images.empty())
      throw IoError(list_, fmt::format("is missing, but not the images that it listed (as {}); "
                                       "move them elsewhere to begin a new series",
                                       images.front().filename().string()));
  }

  OutputPaths const& paths_;
  io::ResultContents const& contents_;
  std::optional<Resumed> const& resumed_;
  fs::path list_;
  std::vector<io::SeriesEntry> earlier_;  ///< the entries to carry over
  std::optional<io::Collection> series_;  ///< once there is an image
  std::int64_t written_ = 0;
};

}  // namespace

FormatRow vti_row() {
  return {.format = {.name = "vti",
                     .documentation = "a VTK image series, for ParaView",
                     .check = check},
          .file = collection,
          .series = image,
          .fields_alone = true,
          .overhead = 4096,  // up to a block of the disk
          .open = [](WriterSetting const& setting) -> std::unique_ptr<FormatWriter> {
            return std::make_unique<VtiWriter>(setting);
          }};
}

}  // namespace gridstride
