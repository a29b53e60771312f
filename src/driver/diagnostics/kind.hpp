#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "core/rank_sums.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "io/result_info.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/reduce/reduce.hpp"
#include "model/own_parts.hpp"
#include "model/simulation.hpp"

/// What a kind of diagnostics is made of. Each is a file of this folder and a row of `kinds.cpp`.
namespace gridstride {

/// A field of T (float or double) as diagnostics look at it, in the memory of the stream's device.
template <class T>
struct FieldLook {
  Field const& field;
  std::span<T const> values;
  Stream& stream;
  reduce::Moments<T> moments = {};  ///< of all values, which are finite; known to `collect` alone
  /// Where each of several ranks has a part of the values, in the place of `values`; and which of its numbers
  /// they are. Of the moments only the extremes are known then.
  OwnParts<T> const* parts = nullptr;
  std::size_t number = 0;
};

/// Of zeros of both signs either may be found to be the least, or the greatest: here it is the same.
template <class T>
T one_zero(T value) {
  return value == 0 ? T{0} : value;
}

/// Has the values of a look counted by `count(values, before)`, which queues it for some of them, into
/// `counts` in the memory of the stream's device. Of ranks all call it, and each has the counts of all.
template <class T, class Count>
void count_values(FieldLook<T> const& look, std::span<std::int64_t> counts, Count const& count) {
  using histogram::Before;
  if (look.parts == nullptr) return count(look.values, Before::forgotten);
  zero_async(counts, look.stream);
  look.parts->for_own(look.number,
                      [&](std::span<T const> values) { count(values, Before::added_to); });
  if (look.stream.backend() == Backend::cpu) return add_counts(look.parts->ranks, counts);
  std::vector<std::int64_t> all(counts.size());
  copy_async(std::span(all), std::span<std::int64_t const>(counts), look.stream);
  look.stream.synchronize();
  add_counts(look.parts->ranks, all);
  copy_async(counts, std::span<std::int64_t const>(all), look.stream);
  look.stream.synchronize();
}

/// Finds what the entries of one kind ask for in fields like the one that it was made for, or in those that
/// ranks have parts of.
template <class T>
class FieldFinder {
 public:
  virtual ~FieldFinder() = default;
  /// Queues what needs no moments. What it finds is there when `collect` is called.
  virtual void queue(FieldLook<T> const&) {}
  /// Adds the values in the order of their names, and the histograms in that of theirs.
  virtual void collect(FieldLook<T> const& look, std::vector<double>& values,
                       std::vector<Histogram>& histograms) = 0;
};

/// All fields of a moment, in the memory of the stream's device.
struct Scene {
  std::span<Field const> fields;
  Clock clock;
  Stream& stream;
};

/// Finds what the entries of one kind ask for in all fields together.
class SceneFinder {
 public:
  virtual ~SceneFinder() = default;
  virtual void queue(Scene const& scene) = 0;
  /// Adds the values in the order of their names.
  virtual void collect(Scene const& scene, std::vector<double>& values) = 0;
};

/// Device memory beside the fields.
struct DiagnosticBytes {
  std::size_t kept = 0;     ///< for the whole run
  std::size_t passing = 0;  ///< while the kind is at work
};

/// One row of the table of kinds. A kind finds its values in each field by itself, or in all of
/// them together; functions of the other way, and others that it does not need, are null.
struct DiagnosticRow {
  using Names = std::vector<std::string>;
  config::DiagnosticKind kind;

  /// The names of the values that the run's entries of this kind give of a field with one number at
  /// each point, which a component of a vector and a magnitude are too.
  Names (*names)(config::RunOptions const& run, Field const& field) = nullptr;
  std::vector<io::HistogramInfo> (*histograms)(config::RunOptions const& run,
                                               Field const& field) = nullptr;
  std::unique_ptr<FieldFinder<float>> (*float32)(config::RunOptions const& run, Field const& field,
                                                 Stream& stream) = nullptr;
  std::unique_ptr<FieldFinder<double>> (*float64)(config::RunOptions const& run, Field const& field,
                                                  Stream& stream) = nullptr;

  /// Where entries are found by parts (`is_found_by_parts`) without finders: the values of such a field, of which
  /// no more than this is known, in the order of their names; and the points whose values are asked for, null for
  /// none.
  std::vector<double> (*of_parts)(config::RunOptions const& run, Field const& field,
                                  FieldMoments const& known) = nullptr;
  std::vector<std::int64_t> (*places)(config::RunOptions const& run, Field const& field) = nullptr;

  Names (*names_of_all)(config::RunOptions const& run, std::span<Field const> fields) = nullptr;
  std::unique_ptr<SceneFinder> (*of_all)(config::RunOptions const& run,
                                         std::span<Field const> fields, Stream& stream) = nullptr;
  /// The same of fields of which ranks have parts: all call it, and the first one has the values.
  std::vector<double> (*parts_of_float32)(config::RunOptions const& run,
                                          OwnParts<float> const& parts) = nullptr;
  std::vector<double> (*parts_of_float64)(config::RunOptions const& run,
                                          OwnParts<double> const& parts) = nullptr;
  /// Null where it is not worth counting.
  DiagnosticBytes (*bytes)(config::RunOptions const& run) = nullptr;
};

/// Every kind there is, in the order in which values are given; the first is the default.
std::span<DiagnosticRow const> diagnostic_rows();

/// Whether the run's entries of this kind look at the field.
bool is_asked(DiagnosticRow const& row, config::RunOptions const& run, Field const& field);

/// A row's maker of a finder.
template <class Base, class Finder>
std::unique_ptr<Base> make_finder(config::RunOptions const& run, Field const& field,
                                  Stream& stream) {
  return std::make_unique<Finder>(run, field, stream);
}

/// What the entries of one kind ask for, in their order.
template <class Options>
std::vector<Options const*> asked_for(config::RunOptions const& run) {
  std::vector<Options const*> found;
  for (auto const& entry : run.diagnostics)
    if (auto const* options = dynamic_cast<Options const*>(entry.options.get()))
      found.push_back(options);
  return found;
}

/// The same, as far as it is of one field; `Options` has a member `field`.
template <class Options>
std::vector<Options const*> asked_for(config::RunOptions const& run, Field const& field) {
  auto found = asked_for<Options>(run);
  std::erase_if(found, [&](Options const* options) { return options->field != field.name; });
  return found;
}

/// The variant of a kernel family that a run names, or `auto`.
std::string variant_of(config::RunOptions const& run, std::string_view family);

/// The key `field` of an entry, which may be left out where there is only one.
void declare_field(config::Visitor& visitor, config::RunOptions const& run, std::string& field);

/// The unit of a field, `1` for an unknown one.
std::string unit_of(config::RunOptions const& run, std::string_view field);

/// Whether a field lies on another grid than the file's.
bool has_own_grid(config::RunOptions const& run, std::string_view field);

/// The path of an element of a list with `size` of them, which stands alone when it is the only
/// one.
std::string element_key(std::string_view list, std::size_t i, std::size_t size);

}  // namespace gridstride
