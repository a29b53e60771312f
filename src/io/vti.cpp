#include "io/vti.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/nearly_equal.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/packing.hpp"
#include "io/placed_file.hpp"
#include "io/result.hpp"
#include "io/xml.hpp"

namespace gridstride::io {

namespace {

/// In front of an array's bytes stands how many there are.
using Length = std::uint64_t;
/// Arrays begin at multiples of a page of memory: the system copies them faster.
constexpr std::uint64_t alignment = 4096;
constexpr std::string_view image_end = "\n  </AppendedData>\n</VTKFile>\n";

std::uint64_t aligned(std::uint64_t place) {
  return (place + alignment - 1) / alignment * alignment;
}

std::uint64_t bytes_of(FieldInfo const& field, Grid const& grid) {
  return static_cast<std::uint64_t>(grid.size() * field.components) * size_of(field.precision);
}

std::string_view type_of(Precision precision) {
  return precision == Precision::float32 ? "Float32" : "Float64";
}

std::string three(std::array<double, 3> const& values) {
  return fmt::format("{} {} {}", format_exact(values[0]), format_exact(values[1]),
                     format_exact(values[2]));
}

std::string extent_of(Grid const& grid) {
  return fmt::format("0 {} 0 {} 0 {}", grid.points[0] - 1, grid.points[1] - 1, grid.points[2] - 1);
}

std::string array_element(FieldInfo const& field, std::uint64_t offset) {
  std::string const components =
      field.components > 1 ? fmt::format(" NumberOfComponents=\"{}\"", field.components) : "";
  std::string const key =
      field.unit.empty()
          ? ""
          : fmt::format(
                "          <InformationKey name=\"UNITS_LABEL\" location=\"vtkDataArray\">"
                "{}</InformationKey>\n",
                xml_escaped(field.unit));
  return fmt::format(
      "        <DataArray type=\"{}\" Name=\"{}\"{} format=\"appended\" offset=\"{}\">\n{}"
      "        </DataArray>\n",
      type_of(field.precision), xml_escaped(field.name), components, offset, key);
}

/// What stands in the file in front of the arrays.
struct Head {
  Grid grid;
  std::vector<FieldInfo> fields;
  double time;
  std::int64_t step;
  bool packed;
};

/// The file up to where `offset` counts from, which has at least so many bytes.
std::string head_of(Head const& contents, std::span<std::uint64_t const> offsets,
                    std::size_t least = 0) {
  auto const& [grid, fields, time, step, packed] = contents;
  std::string const extent = extent_of(grid);
  std::string arrays;
  for (std::size_t i = 0; i < fields.size(); ++i) arrays += array_element(fields[i], offsets[i]);
  std::string head = fmt::format(
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\"{6}>\n"
      "  <ImageData WholeExtent=\"{0}\" Origin=\"{1}\" Spacing=\"{2}\" "
      "Direction=\"1 0 0 0 1 0 0 0 1\">\n"
      "    <FieldData>\n"
      "      <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
      "format=\"ascii\">{3}</DataArray>\n"
      "      <DataArray type=\"Int64\" Name=\"Step\" NumberOfTuples=\"1\" "
      "format=\"ascii\">{4}</DataArray>\n"
      "    </FieldData>\n"
      "    <Piece Extent=\"{0}\">\n"
      "      <PointData>\n{5}      </PointData>\n"
      "      <CellData>\n      </CellData>\n"
      "    </Piece>\n"
      "  </ImageData>\n"
      "  <AppendedData encoding=\"raw\">\n",
      extent, three(grid.origin), three(grid.spacing), format_exact(time), step, arrays,
      packed ? " compressor=\"vtkZLibDataCompressor\"" : "");
  // Readers skip the blanks before the mark, from behind which they count.
  std::size_t const size = aligned(head.size() + 1 + sizeof(Length)) - sizeof(Length);
  head.append(std::max(size, least) - 1 - head.size(), ' ');
  return head + '_';
}

/// An array of a file.
class Place final : public FieldSink {
 public:
  Place(PlacedFile const& file, std::uint64_t begin, std::uint64_t bytes)
      : FieldSink(bytes), file_(file), begin_(begin) {}

  FilePlaces share() override { return file_.places({{0, bytes(), begin_}}); }

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    file_.write(begin_ + first_byte, bytes);
  }

  PlacedFile const& file_;
  std::uint64_t begin_;
};

/// One that is packed, as vtkZLibDataCompressor has it: how many blocks there are, their size, that
/// of the last one if it is shorter, else 0, and how many bytes each has become; behind that, one
/// after the other, the blocks.
class PackedPlace final : public BlockSink {
 public:
  PackedPlace(PlacedFile const& file, std::uint64_t begin, std::uint64_t bytes, int level)
      : BlockSink(bytes, packed_block, bytes), file_(file), begin_(begin), level_(level) {
    header_ = {block_count(), packed_block, bytes % packed_block};
    header_.resize(header_.size() + block_count());
    end_ = begin_ + header_.size() * sizeof(Length);
  }

