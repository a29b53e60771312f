#include "io/vti.hpp"

#include <fmt/format.h>
#include <vtkCommand.h>
#include <vtkDoubleArray.h>
#include <vtkErrorCode.h>
#include <vtkExecutive.h>
#include <vtkFieldData.h>
#include <vtkFloatArray.h>
#include <vtkImageData.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkSmartPointer.h>
#include <vtkTypeInt64Array.h>
#include <vtkXMLImageDataWriter.h>

#include <charconv>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"

namespace gridstride::io {

namespace {

/// Keeps what VTK would print.
class MessageKeeper : public vtkCommand {
 public:
  static MessageKeeper* New() { return new MessageKeeper; }
  void Execute(vtkObject*, unsigned long, void* text) override {
    if (text != nullptr && message_.empty()) message_ = static_cast<char const*>(text);
  }
  std::string const& message() const { return message_; }

 private:
  std::string message_;
};

template <class Array, class T>
vtkSmartPointer<vtkDataArray> view_of(Field const& field) {
  auto array = vtkSmartPointer<Array>::New();
  constexpr int keeps_ownership = 1;
  // VTK takes no const memory; the writer only reads it.
  array->SetArray(static_cast<T*>(const_cast<void*>(field.data)), field.grid.size(),
                  keeps_ownership);
  return array;
}

void add_field(vtkImageData& image, Field const& field) {
  auto const array = field.precision == Precision::float32 ? view_of<vtkFloatArray, float>(field)
                                                           : view_of<vtkDoubleArray, double>(field);
  array->SetName(field.name.c_str());
  if (!field.unit.empty())
    array->GetInformation()->Set(vtkDataArray::UNITS_LABEL(), field.unit.c_str());
  image.GetPointData()->AddArray(array);
}

template <class Array, class T>
void add_value(vtkImageData& image, char const* name, T value) {
  vtkNew<Array> array;
  array->SetName(name);
  array->InsertNextValue(value);
  image.GetFieldData()->AddArray(array);
}

void shape_image(vtkImageData& image, Grid const& grid) {
  int extent[6] = {};
  for (int axis = 0; axis < 3; ++axis) {
    if (grid.points[axis] > std::numeric_limits<int>::max())
      throw std::invalid_argument("write_vti: VTK counts the points of an axis with 32 bits");
    extent[2 * axis + 1] = static_cast<int>(grid.points[axis] - 1);
  }
  image.SetExtent(extent);
  image.SetOrigin(grid.origin.data());
  image.SetSpacing(grid.spacing.data());
}

void write_image(vtkImageData& image, std::filesystem::path const& temporary,
                 std::filesystem::path const& target) {
  vtkNew<vtkXMLImageDataWriter> writer;
  vtkNew<MessageKeeper> keeper;
  writer->AddObserver(vtkCommand::ErrorEvent, keeper);
  writer->AddObserver(vtkCommand::WarningEvent, keeper);
  writer->GetExecutive()->AddObserver(vtkCommand::ErrorEvent, keeper);
  writer->SetFileName(temporary.c_str());
  writer->SetInputData(&image);
  writer->SetDataModeToAppended();
  writer->EncodeAppendedDataOff();
  writer->SetCompressorTypeToNone();
  writer->SetHeaderTypeToUInt64();
  bool const written = writer->Write() == 1;
  auto const code = writer->GetErrorCode();
  if (written && code == vtkErrorCode::NoError) return;
  std::string reason = keeper->message();
  if (code == vtkErrorCode::OutOfDiskSpaceError) reason = "the disk is full";
  throw IoError(target, fmt::format("VTK could not write it ({})",
                                    reason.empty() ? fmt::format("error {}", code) : reason));
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (char const letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

}  // namespace

void write_vti(std::filesystem::path const& path, Grid const& grid,
               std::span<Field const> host_fields, double time, std::int64_t step) {
  vtkNew<vtkImageData> image;
  shape_image(*image, grid);
  std::uintmax_t payload = 0;
  for (auto const& field : host_fields) {
    if (field.grid != grid) throw std::invalid_argument("write_vti: field on another grid");
    add_field(*image, field);
    payload += field.bytes();
  }
  add_value<vtkDoubleArray>(*image, "TimeValue", time);
  add_value<vtkTypeInt64Array>(*image, "Step", step);

  AtomicFile file(path);
  write_image(*image, file.temporary(), path);
  std::error_code error;
  auto const size = std::filesystem::file_size(file.temporary(), error);
  if (error || size < payload)
    throw IoError(path, fmt::format("only {} of {} reached the disk",
                                    format_bytes(error ? 0 : static_cast<double>(size)),
                                    format_bytes(static_cast<double>(payload))));
  file.commit();
}

void write_pvd(std::filesystem::path const& path, std::span<SeriesEntry const> entries) {
  std::string text =
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
      "  <Collection>\n";
  for (auto const& entry : entries)
    text += fmt::format("    <DataSet timestep=\"{}\" group=\"\" part=\"0\" file=\"{}\"/>\n",
                        format_exact(entry.time), escaped(entry.file));
  text += "  </Collection>\n</VTKFile>\n";
  write_text_file(path, text);
}

std::vector<double> read_pvd_times(std::filesystem::path const& path) {
  std::ifstream file(path);
  if (!file) throw IoError(path, "cannot be read");
  constexpr std::string_view key = "timestep=\"";
  std::vector<double> times;
  bool ended = false;
  for (std::string line; std::getline(file, line);) {
    ended = ended || line == "</VTKFile>";
    auto const at = line.find(key);
    if (at == std::string::npos) continue;
    char const* const first = line.data() + at + key.size();
    auto const [last, fault] =
        std::from_chars(first, line.data() + line.size(), times.emplace_back());
    if (fault != std::errc{} || *last != '"') throw IoError(path, "has a faulty time: " + line);
  }
  if (!ended) throw IoError(path, "is not a collection that gridstride wrote, or is cut off");
  return times;
}

}  // namespace gridstride::io
