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

#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
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
  array->SetNumberOfComponents(field.components);
  // VTK takes no const memory; the writer only reads it.
  array->SetArray(static_cast<T*>(const_cast<void*>(field.data)), field.values(), keeps_ownership);
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

/// Why VTK failed. It takes every stream that fails for a full disk, and what it prints tells of
/// its pipeline; the system's own error is more to the point, where there is one.
std::string reason_of(int system_error, unsigned long code, std::string const& message) {
  if (system_error != 0) return std::strerror(system_error);
  auto const start = message.find("): ");
  if (start != std::string::npos)
    return message.substr(start + 3, message.find('\n', start) - start - 3);
  return fmt::format("VTK's error {}", code);
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
  errno = 0;
  bool const written = writer->Write() == 1;
  int const system_error = errno;
  auto const code = writer->GetErrorCode();
  if (written && code == vtkErrorCode::NoError) return;
  throw IoError(
      target, fmt::format("writing failed ({})", reason_of(system_error, code, keeper->message())));
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

}  // namespace gridstride::io
