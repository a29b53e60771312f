#include "io/dataset_numbers.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

#include "io/chunked_numbers.hpp"
#include "io/find_chunks.hpp"
#include "io/plain_numbers.hpp"
#include "io/storage.hpp"

namespace gridstride::io {

namespace {

using hdf5::Handle;
using hdf5::Object;
using hdf5::Shape;

constexpr std::string_view inspecting = "inspecting";

/// Whether the numbers of a type are what their name says, every bit of them.
std::optional<NumberType> plain_type(hid_t type) {
  struct Known {
    hid_t id;
    std::string_view name;
    bool big_endian;
  };
  Known const known[] = {{H5T_STD_I8LE, "int8", false},      {H5T_STD_U8LE, "uint8", false},
                         {H5T_STD_I8BE, "int8", false},      {H5T_STD_U8BE, "uint8", false},
                         {H5T_STD_I16LE, "int16", false},    {H5T_STD_I16BE, "int16", true},
                         {H5T_STD_U16LE, "uint16", false},   {H5T_STD_U16BE, "uint16", true},
                         {H5T_STD_I32LE, "int32", false},    {H5T_STD_I32BE, "int32", true},
                         {H5T_STD_U32LE, "uint32", false},   {H5T_STD_U32BE, "uint32", true},
                         {H5T_STD_I64LE, "int64", false},    {H5T_STD_I64BE, "int64", true},
                         {H5T_STD_U64LE, "uint64", false},   {H5T_STD_U64BE, "uint64", true},
                         {H5T_IEEE_F32LE, "float32", false}, {H5T_IEEE_F32BE, "float32", true},
                         {H5T_IEEE_F64LE, "float64", false}, {H5T_IEEE_F64BE, "float64", true}};
  for (auto const& [id, name, big_endian] : known)
    if (H5Tequal(type, id) > 0) {
      auto found = number_type_called(name);
      found->swapped = found->bytes > 1 && big_endian != (std::endian::native == std::endian::big);
      return found;
    }
  return std::nullopt;
}

/// Keeps the dataset, and with it its file, open.
Handle another_handle(Object const& dataset) {
  dataset.check(H5Iinc_ref(dataset.id()), inspecting);
  return {dataset.id(), H5Dclose};
}

/// What HDF5 itself reads.
class ConvertedNumbers final : public NumberSource {
 public:
  ConvertedNumbers(Object const& dataset, std::string name, std::optional<hsize_t> layer,
                   std::vector<std::int64_t> shape)
      : file_(dataset.path()),
        name_(std::move(name)),
        layer_(layer),
        shape_(std::move(shape)),
        dataset_(dataset.path(), another_handle(dataset)) {}

  NumberType type() const override { return number_type_of<double>(); }
  std::vector<std::int64_t> const& shape() const override { return shape_; }

  void read(std::int64_t first, std::int64_t count, void* target) const override {
    std::lock_guard const alone(mutex_);
    auto const lock = hdf5::exclusive();
    hdf5::silence();
    auto* values = static_cast<double*>(target);
    if (shape_.empty() && !layer_ && count > 0) return dataset_.read(values, H5T_NATIVE_DOUBLE);
    while (count > 0) {
      auto const [start, extents, size] = block_at(first, count);
      dataset_.read(values, H5T_NATIVE_DOUBLE, start, extents);
      values += size;
      first += size;
      count -= size;
    }
  }

  void check_unchanged() const override {
    std::lock_guard const alone(mutex_);
    auto const lock = hdf5::exclusive();
    hdf5::silence();
    file_.check_unchanged();
    hdf5::require_sources(dataset_, name_);  // a file of its values may be cut by now
  }

 private:
  struct Block {
    Shape start, extents;
    std::int64_t size;
  };

  /// The largest block that begins at an element and goes on in C order for at most `count`.
  Block block_at(std::int64_t first, std::int64_t count) const {
    Block block{Shape(shape_.size()), Shape(shape_.size(), 1), 1};
    std::int64_t rest = first;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      block.start[axis] = static_cast<hsize_t>(rest % shape_[axis]);
      rest /= shape_[axis];
    }
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      auto const start = static_cast<std::int64_t>(block.start[axis]);
      std::int64_t const lines = std::min(shape_[axis] - start, count / block.size);
      block.extents[axis] = static_cast<hsize_t>(lines);
      block.size *= lines;
      if (lines < shape_[axis]) break;
    }
    if (layer_) {
      block.start.insert(block.start.begin(), *layer_);
      block.extents.insert(block.extents.begin(), 1);
    }
    return block;
  }

