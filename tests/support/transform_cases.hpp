#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/convolution_cases.hpp"

/// Chains of steps over data that formulas give, on any device.
namespace gridstride::test {

/// What a run came to, in float64.
struct Transformed {
  std::map<std::string, std::vector<double>> fields;
  std::map<std::string, std::array<std::int64_t, 3>> points;
  std::map<std::string, double> numbers;
  std::vector<Table> tables;
};

inline Transformed transformed(Simulation& simulation, Stream& stream) {
  Transformed result;
  for (Field const& field : simulation.fields()) {
    if (field.data != nullptr) result.fields[field.name] = values_of(field, stream);
    result.points[field.name] = field.grid.points;
  }
  for (NamedValue const& number : simulation.diagnostics())
    if (!number.name.starts_with("seconds.")) result.numbers[number.name] = number.value;
  result.tables = simulation.tables();
  return result;
}

inline Transformed transform(std::string const& yaml, Backend backend) {
  OneShot done(yaml, backend);
  return transformed(*done.simulation, done.stream);
}

/// The bytes of a field that is written while it is made.
class MemorySink final : public FieldSink {
 public:
  explicit MemorySink(Field const& field) : FieldSink(field.bytes()), field_(field) {
    values_.resize(field.bytes());
  }
  std::vector<double> values() {
    require_whole();
    Stream host(Device::open(Backend::cpu));
    Field field = field_;
    field.data = values_.data();
    return values_of(field, host);
  }

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    std::ranges::copy(bytes, values_.begin() + static_cast<std::ptrdiff_t>(first_byte));
  }

  Field field_;
  std::vector<std::byte> values_;
};

/// The same where fields go to files. Each of them has two.
inline Transformed transform_to_files(std::string const& yaml, Backend backend) {
  auto const config = config_of(yaml);
  Stream stream(Device::open(backend));
  auto const simulation = entry_of(config).make(config, stream, inputs_of(config));
  std::vector<std::unique_ptr<MemorySink>> sinks;
  std::vector<FieldTarget> targets;
  for (Field const& field : simulation->fields())
    for (int copy = 0; field.data == nullptr && copy < 2; ++copy) {
      sinks.push_back(std::make_unique<MemorySink>(field));
      targets.push_back({field.name, sinks.back().get()});
    }
  EXPECT_FALSE(targets.empty());
  simulation->write_to(targets);
  simulation->advance(1, 0);
  auto result = transformed(*simulation, stream);
  for (std::size_t i = 0; i < targets.size(); i += 2) {
    result.fields[targets[i].field] = sinks[i]->values();
    EXPECT_EQ(sinks[i]->values(), sinks[i + 1]->values()) << targets[i].field;
  }
  return result;
}

/// Every step, every reduction and every mode of filters; `more` stands at the end.
inline std::string every_step(std::string const& points, std::string const& mode, bool line,
                              std::string const& precision, std::string const& more) {
  return fmt::format(
      "simulation: transform\nprecision: {}\ngrid: {{points: [{}], spacing: {}}}\n"
      "input: {{a: \"sin(7*x + 3*y) + 0.3*cos(2*z + 50*x)\", b: \"1 + mod(37*x + y + z, 5)\"}}\n"
      "steps:\n"
      "- formula: {{c: \"a*b - 0.5\", d: \"abs(c) + x\"}}\n"
      "- filter: {{c: [{{gaussian: {{sigma: 1.2, axis: {}}}}}, {{box: {{size: 3, axis: x}}}}]}}\n"
      "  mode: {}\n"
      "- difference: {{g: {{of: c, axis: {}, order: 2}}, f: {{of: a, axis: x}}}}\n"
      "- formula: {{h: \"g^2 + x\"}}\n"
      "- scan: {{s: {{of: c}}, m: {{of: a, operation: maximum}}{}}}\n"
      "- filter: {{s: {{box: {{size: 5, axis: {}}}}}}}\n"
      "- select: {{p: {{of: s, where: \"c > 0\"}}, q: {{of: g, where: \"x > 0.02\"}}}}\n"
      "- difference: {{r: {{of: s, axis: {}}}}}\n"
      "- sort: {{o: {{of: s}}, k: {{of: g}}}}\n"
      "reduce: [{{moments: c}}, {{norms: h}}, {{where_max: s}}, {{where_min: c}}, {{dot: [a, "
      "d]}},\n"
      "  {{integral: {{of: c, rule: simpson}}}}, {{integral: {{of: f}}}},\n"
      "  {{histogram: {{of: c, bins: 9}}}}, {{histogram: {{of: d, bins: 5, range: [0, 2]}}}},\n"
      "  {{quantiles: {{of: c, at: [0, 0.3, 0.5, 1]}}}}]\n"
      "{}\n",
      precision, points,
      line                                    ? "0.01"
      : points.find(',') == points.rfind(',') ? "[0.1, 0.2]"
                                              : "[0.1, 0.2, 0.3]",
      line ? "x" : "y", mode == "constant" ? "constant\n  value: 0.75" : mode, line ? "x" : "y",
      line ? ", i: {of: d, operation: integral}" : "", line ? "x" : "y", line ? "x" : "y", more);
}

inline void expect_same_bits(Transformed const& a, Transformed const& b) {
  EXPECT_EQ(a.points, b.points);
  for (auto const& [name, values] : a.fields) {
    auto const& others = b.fields.at(name);
    ASSERT_EQ(values.size(), others.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(std::memcmp(&values[i], &others[i], sizeof(double)), 0)
          << name << " at " << i << ": " << values[i] << " and " << others[i];
  }
  ASSERT_EQ(a.numbers.size(), b.numbers.size());
  for (auto const& [name, value] : a.numbers)
    EXPECT_EQ(std::memcmp(&value, &b.numbers.at(name), sizeof(double)), 0)
        << name << ": " << value << " and " << b.numbers.at(name);
  ASSERT_EQ(a.tables.size(), b.tables.size());
  for (std::size_t t = 0; t < a.tables.size(); ++t)
    for (std::size_t c = 0; c < a.tables[t].columns.size(); ++c)
      EXPECT_EQ(a.tables[t].columns[c].numbers, b.tables[t].columns[c].numbers) << a.tables[t].name;
}

}  // namespace gridstride::test
