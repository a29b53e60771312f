#include "driver/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "driver/diagnostics/kind.hpp"
#include "driver/diagnostics/numbers.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/scan/scan.hpp"
#include "model/values.hpp"

namespace gridstride {

namespace {

template <class T>
std::span<T const> values_of(Field const& field) {
  return {static_cast<T const*>(field.data), static_cast<std::size_t>(field.values())};
}

/// Calls `body` with the field's values in their own type.
template <class Body>
auto with_values(Field const& field, Body const& body) {
  return field.precision == Precision::float32 ? body(values_of<float>(field))
                                               : body(values_of<double>(field));
}

std::vector<std::string> names_of(config::RunOptions const& run, Field const& field) {
  std::vector<std::string> all;
  for (DiagnosticRow const& row : diagnostic_rows())
    if (row.names)
      for (auto& name : row.names(run, field)) all.push_back(std::move(name));
  return all;
}

std::vector<std::string> names_of_all(config::RunOptions const& run,
                                      std::span<Field const> fields) {
  std::vector<std::string> all;
  for (DiagnosticRow const& row : diagnostic_rows())
    if (row.names_of_all)
      for (auto& name : row.names_of_all(run, fields)) all.push_back(std::move(name));
  return all;
}

std::vector<io::HistogramInfo> histograms_of(config::RunOptions const& run, Field const& field) {
  std::vector<io::HistogramInfo> all;
  for (DiagnosticRow const& row : diagnostic_rows())
    if (row.histograms)
      for (auto& info : row.histograms(run, field)) all.push_back(std::move(info));
  return all;
}

bool is_asked(config::RunOptions const& run, Field const& field) {
  return std::ranges::any_of(diagnostic_rows(),
                             [&](auto const& row) { return is_asked(row, run, field); });
}

bool may_have_gaps(config::RunOptions const& run) {
  return run.simulation != nullptr && run.simulation->has_gaps;
}

/// What `NumericalError` says of a value that is not finite.
[[noreturn]] void throw_not_finite(Field const& field, Clock const& clock, std::int64_t index,
                                   double value, std::span<config::FieldInfo const> infos) {
  throw NumericalError(std::isnan(value) ? "NaN" : "infinity", clock.step, clock.time,
                       number_name(infos, field, static_cast<int>(index % field.components)),
                       field.grid.indices(index / field.components));
}

/// The same for a value in the memory of the stream's device.
template <class T>
[[noreturn]] void throw_not_finite(FieldLook<T> const& look, Clock const& clock, std::int64_t index,
                                   std::span<config::FieldInfo const> infos) {
  T value = 0;
  copy_async(std::span(&value, 1), look.values.subspan(static_cast<std::size_t>(index), 1),
             look.stream);
  look.stream.synchronize();
  throw_not_finite(look.field, clock, index, static_cast<double>(value), infos);
}

/// What is asked for of what has one number of T, float or double, at each point.
template <class T>
class NumberDiagnostics {
 public:
  NumberDiagnostics(config::RunOptions const& run, Field const& field, Stream& stream)
      : reduce_variant_(reduce::variant_of_blocks(variant_of(run, "reduce"), stream.backend())),
        may_have_gaps_(may_have_gaps(run)),
        names_(names_of(run, field)),
        histograms_(histograms_of(run, field)),
        moments_(stream, MemorySpace::pinned, 1) {
    for (DiagnosticRow const& row : diagnostic_rows()) {
      if (!is_asked(row, run, field)) continue;
      if constexpr (precision_of<T>() == Precision::float32)
        finders_.push_back(row.float32(run, field, stream));
      else
        finders_.push_back(row.float64(run, field, stream));
    }
  }

  /// Adds what it finds in the field to `result`: NaN, and counts of 0, where the field has gaps.
  void measure(Field const& field, Clock const& clock, Stream& stream, Measurement& result) {
    FieldLook<T> look{field, values_of<T>(field), stream};
    look.moments = read(look);
    if (std::int64_t const index = look.moments.first_non_finite; index >= 0) {
      if (may_have_gaps_) return add_nothing(result);
      throw_not_finite(look, clock, index, {});
    }
    std::vector<double> found;
    for (auto const& finder : finders_) finder->collect(look, found, result.histograms);
    for (std::size_t i = 0; i < found.size(); ++i) result.values.push_back({names_[i], found[i]});
  }

 private:
  using Moments = reduce::Moments<T>;

