#include "driver/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "kernels/convert/thin.hpp"

namespace gridstride {

namespace {

std::int64_t every(config::RunOptions const& run, int axis) {
  auto const& all = run.output.every_nth_point;
  auto const place = static_cast<std::size_t>(axis);
  return place < all.size() ? all[place] : 1;
}

Precision written_precision(config::RunOptions const& run, Precision of_field) {
  return run.output.precision == Precision::float32 ? Precision::float32 : of_field;
}

/// Whether files may hold less than there is.
bool is_reduced(config::RunOptions const& run) {
  return run.output.precision ||
         std::ranges::any_of(run.output.every_nth_point, [](std::int64_t n) { return n > 1; });
}

bool is_thinned(config::RunOptions const& run, Field const& field) {
  return run.has_grid && field.grid == run.grid;
}

convert::Thinning thinning_of(config::RunOptions const& run, Field const& field) {
  convert::Thinning thinning;
  thinning.points = field.grid.points;
  thinning.components = field.components;
  for (int axis = 0; axis < field.grid.dims && is_thinned(run, field); ++axis)
    thinning.every[axis] = every(run, axis);
  return thinning;
}

[[noreturn]] void fail_beyond(Field const& field, std::int64_t place, double value,
                              Clock const& clock) {
  throw NumericalError(fmt::format("{} is out of float32's reach (output.precision)", value),
                       clock.step, clock.time, field.name,
                       field.grid.indices(place / field.components));
}

template <class T, class F>
io::Slabs::Make thin_slabs(Field const& field, convert::Thinning const& thinning,
                           std::span<std::int64_t> beyond) {
  std::span const values(static_cast<T const*>(field.data),
                         static_cast<std::size_t>(field.values()));
  return [=](Stream& stream, std::uint64_t first_byte, std::span<std::byte> slab) {
    convert::thin<T, F>(stream, values, thinning, static_cast<std::int64_t>(first_byte / sizeof(F)),
                        {reinterpret_cast<F*>(slab.data()), slab.size() / sizeof(F)}, beyond);
  };
}

}  // namespace

Grid written_grid(config::RunOptions const& run) {
  Grid grid = run.grid;
  for (int axis = 0; axis < grid.dims; ++axis) {
    grid.points[axis] = (grid.points[axis] - 1) / every(run, axis) + 1;
    grid.spacing[axis] *= static_cast<double>(every(run, axis));
  }
  return grid;
}

Field written_form(config::RunOptions const& run, Field const& field) {
  Field written = field;
  if (is_thinned(run, field)) written.grid = written_grid(run);
  written.precision = written_precision(run, field.precision);
  return written;
}

std::size_t written_bytes(config::RunOptions const& run, config::FieldInfo const& field,
                          std::size_t bytes) {
  std::size_t values = bytes / size_of(run.precision);
  if (run.has_grid && !field.own_grid && run.grid.size() > 0)
    values = values / static_cast<std::size_t>(run.grid.size()) *
             static_cast<std::size_t>(written_grid(run).size());
  return values * size_of(written_precision(run, run.precision));
}

Reducer::Reducer(config::RunOptions const& run, Stream& stream, std::size_t fields)
    : run_(run),
      stream_(stream),
      beyond_(stream, MemorySpace::device, is_reduced(run) ? fields : 0) {
  std::vector<std::int64_t> const none(beyond_.size(), convert::all_fit);
  copy_async(beyond_.span(), std::span(none), stream);
}

io::Slabs::Make Reducer::make(Field const& field) {
  auto const thinning = thinning_of(run_, field);
  bool const narrows = written_precision(run_, field.precision) != field.precision;
  if (field.data == nullptr || (thinning.is_whole() && !narrows)) return nullptr;
  fields_.push_back(field);
  auto const beyond = beyond_.span().subspan(fields_.size() - 1, 1);
  if (narrows) return thin_slabs<double, float>(field, thinning, beyond);
  return field.precision == Precision::float32
             ? thin_slabs<float, float>(field, thinning, beyond)
             : thin_slabs<double, double>(field, thinning, beyond);
}

void Reducer::check(Clock const& clock) {
  if (fields_.empty()) return;
  std::vector<std::int64_t> found(fields_.size());
  copy_async(std::span(found), std::as_const(beyond_).span().first(found.size()), stream_);
  stream_.synchronize();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == convert::all_fit) continue;
    double value = 0;
    auto const* const place = static_cast<double const*>(fields_[i].data) + found[i];
    copy_async(std::span(&value, 1), std::span(place, 1), stream_);
    stream_.synchronize();
    fail_beyond(fields_[i], found[i], value, clock);
  }
}

namespace {

class RoundingSink final : public FieldSink {
 public:
  RoundingSink(FieldSink& target, Field field, convert::Thinning const& thinning,
               Clock const& clock)
      : FieldSink(2 * target.bytes()),
        target_(target),
        field_(std::move(field)),
        thinning_(thinning),
        clock_(clock) {}

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    if (first_byte % sizeof(double) != 0 || bytes.size() % sizeof(double) != 0)
      throw std::logic_error("a value of a field was torn apart");
    constexpr std::size_t most = 1 << 16;
    std::vector<float> rounded;
    auto place = static_cast<std::int64_t>(first_byte / sizeof(double));
    for (; !bytes.empty(); place += std::ssize(rounded)) {
      rounded.resize(std::min(most, bytes.size() / sizeof(double)));
      for (std::size_t i = 0; i < rounded.size(); ++i) {
        double value = 0;
        std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
        rounded[i] = static_cast<float>(value);
        if (std::isinf(rounded[i]) && std::isfinite(value))
          fail_beyond(field_, thinning_.place(place + static_cast<std::int64_t>(i)), value, clock_);
      }
      target_.write(static_cast<std::uint64_t>(place) * sizeof(float),
                    std::as_bytes(std::span(rounded)));
      bytes = bytes.subspan(rounded.size() * sizeof(double));
    }
  }

  FieldSink& target_;
  Field field_;
  convert::Thinning thinning_;
  Clock clock_;
};

}  // namespace

std::unique_ptr<FieldSink> rounding_sink(config::RunOptions const& run, FieldSink& target,
                                         Field const& field, Clock const& clock) {
  return std::make_unique<RoundingSink>(target, field, thinning_of(run, field), clock);
}

}  // namespace gridstride
