#include "model/reading.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "core/buffer.hpp"
#include "core/pipeline.hpp"
#include "core/slab.hpp"
#include "core/slab_ring.hpp"
#include "core/timer.hpp"
#include "kernels/convert/convert.hpp"
#include "model/values.hpp"

namespace gridstride {

namespace {

/// A file's stored numbers in parts of some `bytes`, which do not tear apart what is packed together.
class Parts {
 public:
  Parts(NumberSource const& numbers, std::size_t bytes)
      : numbers_(numbers), bytes_(numbers.type().bytes), all_(numbers.stored_size()) {
    std::int64_t const granule = numbers.granule();
    size_ = std::max(granule, static_cast<std::int64_t>(bytes) / bytes_ / granule * granule);
    size_ = std::min(size_, std::max<std::int64_t>(all_, 1));
  }

  std::int64_t count() const { return (all_ + size_ - 1) / size_; }
  std::int64_t first(std::int64_t part) const { return part * size_; }
  std::int64_t size(std::int64_t part) const { return size(part, part + 1); }
  /// Of all parts from one up to another.
  std::int64_t size(std::int64_t from, std::int64_t to) const {
    return std::min(first(to), all_) - first(from);
  }
  std::size_t most_bytes() const { return static_cast<std::size_t>(size_ * bytes_); }
  std::size_t bytes(std::int64_t part) const {
    return static_cast<std::size_t>(size(part) * bytes_);
  }
  void read(std::int64_t part, void* target) const {
    numbers_.read_stored(first(part), size(part), target);
  }

