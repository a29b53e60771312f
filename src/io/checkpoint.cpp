#include "io/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "io/checksum.hpp"
#include "io/hdf5.hpp"
#include "io/placed_file.hpp"
#include "io/transaction.hpp"

namespace gridstride::io {

namespace {

using hdf5::Handle;
using hdf5::Object;

constexpr char const* problem_name = "problem";
constexpr char const* step_name = "step";
constexpr char const* time_name = "time";
constexpr char const* values_name = "values";
constexpr char const* checksum_name = "checksum";
/// Of an array of several slabs: the checksum over those of its slabs. Files of earlier versions
/// have one over the whole array.
constexpr char const* slab_checksum_name = "checksum_of_slabs";

std::span<std::byte const> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// The checksum of an array from those of its slabs.
class SlabChecksums {
 public:
  explicit SlabChecksums(std::size_t size) : sums_((size + Slabs::bytes - 1) / Slabs::bytes) {}

  void take(std::span<SlabChecksum const> found) {
    for (auto const& [slab, sum] : found) sums_.at(slab) = sum;
  }
  /// Several threads at a time, a slab each.
  void add(std::uint64_t first_byte, std::span<std::byte const> slab) {
    sums_.at(first_byte / Slabs::bytes) = checksum(slab);
  }
  bool are_several() const { return sums_.size() > 1; }
  std::int64_t value() const {
    return sums_.size() == 1 ? sums_.front() : checksum(std::as_bytes(std::span(sums_)));
  }

