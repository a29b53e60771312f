// Diagnostics of fields of which each of several ranks has a part.

#include <utility>

#include "driver/diagnostics.hpp"
#include "driver/diagnostics/kind.hpp"
#include "driver/diagnostics/numbers.hpp"

namespace gridstride {

std::vector<NumberLook> looks_of(config::RunOptions const& run, std::span<Field const> fields) {
  std::vector<NumberLook> looks;
  for (Field const& number : numbers_of_all(run.fields, fields)) {
    NumberLook& look = looks.emplace_back();
    for (DiagnosticRow const& row : diagnostic_rows()) {
      look.is_asked_for = look.is_asked_for || is_asked(row, run, number);
      if (row.places != nullptr)
        for (std::int64_t const place : row.places(run, number)) look.places.push_back(place);
    }
  }
  return looks;
}

namespace {

/// What all ranks call finders for, in the same order; what follows from moments alone is the first one's.
class DiagnosticsOfParts final : public PartsFinder {
 public:
  DiagnosticsOfParts(config::RunOptions const& run, std::span<Field const> fields)
      : run_(run),
        fields_(fields.begin(), fields.end()),
        numbers_(numbers_of_all(run.fields, fields)) {}

  void find(OwnParts<float> const& parts, FoundByParts& found) override {
    find_numbers(parts, found);
    for (DiagnosticRow const& row : diagnostic_rows())
      if (row.parts_of_float32) add(row, row.parts_of_float32(run_, parts), found.measured);
  }
  void find(OwnParts<double> const& parts, FoundByParts& found) override {
    find_numbers(parts, found);
    for (DiagnosticRow const& row : diagnostic_rows())
      if (row.parts_of_float64) add(row, row.parts_of_float64(run_, parts), found.measured);
  }

 private:
  template <class T>
  void find_numbers(OwnParts<T> const& parts, FoundByParts& found) {
    for (std::size_t number = 0; number < numbers_.size(); ++number)
      for (DiagnosticRow const& row : diagnostic_rows()) {
        if (!is_asked(row, run_, numbers_[number])) continue;
        auto const values = row.of_parts == nullptr ? look(row, parts, number, found.measured)
                            : parts.ranks.is_first()
                                ? row.of_parts(run_, numbers_[number], found.moments[number])
                                : std::vector<double>();
        for (std::size_t i = 0; i < values.size(); ++i)
          found.measured.values.push_back({row.names(run_, numbers_[number])[i], values[i]});
      }
  }

  void add(DiagnosticRow const& row, std::vector<double> const& values,
           Measurement& measured) const {
    auto const names = row.names_of_all(run_, fields_);
    for (std::size_t i = 0; i < values.size(); ++i)
      measured.values.push_back({names[i], values[i]});
  }

  template <class T>
  std::vector<double> look(DiagnosticRow const& row, OwnParts<T> const& parts, std::size_t number,
                           Measurement& measured) const {
    Field const& field = numbers_[number];
    Stream stream = parts.stream;
    FieldLook<T> look{field, {}, stream};
    look.parts = &parts;
    look.number = number;
    look.moments.minimum = parts.extremes[number].minimum;
    look.moments.maximum = parts.extremes[number].maximum;
    std::vector<double> values;
    if constexpr (precision_of<T>() == Precision::float32)
      row.float32(run_, field, stream)->collect(look, values, measured.histograms);
    else
      row.float64(run_, field, stream)->collect(look, values, measured.histograms);
    return values;
  }

  config::RunOptions const& run_;
  std::vector<Field> fields_, numbers_;
};

}  // namespace

std::shared_ptr<PartsFinder> parts_finder(config::RunOptions const& run,
                                          std::span<Field const> fields) {
  if (run.diagnostics.empty()) return nullptr;
  return std::make_shared<DiagnosticsOfParts>(run, fields);
}

}  // namespace gridstride