 private:
  NumberSource const& numbers_;
  std::int64_t bytes_, all_, size_;
};

/// Slabs begin at multiples of this.
constexpr std::size_t alignment = 256;

std::size_t slab_stride(SlabRing::Shape const& shape, std::size_t part_bytes) {
  std::size_t const bytes = static_cast<std::size_t>(shape.slab_pieces) * part_bytes;
  return (bytes + alignment - 1) / alignment * alignment;
}

/// What reading so much takes in slabs, on either side.
std::size_t slabs_for(Backend backend, std::int64_t parts, std::size_t part_bytes) {
  auto const shape = SlabRing::shape_for(backend, parts, part_bytes);
  return static_cast<std::size_t>(shape.slabs) * slab_stride(shape, part_bytes);
}

/// To be called when all is read: `first_non_finite` is what the conversion left.
void require_sound(config::FieldSource const& source, Inputs const& inputs,
                   NumberSource const& numbers, std::int64_t first_non_finite) {
  numbers.check_unchanged();
  if (first_non_finite != convert::all_finite)
    inputs.refuse(source, first_non_finite, number_at(numbers, first_non_finite));
}

/// The place of the first value that is not finite, of numbers that are.
template <class T>
std::int64_t first_out_of_range(Stream& stream, config::FieldSource const& source,
                                NumberSource const& numbers, std::span<T const> values) {
  if (!may_leave_range<T>(numbers.type(), source.squares)) return convert::all_finite;
  std::int64_t const place = first_non_finite(stream, values, "auto");
  return place < 0 ? convert::all_finite : place;
}

/// Whether stored numbers may lie where their values go.
template <class T>
bool become_in_place(NumberSource const& numbers, std::span<T> target) {
  constexpr std::size_t aligned = 16;  // as `convert` wants what is stored
  return numbers.type().bytes == sizeof(T) && !numbers.order() &&
         reinterpret_cast<std::uintptr_t>(target.data()) % aligned == 0;
}

}  // namespace

double number_at(NumberSource const& numbers, std::int64_t place) {
  alignas(16) std::array<std::byte, 8> bytes;
  numbers.read(place, 1, bytes.data());
  Stream host(Device::open(Backend::cpu));
  double value = 0;
  std::int64_t ignored = convert::all_finite;
  auto const used = std::span(bytes).first(static_cast<std::size_t>(numbers.type().bytes));
  convert::convert<double>(host, {used, numbers.type()}, std::span(&value, 1),
                           std::span(&ignored, 1));
  return value;
}

template <class T>
void read_numbers(Stream& stream, config::FieldSource const& source, Inputs const& inputs,
                  std::span<T> target, PhaseTimes* times) {
  Timer const timer;
  auto const numbers = inputs.open(source);
  if (numbers->size() != std::ssize(target))
    throw std::invalid_argument("a file has another number of values than its shape told");
  bool const on_host = stream.backend() == Backend::cpu;
  bool const in_place = become_in_place(*numbers, target);
  Parts const parts(*numbers, SlabRing::piece_bytes(stream.backend()));
  auto const order = numbers->order();
  std::int64_t found = convert::all_finite;
  Buffer<std::int64_t> first_non_finite(stream, MemorySpace::device, 1);
  copy_async(first_non_finite.span(), std::span(&found, 1), stream);

  // What becomes values in its place needs no slabs there, which for the host is all there are.
  auto shape = SlabRing::shape_for(stream.backend(), parts.count(), parts.most_bytes());
  if (on_host && in_place) shape.slabs = std::max<std::int64_t>(shape.fillings(), 1);
  std::size_t const stride = slab_stride(shape, parts.most_bytes());
  std::size_t const slabs = static_cast<std::size_t>(shape.slabs) * stride;
  SlabRing ring(stream, shape);
  Buffer<std::byte> host(stream, MemorySpace::pinned, on_host && in_place ? 0 : slabs);
  Buffer<std::byte> device(stream, MemorySpace::device, on_host || in_place ? 0 : slabs);
  // Of parts that follow each other: where they are read to, and where the device finds them.
  auto const bytes_of = [&](std::int64_t first, std::int64_t last) {
    return static_cast<std::size_t>(parts.size(first, last) * numbers->type().bytes);
  };
  auto const in_target = [&](std::int64_t first, std::int64_t last) {
    return std::as_writable_bytes(
        target.subspan(static_cast<std::size_t>(parts.first(first)),
                       static_cast<std::size_t>(parts.size(first, last))));
  };
  auto const read_to = [&](SlabRing::Filling const& all) {
    if (on_host && in_place) return in_target(all.first, all.last);
    return host.span().subspan(all.slab * stride, bytes_of(all.first, all.last));
  };
  auto const stored = [&](SlabRing::Filling const& all) {
    if (in_place) return in_target(all.first, all.last);
    return on_host ? read_to(all)
                   : device.span().subspan(all.slab * stride, bytes_of(all.first, all.last));
  };
  SlabRing::Work work;
  work.fill = [&](std::int64_t part, std::size_t slab) {
    std::int64_t const first = part - part % shape.slab_pieces;
    auto const place = read_to({first, part + 1, slab});
    parts.read(part, place.last(parts.bytes(part)).data());
  };
  work.copy = [&](SlabRing::Filling const& all, Stream& copies) {
    if (!on_host) copy_async(stored(all), read_to(all), copies);
  };
  work.take = [&](SlabRing::Filling const& all, Stream& on) {
    convert::convert<T>(
        on, {stored(all), numbers->type(), parts.first(all.first), order, source.squares}, target,
        first_non_finite.span());
  };
  double const read_seconds = ring.run(work);
  copy_async(std::span(&found, 1), std::as_const(first_non_finite).span(), stream);
  stream.synchronize();
  if (found == convert::all_finite) found = first_out_of_range<T>(stream, source, *numbers, target);
  require_sound(source, inputs, *numbers, found);
  inputs.reading->bytes += static_cast<double>(bytes_of(0, parts.count()));
  inputs.reading->seconds += timer.seconds();
  if (times == nullptr) return;
  times->add("read", read_seconds);
  times->add("transfer", timer.seconds() - read_seconds);
}

template void read_numbers(Stream&, config::FieldSource const&, Inputs const&, std::span<float>,
                           PhaseTimes*);
template void read_numbers(Stream&, config::FieldSource const&, Inputs const&, std::span<double>,
                           PhaseTimes*);

std::vector<double> read_numbers(config::FieldSource const& source, Inputs const& inputs) {
  Stream host(Device::open(Backend::cpu));
  auto const numbers = inputs.open(source);
  std::vector<double> values(static_cast<std::size_t>(numbers->size()));
  read_numbers<double>(host, source, inputs, values);
  return values;
}

namespace {

/// What a number at a place adds to a checksum (the last steps of Steele's SplitMix64).
std::uint64_t mixed(std::int64_t place, double number) {
  auto x = static_cast<std::uint64_t>(place) * 0x9e3779b97f4a7c15U ^
           std::bit_cast<std::uint64_t>(number + 0.0);  // −0 is 0
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27U) * 0x94d049bb133111ebU;
  return x ^ x >> 31U;
}

}  // namespace

