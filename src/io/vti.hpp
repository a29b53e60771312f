#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/field_sink.hpp"
#include "grid/grid.hpp"
#include "io/result_info.hpp"

namespace gridstride::io {

/// One step as VTK ImageData: appended raw, with `TimeValue` and `Step` in the field data; packed by
/// deflate of a level from 1 to 9 where `compression` is not 0. The file is complete or absent; without a commit it is never there. Throws
/// `IoError`.
class ImageFile {
 public:
  ImageFile(std::filesystem::path const& path, Grid const& grid, std::span<FieldInfo const> fields,
            double time, std::int64_t step, int compression = 0);
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
               std::span<Field const> host_fields, double time, std::int64_t step,
               int compression = 0);

/// Throws `IoError` where an image, of this or an earlier version, has its points elsewhere than
/// `grid`, or values of other types than these fields, as far as it has them.
void require_like(std::filesystem::path const& path, Grid const& grid,
                  std::span<FieldInfo const> fields);

/// What an image calls its fields, in alphabetic order, as XML has it: `xml_names` of the same fields.
std::vector<std::string> names_in_image(std::filesystem::path const& path);
std::vector<std::string> xml_names(std::span<FieldInfo const> fields);

/// The step that an image is of; of an earlier version that does not tell, none.
std::optional<std::int64_t> step_in_image(std::filesystem::path const& path);

/// Throws `IoError` for an image that is missing, or has lost its end.
void require_whole(std::filesystem::path const& path);

}  // namespace gridstride::io
