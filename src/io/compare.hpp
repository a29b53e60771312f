#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/result.hpp"

namespace gridstride::io {

/// How one field of `a` differs from that of `b`, over all steps and points.
struct FieldDifference {
  std::string name;
  double max_absolute = 0;      ///< max |a-b|
  double max_relative = 0;      ///< max |a-b| / |b|, infinite where b alone is zero
  double l2 = 0;                ///< the largest sqrt(mean (a-b)²) of a step
  std::int64_t violations = 0;  ///< points with |a-b| > atol + rtol·|b|, or NaN in one alone

  /// The point with the largest |a-b| / (atol + rtol·|b|).
  std::size_t time_index = 0;
  double time = 0;
  std::array<std::int64_t, 3> indices = {0, 0, 0};
  int component = -1;  ///< of a vector, from 0 on
  double value_a = 0;
  double value_b = 0;
};

struct Comparison {
  std::vector<std::string> mismatches;  ///< in names, shapes, units, steps and times
  std::vector<std::string> notes;       ///< types and steps that differ, where a tolerance is given
  std::vector<FieldDifference> fields;  ///< of the fields that could be compared
  std::vector<FieldDifference> columns;  ///< of tables, as `peaks.value`; the first index is a row

  bool equal() const;
  /// A table of the fields, the mismatches and the verdict, for people.
  std::string table() const;
};

/// Compares `a` with the reference `b`, one output at a time. Names, shapes, units, the number of
/// outputs, their times and the places of grids (relative 1e-12) must agree, and so must every value
/// within |a-b| <= atol + rtol·|b|; where both tolerances are 0 also types of fields, times to the
/// last bit, and how many steps the run had made at each output. Of tables, columns, their types and
/// the number of rows must agree too; whole numbers are the same or differ, whatever the tolerance.
/// NaN agrees with NaN alone, an infinity with itself alone. Files without a step, or without a field
/// and a table, do not agree: nothing shows that they do. Throws `std::invalid_argument` for a
/// tolerance that is negative or not finite. Diagnostics follow from the fields and are not compared:
/// a value that one rounding moves over a bin's edge changes two counts.
Comparison compare(ResultFile const& a, ResultFile const& b, double rtol, double atol);
/// The same for files, or directories that hold exactly one `.h5`.
Comparison compare(std::filesystem::path const& a, std::filesystem::path const& b, double rtol,
                   double atol);

}  // namespace gridstride::io