LargestNumber find_largest(config::FieldSource const& source, Inputs const& inputs,
                           std::function<bool(double)> const& accepts) {
  auto const numbers = inputs.open(source);
  Parts const parts(*numbers, SlabRing::piece_bytes(Backend::cpu));
  auto const order = numbers->order();
  struct Found {
    double largest = 0;
    std::uint64_t checksum = 0;
    std::int64_t non_finite = convert::all_finite, refused = convert::all_finite;
    std::vector<double> values;
  };
  Pipeline pipeline(Stream(Device::open(Backend::cpu)),
                    Pipeline::lanes_for(LaneUse::files, parts.count()));
  std::vector<Found> found(pipeline.lanes().size());
  std::vector<Slab> slabs;
  for (Lane& lane : pipeline.lanes()) slabs.emplace_back(lane.stream(), parts.most_bytes());
  auto const look = [&](Lane& lane, std::int64_t part) {
    auto& [largest, checksum, non_finite, refused, values] = found[lane.index()];
    auto const bytes = slabs[lane.index()].template host<std::byte>(parts.bytes(part));
    parts.read(part, bytes.data());
    values.resize(static_cast<std::size_t>(parts.size(part)));
    std::int64_t ignored = convert::all_finite;
    convert::convert<double>(lane.stream(), {bytes, numbers->type()}, values,
                             std::span(&ignored, 1));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int64_t const stored = parts.first(part) + static_cast<std::int64_t>(i);
      std::int64_t const place = order ? order->place(stored) : stored;
      if (place < 0) continue;
      checksum += mixed(place, values[i]);
      if (!std::isfinite(values[i]))
        non_finite = std::min(non_finite, place);
      else if (!accepts(values[i]))
        refused = std::min(refused, place);
      else
        largest = std::max(largest, std::abs(values[i]));
    }
  };
  pipeline.run(parts.count(), {{"read and look", StageKind::host, look}});
  Found all;
  for (Found const& lane : found) {
    all.largest = std::max(all.largest, lane.largest);
    all.checksum += lane.checksum;
    all.non_finite = std::min(all.non_finite, lane.non_finite);
    all.refused = std::min(all.refused, lane.refused);
  }
  require_sound(source, inputs, *numbers, all.non_finite);
  if (all.refused == convert::all_finite) return {all.largest, -1, 0, all.checksum};
  return {all.largest, all.refused, number_at(*numbers, all.refused), all.checksum};
}

double first_magnitude(config::FieldSource const& source, Inputs const& inputs, double enough) {
  auto const numbers = inputs.open(source);
  Stream host(Device::open(Backend::cpu));
  Parts const parts(*numbers, SlabRing::piece_bytes(Backend::cpu));
  auto const order = numbers->order();
  Buffer<std::byte> stored(host, MemorySpace::pinned, parts.most_bytes());
  std::vector<double> values;
  double largest = 0;
  for (std::int64_t part = 0; part < parts.count(); ++part) {
    auto const bytes = stored.span().first(parts.bytes(part));
    parts.read(part, bytes.data());
    values.resize(static_cast<std::size_t>(parts.size(part)));
    std::int64_t ignored = convert::all_finite;
    convert::convert<double>(host, {bytes, numbers->type()}, values, std::span(&ignored, 1));
    for (std::size_t i = 0; i < values.size(); ++i) {
      // What fills up packed pieces has no place.
      if (order && order->place(parts.first(part) + static_cast<std::int64_t>(i)) < 0) continue;
      largest = std::max(largest, std::abs(values[i]));
      if (largest >= enough) return largest;
    }
  }
  return largest;
}

void note_reading(MemoryForecast& forecast, config::FieldSource const& source, std::size_t values) {
  if (source.file.empty()) return;
  std::size_t const bytes = values * sizeof(double);
  std::size_t slabs = 0;
  for (Backend const backend : {Backend::cpu, Backend::cuda}) {
    std::size_t const part = SlabRing::piece_bytes(backend);
    auto const parts = static_cast<std::int64_t>((bytes + part - 1) / part);
    slabs = std::max(slabs, std::min(bytes, slabs_for(backend, parts, part)));
  }
  bool const whole = source.format() == config::FileFormat::matrix_market;
  forecast.slab_bytes = std::max(forecast.slab_bytes, slabs);
  forecast.reading_bytes = std::max(forecast.reading_bytes, slabs + (whole ? bytes : 0));
  forecast.sources.push_back(source);
}

void note_packing(MemoryForecast& forecast, NumberSource const& numbers) {
  for (Backend const backend : {Backend::cpu, Backend::cuda}) {
    Parts const parts(numbers, SlabRing::piece_bytes(backend));
    std::size_t const unpacking =
        numbers.unpacking_bytes(Pipeline::lanes_for(LaneUse::files, parts.count()));
    if (unpacking == 0) return;
    std::size_t const slabs = slabs_for(backend, parts.count(), parts.most_bytes());
    forecast.slab_bytes = std::max(forecast.slab_bytes, slabs);
    forecast.reading_bytes = std::max(forecast.reading_bytes, slabs + unpacking);
  }
}

}  // namespace gridstride