  /// What one read of the field tells, with all that does not wait for it.
  Moments read(FieldLook<T> const& look) {
    // The first allocation makes the stream's device that of the calling thread.
    Buffer<Moments> moments(look.stream, MemorySpace::device, 1);
    reduce::moments<T>(look.stream, look.values, moments.span(), reduce_variant_);
    for (auto const& finder : finders_) finder->queue(look);
    copy_async(moments_.span(), moments.span(), look.stream);
    look.stream.synchronize();
    return moments_.span()[0];
  }

  void add_nothing(Measurement& result) const {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    for (std::string const& name : names_) result.values.push_back({name, unknown});
    for (auto const& [name, bins] : histograms_) {
      auto const size = static_cast<std::size_t>(bins);
      result.histograms.push_back(
          {name, std::vector<std::int64_t>(size), std::vector<double>(size + 1, unknown)});
    }
  }

  std::string reduce_variant_;
  bool may_have_gaps_;
  std::vector<std::string> names_;  ///< of the values
  std::vector<io::HistogramInfo> histograms_;
  std::vector<std::unique_ptr<FieldFinder<T>>> finders_;
  Buffer<Moments> moments_;  ///< in pinned memory, what the device found
};

/// What is asked for of a field. Of a vector, all values are looked through; then what is asked for
/// is brought side by side, one after the other.
template <class T>
class FieldDiagnostics {
 public:
  FieldDiagnostics(config::RunOptions const& run, Field const& field, Stream& stream)
      : infos_(run.fields),
        may_have_gaps_(may_have_gaps(run)),
        reduce_variant_(variant_of(run, "reduce")) {
    auto const numbers = numbers_of(run.fields, field);
    is_scalar_ = numbers.size() == 1;
    for (auto const& [number, component] : numbers)
      if (is_scalar_ || is_asked(run, number))
        numbers_.push_back({number, component, NumberDiagnostics<T>(run, number, stream)});
  }

  void measure(Field const& field, Clock const& clock, Stream& stream, Measurement& result) {
    if (is_scalar_) return numbers_.front().diagnostics.measure(field, clock, stream, result);
    FieldLook<T> const all{field, values_of<T>(field), stream};
    std::int64_t const index = first_non_finite(stream, all.values, reduce_variant_);
    if (index >= 0 && !may_have_gaps_) throw_not_finite(all, clock, index, infos_);
    if (numbers_.empty()) return;
    Buffer<T> values(stream, MemorySpace::device, static_cast<std::size_t>(field.grid.size()));
    for (auto& [number, component, diagnostics] : numbers_) {
      extract<T>(stream, all.values, field.components, component, values.span());
      number.data = values.data();
      diagnostics.measure(number, clock, stream, result);
    }
  }

 private:
  struct Number {
    Field field;
    int component;
    NumberDiagnostics<T> diagnostics;
  };