  std::uint64_t begin() const { return begin_; }
  /// Of what is there once all is written; before that, of the blocks that have a place.
  std::uint64_t size() const { return end_ - begin_; }
  /// The most that it may become.
  static std::uint64_t most(std::uint64_t bytes) {
    std::uint64_t const blocks = bytes / packed_block + 1;
    return (3 + blocks) * sizeof(Length) + bytes + blocks * (packed_block / 1000 + 64);
  }

  void write_header() const { file_.write(begin_, std::as_bytes(std::span(header_))); }

 private:
  struct Packed {
    std::uint64_t place;
    std::vector<std::byte> bytes;
  };

  /// A block has its place once all before it have theirs; until then it waits.
  void take(std::uint64_t block, std::span<std::byte const> bytes) override {
    auto packed = deflated(bytes, level_);
    std::vector<Packed> placed;
    {
      std::lock_guard const lock(mutex_);
      waiting_.emplace(block, std::move(packed));
      for (; !waiting_.empty() && waiting_.begin()->first == next_; ++next_) {
        auto next = waiting_.extract(waiting_.begin());
        std::uint64_t const size = next.mapped().size();
        header_[3 + next_] = size;
        placed.push_back({end_, std::move(next.mapped())});
        end_ += size;
      }
    }
    for (Packed const& one : placed) file_.write(one.place, one.bytes);
  }

  PlacedFile const& file_;
  std::uint64_t begin_;
  int level_;
  std::vector<Length> header_;
  std::mutex mutex_;  // of the header and what follows
  std::uint64_t end_, next_ = 0;
  std::map<std::uint64_t, std::vector<std::byte>> waiting_;
};

}  // namespace

struct ImageFile::State {
  explicit State(std::filesystem::path const& path)
      : target(path), file(target.temporary(), path, PlacedFile::How::created) {}

  void place_arrays();
  void place_packed(int level);
  void finish_packed();

  AtomicFile target;
  PlacedFile file;
  Head head;
  std::uint64_t begin = 0;  ///< of the arrays
  std::deque<Place> places;
  std::deque<PackedPlace> packed;  ///< in place of these
  std::uint64_t end = 0;           ///< of the arrays
};

void ImageFile::State::place_arrays() {
  std::vector<std::uint64_t> offsets;
  std::uint64_t next = 0;
  for (FieldInfo const& field : head.fields) {
    offsets.push_back(next);
    next = aligned(next + sizeof(Length) + bytes_of(field, head.grid));
  }
  std::string const text = head_of(head, offsets);
  file.write(0, text);
  end = begin = text.size();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    Length const bytes = bytes_of(head.fields[i], head.grid);
    file.write(begin + offsets[i], std::as_bytes(std::span(&bytes, 1)));
    places.emplace_back(file, begin + offsets[i] + sizeof bytes, bytes);
    end = begin + offsets[i] + sizeof bytes + bytes;
  }
  file.resize(end);
}

/// Each array begins where those before it end at the latest.
void ImageFile::State::place_packed(int level) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t next = 0;
  for (FieldInfo const& field : head.fields) {
    offsets.push_back(next);
    next += PackedPlace::most(bytes_of(field, head.grid));
  }
  begin = head_of(head, offsets).size();
  for (std::size_t i = 0; i < offsets.size(); ++i)
    packed.emplace_back(file, begin + offsets[i], bytes_of(head.fields[i], head.grid), level);
}

/// Arrays move down to the ends of those before them, and the head tells where they are.
void ImageFile::State::finish_packed() {
  std::vector<std::uint64_t> offsets;
  end = begin;
  for (PackedPlace const& array : packed) {
    array.write_header();
    file.move_down(array.begin(), end, array.size());
    offsets.push_back(end - begin);
    end += array.size();
  }
  file.resize(end);
  file.write(0, head_of(head, offsets, begin));
}

