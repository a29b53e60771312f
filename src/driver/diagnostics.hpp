#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "io/result_info.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// The kinds of diagnostics, as configs know them.
std::span<config::DiagnosticKind const> diagnostic_kinds();

/// The names of the values that a run's diagnostics give, in their order: `u.min`, `u(0.5, 0.5)`,
/// `u.q0.95`.
std::vector<std::string> diagnostic_names(config::RunOptions const& run,
                                          std::span<Field const> fields);

/// The histograms that they give, in their order: `u.histogram`, a second one `u.histogram.2`.
std::vector<io::HistogramInfo> histogram_infos(config::RunOptions const& run,
                                               std::span<Field const> fields);

/// Computes what a run's options ask for, by kernels, where the fields are. Per field, and of a
/// vector for each component and the magnitude (`numbers_of`), which are brought side by side:
///
/// - One read gives minimum, maximum, sum, sum of squares and the first value that is not finite.
///   `norms` are minimum, maximum, mean and l2 = sqrt(mean of squares).
/// - A probe gathers the 2^dims values around its point, for multilinear interpolation.
/// - Each histogram is one read. The bins of a given range are compared with their edges; those
///   over the field's own range follow from it, and its greatest value lies in the last one. A
///   range too narrow for the bins is widened by 0.5 on both sides, or by what the field's type can
///   tell apart; one that overflows the type leaves counts of 0 and edges of NaN.
/// - The quantile q is the value of rank ⌈q·n⌉ of n, at least 1. The first and the last rank are
///   exact. For others, cumulated counts of 8192 bins over the field's range find the bin of the
///   rank (one read for all quantiles), those of 8192 bins within that bin the value (one read for
///   each); it is less than range/8192², or the spacing of the field's type, from the true one.
///
/// Of all fields on the grid of the file together: integrals and extremes of formulas.
///
/// - A formula is evaluated in float64 on about a million points at a time. An integral sums its
///   values in float64, with the weights of the trapezoidal rule: half at the ends of an axis that
///   is not periodic. The point of an extreme is the first one with that value in the order of
///   memory.
///
/// The same field gives the same bits every time, on the host for any number of threads.
class Diagnostics {
 public:
  /// For fields like these, in the memory of the stream's device. Throws `std::invalid_argument`
  /// for a vector that does not have the components that the run knows of, and for a field on
  /// another grid where only the file's can be.
  /// Formulas may be of `quantities`, too (`Simulation::quantities`).
  Diagnostics(config::RunOptions const& run, std::span<Field const> fields, Stream const& stream,
              std::span<Field const> quantities = {});
  Diagnostics(Diagnostics&&) noexcept;
  Diagnostics& operator=(Diagnostics&&) noexcept;
  ~Diagnostics();

  /// Queues the kernels on the stream and waits for it. Throws `NumericalError` for the first
  /// value, of a field or of a formula, that is not finite.
  Measurement measure(std::span<Field const> fields, Clock const& clock,
                      std::span<Field const> quantities = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a run asks for of fields that nobody has as a whole, number by number (`numbers_of`).
std::vector<NumberLook> looks_of(config::RunOptions const& run, std::span<Field const> fields);

/// What then finds it, with the bits of `Diagnostics`. Of kinds that are found by parts alone.
std::shared_ptr<PartsFinder> parts_finder(config::RunOptions const& run,
                                          std::span<Field const> fields);

/// Device memory that a run's diagnostics take beside the fields, as far as it is worth counting.
std::size_t diagnostics_bytes(config::RunOptions const& run, MemoryForecast const& memory);

/// Why a variant of a kernel family cannot serve the diagnostics on a device; empty when it can, or
/// when diagnostics do not use the family.
std::string diagnostics_refusal(std::string_view family, std::string_view variant,
                                Device const& device);

/// Throws `NumericalError` for the first value that is not finite of a field in the memory of the
/// stream's device; `infos` tell what components of vectors are called.
void require_finite(Field const& field, Clock const& clock, Stream& stream,
                    std::span<config::FieldInfo const> infos = {});

}  // namespace gridstride
