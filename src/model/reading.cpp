#include "model/reading.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "core/buffer.hpp"
#include "core/pipeline.hpp"
#include "core/slab.hpp"
#include "core/timer.hpp"
#include "kernels/convert/convert.hpp"

namespace gridstride {

namespace {

/// Of a slab: large enough that what a part costs beside its bytes does not count, and small beside
/// what is read, since the bus has nothing to do before the first one is full.
constexpr std::int64_t part_bytes = std::int64_t{4} << 20;

/// Lanes of each thread, where there are parts for them: it fills the slab of one while the device
/// takes the other's.
constexpr std::size_t most_each = 2;

/// Of all lanes: the bus carries one copy at a time, and more streams only make the copies wait for
/// each other in another order.
constexpr std::size_t streams = 2;

int threads_for(std::int64_t parts) { return Pipeline::lanes_for(LaneUse::files, parts); }

std::size_t each_for(std::int64_t parts) {
  return std::clamp<std::size_t>(static_cast<std::size_t>(parts / threads_for(parts)), 1,
                                 most_each);
}

/// Of the slabs of all lanes.
std::size_t slabs_for(std::int64_t parts, std::size_t slab) {
  return static_cast<std::size_t>(threads_for(parts)) * each_for(parts) * slab;
}

/// A file's stored numbers in parts, which do not tear apart what is packed together.
class Parts {
 public:
  explicit Parts(NumberSource const& numbers)
      : numbers_(numbers), bytes_(numbers.type().bytes), all_(numbers.stored_size()) {
    std::int64_t const granule = numbers.granule();
    size_ = std::max(granule, part_bytes / bytes_ / granule * granule);
    size_ = std::min(size_, std::max<std::int64_t>(all_, 1));
  }

