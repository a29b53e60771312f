#include "io/vti.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "config/changes.hpp"
#include "config/text_position.hpp"
#include "config/visitor.hpp"
#include "core/error.hpp"
#include "driver/formats/format.hpp"
#include "driver/run_log.hpp"
#include "io/pvd.hpp"

namespace gridstride {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view collection = ".pvd", image = ".vti";

/// VTK counts the points of an axis with 32 bits.
constexpr std::int64_t most_points = std::numeric_limits<std::int32_t>::max();

std::string too_many_points() {
  return fmt::format("a .vti has at most {} points along an axis ('hdf5' has no such limit)",
                     most_points);
}

/// Of the file's name too, since the .pvd is XML.
void check(config::Visitor& visitor, config::RunOptions const& run) {
  auto const& points = run.grid_options.points;
  if (config::find_non_text(run.name))
    visitor.fault("output.formats",
                  "a .pvd cannot hold the name of this file (it is not UTF-8 text)");
  bool const fits = std::ranges::all_of(points, [](auto n) { return n < std::int64_t{1} << 59; });
  if (fits && std::ranges::any_of(points, [](auto n) { return n > most_points; }))
    visitor.fault("output.formats", too_many_points());
}

/// One collection with its images, of fields on one grid.
class ImageSeries {
 public:
  ImageSeries(OutputPaths paths, WriterSetting const& setting, Grid grid,
              std::vector<io::FieldInfo> fields)
      : paths_(std::move(paths)),
        resumed_(setting.resumed),
        resolved_(setting.contents.provenance.resolved_config),
        grid_(std::move(grid)),
        fields_(std::move(fields)),
        compression_(setting.contents.compression),
        list_(paths_.file(collection)) {
    if (resumed_) find();
  }

  void begin() {
    if (!resumed_ || !fs::exists(list_)) return;
    std::set<std::string> kept;
    for (auto const& entry : earlier_) kept.insert(entry.file);
    // The others are of a later time, and this run may write fewer.
    series_.emplace(list_, std::move(earlier_));
    for (auto const& path : paths_.all_numbered(image))
      if (!kept.contains(path.filename().string())) remove_earlier(path);
  }

  std::vector<FieldSink*> begin_step(Clock const& clock) {
    path_ = paths_.numbered(series_ ? static_cast<std::int64_t>(series_->size()) : 0, image);
    image_.emplace(path_, grid_, fields_, clock.time, clock.step, compression_);
    return image_->sinks();
  }

  void commit_step(Clock const& clock) {
    image_->commit();
    image_.reset();
    io::SeriesEntry entry{clock.time, path_.filename().string()};
    if (series_)
      series_->append(std::move(entry));
    else
      series_.emplace(list_, std::vector{std::move(entry)});
    ++written_;
  }

  void finish() {
    if (series_) series_->finish();
  }

  std::int64_t files() const { return written_ + (written_ > 0 ? 1 : 0); }

 private:
  /// What cannot be found again is not begun anew unless the user said so.
  void find() {
    if (!fs::exists(list_)) return find_no_list();
    std::vector<double> times;
    if (!read_or_begin_anew(list_, *resumed_, [&] { times = io::read_pvd_times(list_); })) return;
    for (double const time : times) {
      if (time >= resumed_->clock.time) break;
      earlier_.push_back({time, paths_.numbered(std::ssize(earlier_), image).filename().string()});
    }
    if (!std::ranges::all_of(earlier_, [this](auto const& entry) { return is_whole(entry); }))
      return earlier_.clear();
    while (!earlier_.empty() && is_of_later_step(earlier_.back())) earlier_.pop_back();
    if (earlier_.empty()) return require_new_series(list_, *resumed_);
    if (!can_stand_beside(list_.parent_path() / earlier_.back().file)) earlier_.clear();
  }

  /// To the same time there may have been more steps, as other outputs make them.
  bool is_of_later_step(io::SeriesEntry const& entry) const {
    return io::step_in_image(list_.parent_path() / entry.file) >= resumed_->clock.step;
  }

  void find_no_list() const {
    require_new_series(list_, *resumed_);
    if (auto const images = paths_.all_numbered(image); !images.empty())
      throw IoError(list_, fmt::format("is missing, but not the images that it listed (as {}); "
                                       "move them elsewhere to begin a new series",
                                       images.front().filename().string()));
  }