ImageFile::ImageFile(std::filesystem::path const& path, Grid const& grid,
                     std::span<FieldInfo const> fields, double time, std::int64_t step,
                     int compression) {
  if (std::ranges::max(grid.points) > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument("ImageFile: VTK counts the points of an axis with 32 bits");
  state_ = std::make_unique<State>(path);
  state_->head = {grid, {fields.begin(), fields.end()}, time, step, compression > 0};
  if (compression > 0)
    state_->place_packed(compression);
  else
    state_->place_arrays();
}

ImageFile::ImageFile(ImageFile&&) noexcept = default;
ImageFile::~ImageFile() = default;

std::vector<FieldSink*> ImageFile::sinks() const {
  std::vector<FieldSink*> all;
  for (Place& place : state_->places) all.push_back(&place);
  for (PackedPlace& place : state_->packed) all.push_back(&place);
  return all;
}

void ImageFile::commit() {
  for (FieldSink const* place : sinks()) place->require_whole();
  if (state_->head.packed) state_->finish_packed();
  state_->file.write(state_->end, image_end);
  state_->target.commit();
}

void write_vti(std::filesystem::path const& path, Grid const& grid,
               std::span<Field const> host_fields, double time, std::int64_t step,
               int compression) {
  std::vector<FieldInfo> infos;
  for (Field const& field : host_fields) {
    if (field.grid != grid) throw std::invalid_argument("write_vti: field on another grid");
    infos.push_back({field.name, field.unit, field.precision, field.components});
  }
  ImageFile file(path, grid, infos, time, step, compression);
  auto const sinks = file.sinks();
  for (std::size_t i = 0; i < host_fields.size(); ++i)
    sinks[i]->write(0,
                    {static_cast<std::byte const*>(host_fields[i].data), host_fields[i].bytes()});
  file.commit();
}

namespace {

/// The value of the first attribute of that name behind `place`; empty where there is none.
std::string_view attribute_of(std::string_view text, std::string_view name, std::size_t place = 0) {
  std::string const opening = fmt::format(" {}=\"", name);
  std::size_t const found = text.find(opening, place);
  if (found == text.npos) return {};
  std::string_view const value = text.substr(found + opening.size());
  return value.substr(0, value.find('"'));
}

bool are_three(std::string_view text, std::array<double, 3> const& wanted) {
  std::istringstream words{std::string(text)};
  return std::ranges::all_of(wanted, [&](double value) {
    double found = 0;
    return static_cast<bool>(words >> found) && nearly_equal(found, value);
  });
}

}  // namespace

namespace {

std::string head_in(std::filesystem::path const& path) {
  constexpr std::uint64_t longest_head = 1 << 20;
  PlacedFile const file(path, path, PlacedFile::How::read);
  std::string text(std::min(file.size(), longest_head), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  text.resize(std::min(text.size(), text.find("<AppendedData")));
  return text;
}

}  // namespace

void require_like(std::filesystem::path const& path, Grid const& grid,
                  std::span<FieldInfo const> fields) {
  std::string const text = head_in(path);
  std::string_view const head = text;
  bool same = attribute_of(head, "WholeExtent") == extent_of(grid) &&
              are_three(attribute_of(head, "Origin"), grid.origin) &&
              are_three(attribute_of(head, "Spacing"), grid.spacing);
  for (FieldInfo const& field : fields) {
    std::size_t const name = head.find(fmt::format(" Name=\"{}\"", xml_escaped(field.name)));
    if (name == head.npos) continue;
    same = same && attribute_of(head, "type", head.rfind('<', name)) == type_of(field.precision);
  }
  if (!same)
    throw IoError(path,
                  "holds other points, or values of another type, than this run writes "
                  "(output.every_nth_point, output.precision)");
}

std::vector<std::string> names_in_image(std::filesystem::path const& path) {
  std::string const head = head_in(path);
  std::vector<std::string> names;
  std::size_t const end = head.find("</PointData>");
  for (std::size_t at = head.find("<PointData>"); at < end;) {
    at = head.find("<DataArray", at);
    if (at >= end) break;
    names.emplace_back(attribute_of(head, "Name", at));
    ++at;
  }
  std::ranges::sort(names);
  return names;
}

std::optional<std::int64_t> step_in_image(std::filesystem::path const& path) {
  std::string const head = head_in(path);
  auto const begin = head.find('>', head.find(" Name=\"Step\""));
  if (begin == head.npos) return {};
  std::int64_t step = 0;
  auto const read = std::from_chars(head.data() + begin + 1, head.data() + head.size(), step);
  return read.ec == std::errc() ? std::optional(step) : std::nullopt;
}

std::vector<std::string> xml_names(std::span<FieldInfo const> fields) {
  std::vector<std::string> names;
  for (FieldInfo const& field : fields) names.push_back(xml_escaped(field.name));
  std::ranges::sort(names);
  return names;
}

void require_whole(std::filesystem::path const& path) {
  if (!std::filesystem::exists(path))
    throw IoError(path, "of the first part of the run is missing");
  PlacedFile const file(path, path, PlacedFile::How::read);
  std::string end(image_end.size(), '\0');
  bool const is_long_enough = file.size() >= end.size();
  if (is_long_enough) file.read(file.size() - end.size(), std::as_writable_bytes(std::span(end)));
  if (!is_long_enough || end != image_end) throw IoError(path, "has lost its end");
}

}  // namespace gridstride::io
