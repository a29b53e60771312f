#include "driver/diagnostics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/buffer.hpp"
#include "core/root_mean_square.hpp"
#include "driver/field_diagnostics.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/scan/scan.hpp"

namespace gridstride {

namespace {

/// Calls `body` with the field's values in their own type.
template <class Body>
auto with_values(Field const& field, Body const& body) {
  return field.precision == Precision::float32 ? body(values_of<float>(field))
                                               : body(values_of<double>(field));
}

}  // namespace

struct Diagnostics::State {
  Stream stream;
  std::vector<std::variant<FieldDiagnostics<float>, FieldDiagnostics<double>>> fields = {};
};

Diagnostics::Diagnostics(config::RunOptions const& run, std::span<Field const> fields,
                         Stream const& stream)
    : state_(std::make_unique<State>(stream)) {
  for (Field const& field : fields) {
    if (field.precision == Precision::float32)
      state_->fields.emplace_back(FieldDiagnostics<float>(run, field, state_->stream));
    else
      state_->fields.emplace_back(FieldDiagnostics<double>(run, field, state_->stream));
  }
}

Diagnostics::Diagnostics(Diagnostics&&) noexcept = default;
Diagnostics& Diagnostics::operator=(Diagnostics&&) noexcept = default;
Diagnostics::~Diagnostics() = default;

Measurement Diagnostics::measure(std::span<Field const> fields, Clock const& clock) {
  Measurement result;
  for (std::size_t i = 0; i < fields.size(); ++i)
    std::visit([&](auto& field) { field.measure(fields[i], clock, state_->stream, result); },
               state_->fields[i]);
  return result;
}

std::vector<std::string> diagnostic_names(config::DiagnosticsOptions const& options,
                                          std::span<Field const> fields) {
  std::vector<std::string> names;
  for (Field const& field : fields)
    for (auto& name : diagnostic_names(options, field)) names.push_back(std::move(name));
  return names;
}

std::vector<io::HistogramInfo> histogram_infos(config::DiagnosticsOptions const& options,
                                               std::span<Field const> fields) {
  std::vector<io::HistogramInfo> infos;
  for (Field const& field : fields)
    for (auto& info : histogram_infos(options, field)) infos.push_back(std::move(info));
  return infos;
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

void require_finite(Field const& field, Clock const& clock) {
  Stream host(Device::open(Backend::cpu));
  with_values(field, [&]<class T>(std::span<T const> values) {
    reduce::Moments<T> moments;
    reduce::moments<T>(host, values, std::span(&moments, 1));
    if (std::int64_t const index = moments.first_non_finite; index >= 0)
      throw_not_finite(field, clock, index,
                       static_cast<double>(values[static_cast<std::size_t>(index)]));
  });
}

ErrorNorms error_norms(Field const& field, expression::Expression const& exact, double time) {
  RootMeanSquare errors;
  double maximum = 0;
  with_values(field, [&](auto values) {
    evaluate::for_each_slab(exact, field.grid, time, [&](evaluate::Slab const& slab) {
      for (std::size_t i = 0; i < slab.values.size(); ++i) {
        auto const value = static_cast<double>(values[static_cast<std::size_t>(slab.first) + i]);
        double const error = std::abs(value - slab.values[i]);
        errors.add(error);
        if (std::isnan(error) || error > maximum) maximum = error;
      }
    });
  });
  return {errors.value(), maximum};
}

}  // namespace gridstride
