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
#include "io/hdf5.hpp"
#include "io/transaction.hpp"

namespace gridstride::io {

namespace {

using hdf5::Handle;
using hdf5::Object;

constexpr char const* fingerprint_name = "fingerprint";
constexpr char const* values_name = "values";
constexpr char const* checksum_name = "checksum";

/// FNV-1a over words of eight bytes in four independent lanes, which keeps up with the memory.
/// Every step is a bijection of a lane: no single damaged word goes unseen.
std::int64_t checksum(std::span<std::byte const> bytes) {
  constexpr std::uint64_t basis = 0xcbf29ce484222325U;
  constexpr std::uint64_t prime = 0x100000001b3U;
  constexpr std::size_t word = sizeof(std::uint64_t);
  std::array<std::uint64_t, 4> lanes = {basis, basis + 1, basis + 2, basis + 3};
  std::size_t lane = 0;
  for (std::size_t start = 0; start < bytes.size(); start += word) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + start, std::min(word, bytes.size() - start));
    lanes[lane] = (lanes[lane] ^ value) * prime;
    lane = (lane + 1) % lanes.size();
  }
  std::uint64_t sum = basis ^ bytes.size();
  for (auto const value : lanes) sum = (sum ^ (value ^ value >> 32)) * prime;
  return static_cast<std::int64_t>(sum);
}

std::span<std::byte const> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

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

void require_intact(Object const& dataset, std::string_view name,
                    std::span<std::byte const> bytes) {
  auto const stored = dataset.read_attribute<std::int64_t>(checksum_name);
  if (stored.size() != 1 || stored.front() != checksum(bytes))
    throw IoError(dataset.path(),
                  fmt::format("the checkpoint is damaged ('{}' fails its checksum)", name));
}

Object open_value(Object const& group, std::string_view name) {
  if (!group.contains(std::string(name)))
    throw IoError(group.path(), fmt::format("the checkpoint holds no '{}'", name));
  return group.open_dataset(std::string(name));
}

void get(Object const& group, std::string_view name, hid_t type, hdf5::Shape const& shape,
         std::span<std::byte> out) {
  Object const dataset = open_value(group, name);
  auto const stored = dataset.shape();
  if (stored != shape || H5Tequal(dataset.type().id(), type) <= 0)
    throw IoError(group.path(), fmt::format("the checkpoint's '{}' has another type or size ([{}], "
                                            "not [{}])",
                                            name, fmt::join(stored, "]["), fmt::join(shape, "][")));
  if (!out.empty()) dataset.read(out.data(), type);
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

class Sink final : public CheckpointSink {
 public:
  explicit Sink(Object group) : group_(std::move(group)) {}

  void put_integer(std::string_view name, std::int64_t value) override {
    put(group_, name, H5T_STD_I64LE, hdf5::scalar_space(), std::as_bytes(std::span(&value, 1)));
  }
  void put_real(std::string_view name, double value) override {
    put(group_, name, H5T_IEEE_F64LE, hdf5::scalar_space(), std::as_bytes(std::span(&value, 1)));
  }
  void put_text(std::string_view name, std::string_view text) override {
    put_text_value(group_, name, text);
  }
  void put_array(std::string_view name, std::span<float const> values) override {
    put(group_, name, H5T_IEEE_F32LE, hdf5::simple_space({values.size()}), std::as_bytes(values));
  }
  void put_array(std::string_view name, std::span<double const> values) override {
    put(group_, name, H5T_IEEE_F64LE, hdf5::simple_space({values.size()}), std::as_bytes(values));
  }

 private:
  Object group_;
};

class Source final : public CheckpointSource {
 public:
  explicit Source(Object group) : group_(std::move(group)) {}

  bool contains(std::string_view name) const override { return group_.contains(std::string(name)); }
  std::int64_t get_integer(std::string_view name) const override {
    std::int64_t value = 0;
    get(group_, name, H5T_STD_I64LE, {}, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  double get_real(std::string_view name) const override {
    double value = 0;
    get(group_, name, H5T_IEEE_F64LE, {}, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  std::string get_text(std::string_view name) const override {
    return get_text_value(group_, name);
  }
  void get_array(std::string_view name, std::span<float> out) const override {
    get(group_, name, H5T_IEEE_F32LE, {out.size()}, std::as_writable_bytes(out));
  }
  void get_array(std::string_view name, std::span<double> out) const override {
    get(group_, name, H5T_IEEE_F64LE, {out.size()}, std::as_writable_bytes(out));
  }

 private:
  Object group_;
};

Object open_checkpoint(std::filesystem::path const& path) {
  Object file = hdf5::open_file(path);
  if (!file.contains(fingerprint_name) || !file.contains(values_name))
    throw IoError(path, "is no checkpoint of gridstride");
  return file;
}

}  // namespace

void write_checkpoint(std::filesystem::path const& path, std::string_view fingerprint,
                      std::function<void(CheckpointSink&)> const& save) {
  AtomicFile target(path);
  {
    // This format has checksums over all of HDF5's own structures.
    Object const file = hdf5::create_transaction_file(target.temporary(), path, H5F_LIBVER_V18);
    put_text_value(file, fingerprint_name, fingerprint);
    Sink sink(file.create_group(values_name));
    save(sink);
    hdf5::commit(file);
  }
  target.commit();
}

void read_checkpoint(std::filesystem::path const& path, std::string_view fingerprint,
                     std::function<void(CheckpointSource const&)> const& load) {
  Object const file = open_checkpoint(path);
  if (get_text_value(file, fingerprint_name) != fingerprint)
    throw IoError(path,
                  "the checkpoint belongs to another problem (what determines the computation has "
                  "changed in the config since it was written); start anew without it");
  load(Source(file.open_group(values_name)));
}

}  // namespace gridstride::io
