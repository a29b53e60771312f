#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/field_sink.hpp"
#include "grid/grid.hpp"
#include "io/result_info.hpp"

namespace gridstride::io {

/// One step as VTK ImageData: appended raw, not compressed, with `TimeValue` and `Step` in the
/// field data. The file is complete or absent; without a commit it is never there. Throws
/// `IoError`.
class ImageFile {
 public:
  ImageFile(std::filesystem::path const& path, Grid const& grid, std::span<FieldInfo const> fields,
            double time, std::int64_t step);
  ImageFile(ImageFile&&) noexcept;
  ~ImageFile();

  /// A place for each field, in their order, until the commit.
  std::vector<FieldSink*> sinks() const;
  /// All of the fields is written.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same for fields in host memory, on `grid`.
void write_vti(std::filesystem::path const& path, Grid const& grid,
               std::span<Field const> host_fields, double time, std::int64_t step);

}  // namespace gridstride::io
