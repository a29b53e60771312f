#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/timing.hpp"
#include "bench/workload.hpp"

/// `gridstride bench`: what the variants of the kernel families take, beside what the machine can
/// do.
namespace gridstride::bench {

/// What to measure; what is empty stands for everything.
struct Selection {
  std::string family = {};
  std::string type = {};
  std::string variant = {};
  std::int64_t size = 0;  ///< elements, rows of matrices; 0: each workload's own
};

/// The roof that binds, and the time of a run there: no variant under it can be faster.
struct Bound {
  std::string_view roof = {};
  std::string_view unit = {};
  double seconds = 0;
};

/// Why a variant has no time, or its time.
struct VariantResult {
  Row row;
  std::optional<Timing> timing = {};
  std::string remark = {};  ///< why there is none: it does not take the work, or what is wrong
  /// It disagrees with the reference or, at full size, with another variant; its error is too
  /// large; or it is the default and does not take the work.
  bool wrong = false;
  Bound bound = {};
  std::optional<double> error = {};  ///< of workloads that tell one
};

/// A workload, measured.
struct Measurement {
  Workload workload;
  std::int64_t size;
  Work work;
  int sets;
  Bound bound;          ///< of the workload itself
  std::string checked;  ///< what the results were compared with
  std::vector<VariantResult> variants;

  /// Seconds of the vendor's row; empty where there is none.
  std::optional<double> vendor_seconds() const;
};

/// The workloads of a backend that are asked for, with the rows that are. Throws `ConfigError` for
/// a name that there is not.
std::vector<Workload> select(Selection const& selection, Backend backend);

/// Checks every row of a workload, against the reference or by its accuracy, and times it for about
/// `budget_seconds`. `size` 0 is the workload's own, made smaller where memory is short. `progress`
/// is told each variant's name.
Measurement measure(Stream& stream, Workload const& workload, std::int64_t size,
                    std::vector<machine::Roof> const& roofs,
                    std::function<void(std::string_view)> const& progress,
                    double budget_seconds = 0.3);

/// What is different between results of a run, in words; empty when nothing is.
std::string difference(Values const& expected, Values const& found);

}  // namespace gridstride::bench