 private:
  std::vector<std::int64_t> sums_;
};

void put(Object const& group, std::string_view name, hid_t type, Handle const& space,
         std::span<std::byte const> bytes) {
  Object const dataset = group.create_dataset(std::string(name), type, space);
  if (!bytes.empty()) dataset.write(bytes.data(), type);
  dataset.write_attribute(checksum_name, checksum(bytes));
}

void put_text_value(Object const& group, std::string_view name, std::string_view text) {
  // The size of a text is part of its type: at least one byte, so an empty one holds a zero.
  std::string const stored = text.empty() ? std::string(1, '\0') : std::string(text);
  put(group, name, hdf5::text_type(stored.size()).id(), hdf5::scalar_space(), bytes_of(stored));
}

void require_checksum(Object const& dataset, std::string_view name, std::int64_t found,
                      char const* attribute = checksum_name) {
  auto const stored = dataset.read_attribute<std::int64_t>(attribute);
  if (stored.size() != 1 || stored.front() != found)
    throw IoError(dataset.path(),
                  fmt::format("the checkpoint is damaged ('{}' fails its checksum)", name));
}

void require_intact(Object const& dataset, std::string_view name,
                    std::span<std::byte const> bytes) {
  require_checksum(dataset, name, checksum(bytes));
}

Object open_value(Object const& group, std::string_view name) {
  if (!group.contains(std::string(name)))
    throw IoError(group.path(), fmt::format("the checkpoint holds no '{}'", name));
  return group.open_dataset(std::string(name));
}

Object open_value(Object const& group, std::string_view name, hid_t type,
                  hdf5::Shape const& shape) {
  Object dataset = open_value(group, name);
  auto const stored = dataset.shape();
  if (stored != shape || H5Tequal(dataset.type().id(), type) <= 0)
    throw IoError(group.path(), fmt::format("the checkpoint's '{}' has another type or size ([{}], "
                                            "not [{}])",
                                            name, fmt::join(stored, "]["), fmt::join(shape, "][")));
  return dataset;
}

void get(Object const& group, std::string_view name, hid_t type, std::span<std::byte> out) {
  Object const dataset = open_value(group, name, type, {});
  dataset.read(out.data(), type);
  require_intact(dataset, name, out);
}

std::string get_text_value(Object const& group, std::string_view name) {
  Object const dataset = open_value(group, name);
  Handle const type = dataset.type();
  if (H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) != 0 ||
      !dataset.shape().empty())
    throw IoError(group.path(), fmt::format("the checkpoint's '{}' is no text", name));
  std::string text(H5Tget_size(type.id()), '\0');
  dataset.read(text.data(), type.id());
  require_intact(dataset, name, bytes_of(text));
  return text == std::string(1, '\0') ? "" : text;
}

void put_integer_value(Object const& group, std::string_view name, std::int64_t value) {
  put(group, name, H5T_STD_I64LE, hdf5::scalar_space(), std::as_bytes(std::span(&value, 1)));
}

void put_real_value(Object const& group, std::string_view name, double value) {
  put(group, name, H5T_IEEE_F64LE, hdf5::scalar_space(), std::as_bytes(std::span(&value, 1)));
}

std::int64_t get_integer_value(Object const& group, std::string_view name) {
  std::int64_t value = 0;
  get(group, name, H5T_STD_I64LE, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

double get_real_value(Object const& group, std::string_view name) {
  double value = 0;
  get(group, name, H5T_IEEE_F64LE, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

/// An array in space that is reserved; slabs come whole.
class ArrayPlace final : public FieldSink {
 public:
  ArrayPlace(hdf5::RawSpace const& space, haddr_t place, std::size_t size)
      : FieldSink(size), space_(space), place_(place), sums_(size) {}
  SlabChecksums const& sums() const { return sums_; }

  FilePlaces share() override {
    auto places = space_.share({{0, bytes(), place_}});
    places.checked = Slabs::bytes;
    return places;
  }

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> slab) override {
    sums_.add(first_byte, slab);
    space_.write(place_ + first_byte, slab);
  }
  void end_sharing(bool others_failed) override { space_.end_sharing(others_failed); }
  void take_checksums(std::span<SlabChecksum const> found) override { sums_.take(found); }

  hdf5::RawSpace const& space_;
  haddr_t place_;
  SlabChecksums sums_;
};

class Sink final : public CheckpointSink {
 public:
  Sink(Object const& file, Slabs& slabs)
      : group_(file.create_group(values_name)), space_(file), slabs_(slabs) {}

  void put_integer(std::string_view name, std::int64_t value) override {
    put_integer_value(group_, name, value);
  }
  void put_real(std::string_view name, double value) override {
    put_real_value(group_, name, value);
  }
  void put_text(std::string_view name, std::string_view text) override {
    put_text_value(group_, name, text);
  }
  void put_array(std::string_view name, std::span<float const> values, Stream& stream) override {
    put_bytes(name, H5T_IEEE_F32LE, values.size(), std::as_bytes(values), stream);
  }
  void put_array(std::string_view name, std::span<double const> values, Stream& stream) override {
    put_bytes(name, H5T_IEEE_F64LE, values.size(), std::as_bytes(values), stream);
  }
  void put_parts(std::string_view name, Precision precision, std::uint64_t values,
                 WriteParts const& write) override {
    hid_t const type = precision == Precision::float32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
    reserve(name, type, values, values * size_of(precision),
            [&](FieldSink& place) { write(&place); });
  }

 private:
  void put_bytes(std::string_view name, hid_t type, hsize_t count, std::span<std::byte const> bytes,
                 Stream& stream) {
    if (bytes.empty()) return put(group_, name, type, hdf5::simple_space({count}), bytes);
    reserve(name, type, count, bytes.size(), [&](FieldSink& place) {
      stream.synchronize();
      Slabs::Output const output = {bytes.data(), bytes.size(), {&place}};
      slabs_.write(std::span(&output, 1));
    });
  }

  /// Makes a dataset of so many values, which `fill` puts there.
  void reserve(std::string_view name, hid_t type, hsize_t count, std::size_t bytes,
               std::function<void(FieldSink&)> const& fill) {
    Handle const creation = hdf5::properties(H5P_DATASET_CREATE);
    group_.check(H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY), "reserving space");
    group_.check(H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER), "reserving space");
    Object const dataset =
        group_.create_dataset(std::string(name), type, hdf5::simple_space({count}), creation.id());
    ArrayPlace place(space_, hdf5::RawSpace::place_of(dataset), bytes);
    space_.open();
    fill(place);
    place.require_whole();
    dataset.write_attribute(place.sums().are_several() ? slab_checksum_name : checksum_name,
                            place.sums().value());
  }

  Object group_;
  hdf5::RawSpace space_;
  Slabs& slabs_;
};

/// Reads all values of an array one after the other, in parts: a checkpoint may be larger than the
/// memory.
void require_array_intact(Object const& dataset, std::string_view name) {
  hsize_t const count = dataset.shape().at(0);
  Handle const type = dataset.type();
  std::size_t const value_bytes = H5Tget_size(type.id());
  hsize_t const part = Slabs::bytes / value_bytes;
  std::vector<std::byte> bytes(std::min(part, count) * value_bytes);
  SlabChecksums of_slabs(count * value_bytes);
  Checksum of_all;
  for (hsize_t start = 0; start < count; start += part) {
    hsize_t const size = std::min(part, count - start);
    dataset.read(bytes.data(), type.id(), {start}, {size});
    auto const slab = std::span<std::byte const>(bytes).first(size * value_bytes);
    of_slabs.add(start * value_bytes, slab);
    of_all.add(slab);
  }
  if (dataset.has_attribute(slab_checksum_name))
    require_checksum(dataset, name, of_slabs.value(), slab_checksum_name);
  else
    require_checksum(dataset, name, of_all.value());
}

class Source final : public CheckpointSource {
 public:
  explicit Source(Object group) : group_(std::move(group)) {}

  bool contains(std::string_view name) const override { return group_.contains(std::string(name)); }
  std::int64_t get_integer(std::string_view name) const override {
    return get_integer_value(group_, name);
  }
  double get_real(std::string_view name) const override { return get_real_value(group_, name); }
  std::string get_text(std::string_view name) const override {
    return get_text_value(group_, name);
  }
  void get_array(std::string_view name, std::span<float> out, Stream& stream) const override {
    get_bytes(name, H5T_IEEE_F32LE, out.size(), std::as_writable_bytes(out), stream);
  }
  void get_array(std::string_view name, std::span<double> out, Stream& stream) const override {
    get_bytes(name, H5T_IEEE_F64LE, out.size(), std::as_writable_bytes(out), stream);
  }
  void get_parts(std::string_view name, Precision precision, std::uint64_t values,
                 FillParts const& fill) const override {
    hid_t const type = precision == Precision::float32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
    read_slabs(name, type, values, values * size_of(precision), fill);
  }

 private:
  void get_bytes(std::string_view name, hid_t type, hsize_t count, std::span<std::byte> out,
                 Stream& stream) const {
    read_slabs(name, type, count, out.size(), [&](ReadSlab const& read) {
      stream.synchronize();
      Slabs(stream, out.size()).read(out, read);
    });
  }

  void read_slabs(std::string_view name, hid_t type, hsize_t count, std::size_t bytes,
                  FillParts const& fill) const {
    Object const dataset = open_value(group_, name, type, {count});
    bool const by_slabs = dataset.has_attribute(slab_checksum_name);
    // One checksum over several slabs can only be found in their order.
    if (!by_slabs && (bytes == 0 || bytes > Slabs::bytes)) require_array_intact(dataset, name);
    if (bytes == 0) return;
    haddr_t const place = hdf5::RawSpace::place_of(dataset);
    PlacedFile const file(group_.path(), group_.path(), PlacedFile::How::read);
    SlabChecksums checksums(bytes);
    fill([&](std::uint64_t first, std::span<std::byte> slab) {
      file.read(place + first, slab);
      checksums.add(first, slab);
    });
    if (by_slabs)
      require_checksum(dataset, name, checksums.value(), slab_checksum_name);
    else if (!checksums.are_several())
      require_checksum(dataset, name, checksums.value());
  }

  Object group_;
};

CheckpointValue inspect_value(Object const& group, std::string const& name) {
  Object const dataset = group.open_dataset(name);
  auto const shape = dataset.shape();
  if (shape.size() == 1) {
    require_array_intact(dataset, name);
    return {name, static_cast<std::int64_t>(shape[0])};
  }
  auto const type = dataset.type();
  std::vector<std::byte> bytes(H5Tget_size(type.id()));
  dataset.read(bytes.data(), type.id());
  require_intact(dataset, name, bytes);
  return {name, 1};
}

void inspect_group(Object const& group, std::string const& prefix,
                   std::vector<CheckpointValue>& found) {
  for (auto const& name : group.names()) {
    if (!group.is_group(name)) {
      found.push_back(inspect_value(group, name));
      found.back().name.insert(0, prefix);
    } else {
      inspect_group(group.open_group(name), prefix + name + '/', found);
    }
  }
}

}  // namespace

void write_checkpoint(std::filesystem::path const& path, CheckpointOrigin const& origin,
                      std::function<void(CheckpointSink&)> const& save, Slabs& slabs) {
  AtomicFile target(path);
  {
    auto const alone = hdf5::exclusive();
    // This format has checksums over all of HDF5's own structures.
    Object const file = hdf5::create_transaction_file(target.temporary(), path, H5F_LIBVER_V18);
    put_text_value(file, problem_name, origin.problem);
    put_integer_value(file, step_name, origin.step);
    put_real_value(file, time_name, origin.time);
    Sink sink(file, slabs);
    save(sink);
    hdf5::commit(file);
  }
  target.commit();
}

bool is_checkpoint(std::filesystem::path const& path) { return path.extension() == ".checkpoint"; }

struct CheckpointFile::State {
  Object file;
  CheckpointOrigin origin;
};

CheckpointFile::CheckpointFile(std::filesystem::path const& path)
    : state_(std::make_unique<State>()) {
  state_->file = hdf5::open_file(path);
  for (auto const* name : {problem_name, step_name, time_name, values_name})
    if (!state_->file.contains(name)) throw IoError(path, "is no checkpoint of gridstride");
  state_->origin = {get_text_value(state_->file, problem_name),
                    get_integer_value(state_->file, step_name),
                    get_real_value(state_->file, time_name)};
}

CheckpointFile::CheckpointFile(CheckpointFile&&) noexcept = default;
CheckpointFile& CheckpointFile::operator=(CheckpointFile&&) noexcept = default;
CheckpointFile::~CheckpointFile() = default;

std::filesystem::path const& CheckpointFile::path() const { return state_->file.path(); }
CheckpointOrigin const& CheckpointFile::origin() const { return state_->origin; }

void CheckpointFile::read(std::function<void(CheckpointSource const&)> const& load) const {
  load(Source(state_->file.open_group(values_name)));
}

std::vector<CheckpointValue> CheckpointFile::inspect() const {
  std::vector<CheckpointValue> found;
  inspect_group(state_->file.open_group(values_name), "", found);
  return found;
}

}  // namespace gridstride::io