  InputFile file_;
  std::string name_;
  std::optional<hsize_t> layer_;
  std::vector<std::int64_t> shape_;
  Object dataset_;
  mutable std::mutex mutex_;
};

/// The chunks' order, for shapes of up to three axes, not counting the slowest ones of one element
/// and the fastest ones that chunks are as long as, such as components of vectors.
std::optional<StoredOrder> order_of(std::vector<std::int64_t> shape,
                                    std::vector<std::int64_t> chunk) {
  while (shape.size() > 3 && shape.front() == 1 && chunk.front() == 1) {
    shape.erase(shape.begin());
    chunk.erase(chunk.begin());
  }
  while (shape.size() > 3 && shape.back() == chunk.back()) {
    shape[shape.size() - 2] *= shape.back();
    chunk[chunk.size() - 2] *= chunk.back();
    shape.pop_back();
    chunk.pop_back();
  }
  if (shape.size() > 3 || shape.empty()) return std::nullopt;
  shape.insert(shape.begin(), 3 - shape.size(), 1);
  chunk.insert(chunk.begin(), 3 - chunk.size(), 1);
  return StoredOrder{{shape[0], shape[1], shape[2]}, {chunk[0], chunk[1], chunk[2]}, false};
}

std::vector<std::int64_t> signed_part(Shape const& shape, std::size_t first) {
  return {shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()};
}

/// Bytes before the HDF5 file in its file, which addresses of chunks may or may not count.
bool has_user_block(Object const& dataset) {
  Handle const file = dataset.own(H5Iget_file_id(dataset.id()), H5Fclose, inspecting);
  Handle const creation = dataset.own(H5Fget_create_plist(file.id()), H5Pclose, inspecting);
  hsize_t bytes = 0;
  dataset.check(H5Pget_userblock(creation.id(), &bytes), inspecting);
  return bytes > 0;
}

/// The chunks of a dataset, unless HDF5 has to read them.
std::unique_ptr<NumberSource> try_chunks(Object const& dataset, std::string const& name,
                                         std::optional<hsize_t> layer, NumberType type,
                                         hid_t creation) {
  Shape const shape = dataset.shape();
  Shape chunk(shape.size());
  dataset.check(H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), inspecting);
  std::size_t const outer = layer ? 1 : 0;
  unsigned options = 0;
  dataset.check(H5Pget_chunk_opts(creation, &options), inspecting);
  auto const filters = ChunkFilters::of(dataset, creation);
  auto const order = order_of(signed_part(shape, outer), signed_part(chunk, outer));
  if (!filters || !order || options != 0 || (layer && chunk[0] != 1) || has_user_block(dataset))
    return nullptr;
  InputFile file(hdf5::file_of(dataset));
  ChunkedLayout layout{name,   type,     signed_part(shape, outer),
                       *order, *filters, find_chunks(dataset, name, chunk, layer)};
  return chunked_numbers(std::move(file), std::move(layout));
}

}  // namespace

std::unique_ptr<NumberSource> numbers_of(Object const& dataset, std::string const& name,
                                         std::optional<hsize_t> layer) {
  Handle const type = dataset.type();
  Handle const creation = dataset.own(H5Dget_create_plist(dataset.id()), H5Pclose, inspecting);
  auto const stored = plain_type(type.id());
  auto shape = signed_part(dataset.shape(), layer ? 1 : 0);
  bool const empty = std::ranges::find(shape, 0) != shape.end();
  auto const layout = H5Pget_layout(creation.id());
  if (stored && !empty && layout == H5D_CHUNKED)
    if (auto chunks = try_chunks(dataset, name, layer, *stored, creation.id())) return chunks;
  if (stored && layout == H5D_CONTIGUOUS && H5Pget_external_count(creation.id()) == 0)
    if (haddr_t const offset = H5Dget_offset(dataset.id()); offset != HADDR_UNDEF) {
      InputFile file(hdf5::file_of(dataset));
      auto const skipped =
          static_cast<std::int64_t>(layer.value_or(0)) * bytes_of(dataset.path(), *stored, shape);
      return plain_numbers(std::move(file), static_cast<std::int64_t>(offset) + skipped, *stored,
                           std::move(shape));
    }
  return std::make_unique<ConvertedNumbers>(dataset, name, layer, std::move(shape));
}

}  // namespace gridstride::io