  std::int64_t count() const { return (all_ + size_ - 1) / size_; }
  std::int64_t first(std::int64_t part) const { return part * size_; }
  std::int64_t size(std::int64_t part) const { return std::min(size_, all_ - first(part)); }
  std::size_t slab_bytes() const { return static_cast<std::size_t>(size_ * bytes_); }
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

/// To be called when all is read: `first_non_finite` is what the conversion left.
void require_sound(config::FieldSource const& source, Inputs const& inputs,
                   NumberSource const& numbers, std::int64_t first_non_finite) {
  numbers.check_unchanged();
  if (first_non_finite != convert::all_finite)
    inputs.refuse(source, first_non_finite, number_at(numbers, first_non_finite));
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
  Parts const parts(*numbers);
  auto const order = numbers->order();
  std::int64_t found = convert::all_finite;
  Buffer<std::int64_t> first_non_finite(stream, MemorySpace::device, 1);
  copy_async(first_non_finite.span(), std::span(&found, 1), stream);

  Pipeline pipeline(stream, threads_for(parts.count()), each_for(parts.count()), streams);
  bool const on_host = stream.backend() == Backend::cpu;
  bool const in_place = become_in_place(*numbers, target);
  // Slabs of all lanes, which are pinned faster together. What becomes values in its place needs
  // none there, which for the host is all there are.
  constexpr std::size_t alignment = 256;
  std::size_t const slab_bytes = (parts.slab_bytes() + alignment - 1) / alignment * alignment;
  std::size_t const slabs = slabs_for(parts.count(), slab_bytes);
  Buffer<std::byte> host(stream, MemorySpace::pinned, on_host && in_place ? 0 : slabs);
  Buffer<std::byte> device(stream, MemorySpace::device, on_host || in_place ? 0 : slabs);
  // Of a part: where it is read to, and where the device finds it.
  auto const in = [&](Buffer<std::byte>& memory, Lane& lane, std::int64_t part) {
    return memory.span().subspan(lane.index() * slab_bytes, parts.bytes(part));
  };
  auto const stored = [&](Lane& lane, std::int64_t part) {
    if (in_place)
      return std::as_writable_bytes(target.subspan(static_cast<std::size_t>(parts.first(part)),
                                                   static_cast<std::size_t>(parts.size(part))));
    return in(on_host ? host : device, lane, part);
  };
  auto const slab = [&](Lane& lane, std::int64_t part) {
    return on_host ? stored(lane, part) : in(host, lane, part);
  };
  auto const read = [&](Lane& lane, std::int64_t part) {
    parts.read(part, slab(lane, part).data());
    lane.moved(parts.bytes(part));
  };
  auto const copy = [&](Lane& lane, std::int64_t part) {
    if (!on_host) copy_async(stored(lane, part), slab(lane, part), lane.stream());
    lane.moved(parts.bytes(part));
  };
  auto const convert = [&](Lane& lane, std::int64_t part) {
    convert::convert<T>(
        lane.stream(),
        {stored(lane, part), numbers->type(), parts.first(part), order, source.squares}, target,
        first_non_finite.span());
  };
  auto const report = pipeline.run(parts.count(), {{"read", StageKind::host, read},
                                                   {"copy in", StageKind::queued, copy},
                                                   {"convert", StageKind::queued, convert}});
  copy_async(std::span(&found, 1), std::as_const(first_non_finite).span(), stream);
  stream.synchronize();
  require_sound(source, inputs, *numbers, found);
  inputs.reading->bytes += report.stages[0].bytes;
  inputs.reading->seconds += timer.seconds();
  if (times == nullptr) return;
  times->add("read", report.stages[0].busy_seconds);
  times->add("transfer", timer.seconds() - report.stages[0].busy_seconds);
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

LargestNumber find_largest(config::FieldSource const& source, Inputs const& inputs,
                           std::function<bool(double)> const& accepts) {
  auto const numbers = inputs.open(source);
  Parts const parts(*numbers);
  auto const order = numbers->order();
  struct Found {
    double largest = 0;
    std::int64_t non_finite = convert::all_finite, refused = convert::all_finite;
    std::vector<double> values;
  };
  Pipeline pipeline(Stream(Device::open(Backend::cpu)), threads_for(parts.count()));
  std::vector<Found> found(pipeline.lanes().size());
  std::vector<Slab> slabs;
  for (Lane& lane : pipeline.lanes()) slabs.emplace_back(lane.stream(), parts.slab_bytes());
  auto const look = [&](Lane& lane, std::int64_t part) {
    auto& [largest, non_finite, refused, values] = found[lane.index()];
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
    all.non_finite = std::min(all.non_finite, lane.non_finite);
    all.refused = std::min(all.refused, lane.refused);
  }
  require_sound(source, inputs, *numbers, all.non_finite);
  if (all.refused == convert::all_finite) return {all.largest, -1, 0};
  return {all.largest, all.refused, number_at(*numbers, all.refused)};
}

void note_reading(MemoryForecast& forecast, config::FieldSource const& source, std::size_t values) {
  if (source.file.empty()) return;
  std::size_t const bytes = values * sizeof(double);
  auto const parts = static_cast<std::int64_t>((bytes + part_bytes - 1) / part_bytes);
  std::size_t const slabs = std::min(bytes, slabs_for(parts, static_cast<std::size_t>(part_bytes)));
  bool const whole = source.format() == config::FileFormat::matrix_market;
  forecast.slab_bytes = std::max(forecast.slab_bytes, slabs);
  forecast.reading_bytes = std::max(forecast.reading_bytes, slabs + (whole ? bytes : 0));
  forecast.sources.push_back(source);
}

void note_packing(MemoryForecast& forecast, NumberSource const& numbers) {
  Parts const parts(numbers);
  int const threads = threads_for(parts.count());
  std::size_t const unpacking = numbers.unpacking_bytes(threads);
  if (unpacking == 0) return;
  std::size_t const slabs = slabs_for(parts.count(), parts.slab_bytes());
  forecast.slab_bytes = std::max(forecast.slab_bytes, slabs);
  forecast.reading_bytes = std::max(forecast.reading_bytes, slabs + unpacking);
}

}  // namespace gridstride