  std::vector<config::FieldInfo> infos_;
  bool may_have_gaps_;
  bool is_scalar_ = true;
  std::string reduce_variant_;
  std::vector<Number> numbers_;
};

std::vector<Field> together(std::span<Field const> fields, std::span<Field const> quantities) {
  std::vector<Field> all(fields.begin(), fields.end());
  all.insert(all.end(), quantities.begin(), quantities.end());
  return all;
}

}  // namespace

struct Diagnostics::State {
  Stream stream;
  std::vector<std::variant<FieldDiagnostics<float>, FieldDiagnostics<double>>> fields = {};
  std::vector<std::unique_ptr<SceneFinder>> of_all = {};
  std::vector<std::string> names_of_all = {};
};

Diagnostics::Diagnostics(config::RunOptions const& run, std::span<Field const> fields,
                         Stream const& stream, std::span<Field const> quantities)
    : state_(std::make_unique<State>(stream)) {
  for (Field const& field : fields) {
    if (field.precision == Precision::float32)
      state_->fields.emplace_back(FieldDiagnostics<float>(run, field, state_->stream));
    else
      state_->fields.emplace_back(FieldDiagnostics<double>(run, field, state_->stream));
  }
  state_->names_of_all = names_of_all(run, fields);
  auto const all = together(fields, quantities);
  for (DiagnosticRow const& row : diagnostic_rows())
    if (row.of_all && !row.names_of_all(run, fields).empty())
      state_->of_all.push_back(row.of_all(run, all, state_->stream));
}

Diagnostics::Diagnostics(Diagnostics&&) noexcept = default;
Diagnostics& Diagnostics::operator=(Diagnostics&&) noexcept = default;
Diagnostics::~Diagnostics() = default;

Measurement Diagnostics::measure(std::span<Field const> fields, Clock const& clock,
                                 std::span<Field const> quantities) {
  Measurement result;
  for (std::size_t i = 0; i < fields.size(); ++i)
    std::visit([&](auto& field) { field.measure(fields[i], clock, state_->stream, result); },
               state_->fields[i]);
  auto const all = together(fields, quantities);
  Scene const scene{all, clock, state_->stream};
  std::vector<double> found;
  for (auto const& finder : state_->of_all) finder->queue(scene);
  if (!state_->of_all.empty()) state_->stream.synchronize();
  for (auto const& finder : state_->of_all) finder->collect(scene, found);
  for (std::size_t i = 0; i < found.size(); ++i)
    result.values.push_back({state_->names_of_all[i], found[i]});
  return result;
}

std::vector<std::string> diagnostic_names(config::RunOptions const& run,
                                          std::span<Field const> fields) {
  std::vector<std::string> names;
  for (Field const& number : numbers_of_all(run.fields, fields))
    for (auto& name : names_of(run, number)) names.push_back(std::move(name));
  for (auto& name : names_of_all(run, fields)) names.push_back(std::move(name));
  return names;
}

std::vector<io::HistogramInfo> histogram_infos(config::RunOptions const& run,
                                               std::span<Field const> fields) {
  std::vector<io::HistogramInfo> infos;
  for (Field const& number : numbers_of_all(run.fields, fields))
    for (auto& info : histograms_of(run, number)) infos.push_back(std::move(info));
  return infos;
}

std::span<config::DiagnosticKind const> diagnostic_kinds() {
  static std::vector<config::DiagnosticKind> const kinds = [] {
    std::vector<config::DiagnosticKind> all;
    for (DiagnosticRow const& row : diagnostic_rows()) all.push_back(row.kind);
    return all;
  }();
  return kinds;
}

namespace {

/// Of vectors, one component at a time is brought side by side.
std::size_t bytes_of_a_component(config::RunOptions const& run, MemoryForecast const& memory) {
  std::size_t most = 0;
  for (config::FieldInfo const& field : run.fields) {
    auto const numbers = diagnosed_numbers(std::span(&field, 1));
    bool const asked = std::ranges::any_of(numbers, [&](config::FieldInfo const& number) {
      Field named;
      named.name = number.name;
      return is_asked(run, named);
    });
    if (asked && !field.components.empty())
      most = std::max(most, memory.bytes_of(field) / field.components.size());
  }
  return most;
}

}  // namespace

/// What looks at each field by itself comes before what looks at all.
std::size_t diagnostics_bytes(config::RunOptions const& run, MemoryForecast const& memory) {
  std::size_t all_kept = 0, of_fields = 0, of_all = 0;
  for (DiagnosticRow const& row : diagnostic_rows()) {
    if (!row.bytes) continue;
    auto const [kept, passing] = row.bytes(run);
    all_kept += kept;
    auto& most = row.of_all ? of_all : of_fields;
    most = std::max(most, passing);
  }
  return all_kept + std::max(of_fields + bytes_of_a_component(run, memory), of_all);
}

std::string diagnostics_refusal(std::string_view family, std::string_view variant,
                                Device const& device) {
  Stream stream(device);
  Buffer<double> values(stream, MemorySpace::device, 1);
  Buffer<reduce::Moments<double>> moments(stream, MemorySpace::device, 1);
  Buffer<std::int64_t> counts(stream, MemorySpace::device, histogram::max_bins);
  zero_async(values.span(), stream);
  zero_async(counts.span(), stream);
  try {
    if (family == "reduce") reduce::moments<double>(stream, values.span(), moments.span(), variant);
    if (family == "histogram")
      histogram::count_even<double>(stream, values.span(), 0, 1, counts.span(), variant);
    if (family == "scan")
      scan::inclusive_sum<std::int64_t>(stream, counts.span(), counts.span(), variant);
    stream.synchronize();
    return {};
  } catch (std::invalid_argument const& refusal) {
    return refusal.what();
  }
}

void require_finite(Field const& field, Clock const& clock, Stream& stream,
                    std::span<config::FieldInfo const> infos) {
  with_values(field, [&]<class T>(std::span<T const> values) {
    std::int64_t const index = first_non_finite<T>(stream, values, "auto");
    if (index >= 0) throw_not_finite(FieldLook<T>{field, values, stream}, clock, index, infos);
  });
}

}  // namespace gridstride
