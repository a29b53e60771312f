#include "io/chunk_filters.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <utility>

namespace gridstride::io {

namespace {

using Bytes = std::vector<std::byte>;

std::uint32_t value_of(std::byte byte) { return std::to_integer<std::uint32_t>(byte); }

/// Fletcher's checksum of the 16-bit words, the upper byte first, each sum modulo 65535 where a sum
/// that is not 0 never becomes 0.
std::uint32_t fletcher32(std::span<std::byte const> bytes) {
  constexpr std::size_t most_words = 256;  // before the sums are folded
  auto const fold = [](std::uint64_t sum) {
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
  };
  std::uint64_t first = 0, second = 0;
  for (std::size_t i = 0, words = 0; i < bytes.size(); i += 2) {
    std::uint32_t const low = i + 1 < bytes.size() ? value_of(bytes[i + 1]) : 0;
    first += value_of(bytes[i]) << 8 | low;
    second += first;
    if (++words % most_words != 0) continue;
    first = fold(first);
    second = fold(second);
  }
  return static_cast<std::uint32_t>(fold(second) << 16 | fold(first));
}

void check_and_drop_sum(Bytes& bytes) {
  constexpr std::size_t sum_bytes = 4;
  if (bytes.size() < sum_bytes) throw ChunkFilters::Damage{"it is too short for its checksum"};
  auto const stored = std::span(bytes).last(sum_bytes);
  std::uint32_t sum = 0;
  for (std::size_t i = sum_bytes; i-- > 0;) sum = sum << 8 | value_of(stored[i]);
  std::uint32_t const found = fletcher32(std::span(bytes).first(bytes.size() - sum_bytes));
  // HDF5 before 1.6.3 swapped the bytes of each half on machines with the lower byte first.
  std::uint32_t const old = (found & 0x00ff00ffU) << 8 | (found >> 8 & 0x00ff00ffU);
  if (sum != found && sum != old) throw ChunkFilters::Damage{"its checksum does not fit"};
  bytes.resize(bytes.size() - sum_bytes);
}

/// `most` is what it can become.
Bytes inflated(Bytes const& packed, std::size_t most) {
  Bytes bytes(most);
  uLongf size = most;
  int const status = uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                                reinterpret_cast<Bytef const*>(packed.data()), packed.size());
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_OK) throw ChunkFilters::Damage{"it cannot be decompressed"};
  bytes.resize(size);
  return bytes;
}

/// The first bytes of all elements come first, then the second ones, and so on.
template <class Width>
Bytes unshuffled(Bytes const& bytes, Width width) {
  std::size_t const count = bytes.size() / width;
  Bytes result(bytes.size());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t b = 0; b < width; ++b) result[i * width + b] = bytes[b * count + i];
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(count * width), bytes.end(),
            result.begin() + static_cast<std::ptrdiff_t>(count * width));
  return result;
}

template <class Width>
Bytes shuffled_by(std::span<std::byte const> bytes, Width width) {
  std::size_t const count = bytes.size() / width;
  Bytes result(bytes.size());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t b = 0; b < width; ++b) result[b * count + i] = bytes[i * width + b];
  return result;
}

Bytes unshuffled(Bytes bytes, std::size_t width) {
  if (width <= 1) return bytes;
  if (width == 2) return unshuffled(bytes, std::integral_constant<std::size_t, 2>());
  if (width == 4) return unshuffled(bytes, std::integral_constant<std::size_t, 4>());
  if (width == 8) return unshuffled(bytes, std::integral_constant<std::size_t, 8>());
  return unshuffled<std::size_t>(bytes, width);
}

}  // namespace

std::vector<std::byte> shuffled(std::span<std::byte const> bytes, Precision precision) {
  if (precision == Precision::float32)
    return shuffled_by(bytes, std::integral_constant<std::size_t, sizeof(float)>());
  return shuffled_by(bytes, std::integral_constant<std::size_t, sizeof(double)>());
}

std::optional<ChunkFilters> ChunkFilters::of(hdf5::Object const& dataset, hid_t creation) {
  ChunkFilters filters;
  int const count = static_cast<int>(dataset.check(H5Pget_nfilters(creation), "inspecting"));
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::array<unsigned, 8> values = {};
    std::size_t given = values.size();
    H5Z_filter_t const filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &given,
                                               values.data(), 0, nullptr, nullptr);
    dataset.check(filter, "inspecting");
    bool const shuffles = filter == H5Z_FILTER_SHUFFLE && given > 0;
    if (!shuffles && filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_FLETCHER32)
      return std::nullopt;
    filters.steps_.push_back({filter, values[0]});
  }
  return filters;
}

Bytes ChunkFilters::unpack(Bytes packed, std::uint32_t left_out, std::size_t bytes) const {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    if ((left_out >> i & 1U) != 0) continue;
    auto const [filter, width] = steps_[i];
    if (filter == H5Z_FILTER_FLETCHER32)
      check_and_drop_sum(packed);
    else if (filter == H5Z_FILTER_DEFLATE)
      packed = inflated(packed, bytes + 4 * steps_.size());  // checksums may be packed with it
    else
      packed = unshuffled(std::move(packed), width);
  }
  if (packed.size() != bytes) throw Damage{"it has another size than its chunk"};
  return packed;
}

}  // namespace gridstride::io
