#include "io/vti.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/placed_file.hpp"
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

/// The file up to where `offset` counts from.
std::string head_of(Grid const& grid, std::span<FieldInfo const> fields,
                    std::span<std::uint64_t const> offsets, double time, std::int64_t step) {
  std::string const extent =
      fmt::format("0 {} 0 {} 0 {}", grid.points[0] - 1, grid.points[1] - 1, grid.points[2] - 1);
  std::string arrays;
  for (std::size_t i = 0; i < fields.size(); ++i) arrays += array_element(fields[i], offsets[i]);
  std::string head = fmt::format(
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n"
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
      extent, three(grid.origin), three(grid.spacing), format_exact(time), step, arrays);
  // Readers skip the blanks before the mark, from behind which they count.
  head.append(aligned(head.size() + 1 + sizeof(Length)) - sizeof(Length) - 1 - head.size(), ' ');
  return head + '_';
}

class Place final : public FieldSink {
 public:
  Place(PlacedFile const& file, std::uint64_t begin, std::uint64_t bytes)
      : FieldSink(bytes), file_(file), begin_(begin) {}

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    file_.write(begin_ + first_byte, bytes);
  }

  PlacedFile const& file_;
  std::uint64_t begin_;
};

}  // namespace

struct ImageFile::State {
  explicit State(std::filesystem::path const& path)
      : target(path), file(target.temporary(), path, PlacedFile::How::created) {}

  AtomicFile target;
  PlacedFile file;
  std::deque<Place> places;
  std::uint64_t end = 0;  ///< of the arrays
};

ImageFile::ImageFile(std::filesystem::path const& path, Grid const& grid,
                     std::span<FieldInfo const> fields, double time, std::int64_t step) {
  if (std::ranges::max(grid.points) > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument("ImageFile: VTK counts the points of an axis with 32 bits");
  state_ = std::make_unique<State>(path);
  std::vector<std::uint64_t> offsets;
  std::uint64_t next = 0;
  for (FieldInfo const& field : fields) {
    offsets.push_back(next);
    next = aligned(next + sizeof(Length) + bytes_of(field, grid));
  }
  std::string const head = head_of(grid, fields, offsets, time, step);
  auto const& file = state_->file;
  file.write(0, head);
  state_->end = head.size();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Length const bytes = bytes_of(fields[i], grid);
    std::uint64_t const begin = head.size() + offsets[i];
    file.write(begin, std::as_bytes(std::span(&bytes, 1)));
    state_->places.emplace_back(file, begin + sizeof bytes, bytes);
    state_->end = begin + sizeof bytes + bytes;
  }
}

ImageFile::ImageFile(ImageFile&&) noexcept = default;
ImageFile::~ImageFile() = default;

std::vector<FieldSink*> ImageFile::sinks() const {
  std::vector<FieldSink*> all;
  for (Place& place : state_->places) all.push_back(&place);
  return all;
}

void ImageFile::commit() {
  for (Place const& place : state_->places) place.require_whole();
  state_->file.write(state_->end, image_end);
  state_->target.commit();
}

void write_vti(std::filesystem::path const& path, Grid const& grid,
               std::span<Field const> host_fields, double time, std::int64_t step) {
  std::vector<FieldInfo> infos;
  for (Field const& field : host_fields) {
    if (field.grid != grid) throw std::invalid_argument("write_vti: field on another grid");
    infos.push_back({field.name, field.unit, field.precision, field.components});
  }
  ImageFile file(path, grid, infos, time, step);
  auto const sinks = file.sinks();
  for (std::size_t i = 0; i < host_fields.size(); ++i)
    sinks[i]->write(0,
                    {static_cast<std::byte const*>(host_fields[i].data), host_fields[i].bytes()});
  file.commit();
}

}  // namespace gridstride::io