  bool is_whole(io::SeriesEntry const& entry) const {
    auto const path = list_.parent_path() / entry.file;
    return read_or_begin_anew(
        path, *resumed_, [&] { io::require_whole(path); }, list_.filename().string());
  }

  /// Whether the images to come hold what the last one does. Formulas are in no image, but in the log.
  bool can_stand_beside(fs::path const& last) const {
    return read_or_begin_anew(
        last, *resumed_, [&] { require_same(last); }, list_.filename().string());
  }

  void require_same(fs::path const& last) const {
    io::require_like(last, grid_, fields_);
    if (auto const names = io::names_in_image(last); names != io::xml_names(fields_))
      throw IoError(last,
                    fmt::format("holds other fields ({}) than this run writes ({}; "
                                "output.fields, output.derived)",
                                fmt::join(names, ", "), fmt::join(io::xml_names(fields_), ", ")));
    auto const before = read_last_run(paths_.log);
    auto const formulas =
        before ? config::describe_other_formulas(before->config, resolved_) : std::string();
    if (!formulas.empty())
      throw IoError(last,
                    fmt::format("holds fields of other formulas than this run's ({})", formulas));
  }

  OutputPaths paths_;
  std::optional<Resumed> const& resumed_;
  std::string const& resolved_;  ///< the config of this part of the run
  Grid grid_;
  std::vector<io::FieldInfo> fields_;
  int compression_;
  fs::path list_;
  std::vector<io::SeriesEntry> earlier_;  ///< the entries to carry over
  std::optional<io::Collection> series_;  ///< once there is an image
  fs::path path_;                         ///< of the image that is being written
  std::optional<io::ImageFile> image_;    ///< that one
  std::int64_t written_ = 0;
};

void remove_series(OutputPaths const& paths) {
  remove_earlier(paths.file(collection));
  for (auto const& path : paths.all_numbered(image)) remove_earlier(path);
}

/// A series of the fields on the result's grid, and one for each field on a grid of its own.
class VtiWriter final : public FormatWriter {
 public:
  explicit VtiWriter(WriterSetting const& setting)
      : paths_(setting.paths), count_(setting.contents.fields.size()) {
    auto const& infos = setting.contents.fields;
    std::vector<std::size_t> on_grid;
    std::vector<io::FieldInfo> infos_on_grid;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (!infos[i].own_grid) {
        on_grid.push_back(i);
        infos_on_grid.push_back(infos[i]);
        continue;
      }
      auto const paths = paths_.of_field(infos[i].name);
      require_size(paths, *infos[i].own_grid);
      series_.push_back({{i}, {paths, setting, *infos[i].own_grid, {infos[i]}}});
    }
    if (!on_grid.empty())
      series_.push_back({on_grid, {paths_, setting, setting.contents.grid, infos_on_grid}});
  }

  void begin() override {
    for (auto& [fields, images] : series_) images.begin();
  }

  void remove_stale() override {
    remove_series(paths_);
    for (auto const& paths : paths_.of_fields()) remove_series(paths);
  }

  std::vector<FieldSink*> begin_step(Clock const& clock) override {
    std::vector<FieldSink*> all(count_);
    for (auto& [places, images] : series_) {
      auto const sinks = images.begin_step(clock);
      for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = sinks[i];
    }
    return all;
  }

  void commit_step(Clock const& clock, std::span<NamedValue const>, std::span<Histogram const>,
                   std::span<Table const>) override {
    for (auto& series : series_) series.images.commit_step(clock);
  }

  void finish(io::Ending const&) override {
    for (auto& [fields, images] : series_) images.finish();
  }

  std::int64_t files() const override {
    std::int64_t all = 0;
    for (auto const& [fields, images] : series_) all += images.files();
    return all;
  }

 private:
  struct Series {
    std::vector<std::size_t> fields;  ///< their places among those of the contents
    ImageSeries images;
  };

  /// The grid of the file is checked with it.
  static void require_size(OutputPaths const& paths, Grid const& grid) {
    if (std::ranges::any_of(grid.points, [](auto n) { return n > most_points; }))
      throw IoError(paths.file(collection), fmt::format("would list images of {} points, but {}",
                                                        format_points(grid), too_many_points()));
  }

  OutputPaths const& paths_;
  std::size_t count_;  ///< of fields
  std::vector<Series> series_;
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
