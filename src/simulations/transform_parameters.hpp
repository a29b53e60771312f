#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/limits.hpp"
#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "kernels/spectrum/spectrum.hpp"
#include "simulations/filters.hpp"

/// What a config says of a chain of steps over data, for the simulation's own files.
namespace gridstride::transform {

template <class T>
using Named = std::vector<std::pair<std::string, T>>;

struct DifferenceOptions {
  std::string of;
  std::string axis;  ///< empty: left out, which fits one axis alone
  std::int64_t order = 1;
};

struct ScanOptions {
  std::string of;
  std::string operation = "sum";
};

struct SelectOptions {
  std::string of;
  config::Formula where;
};

struct SortOptions {
  std::string of;
};

struct SpectrumOptions {
  std::string of;
  std::int64_t segment = 256;  ///< samples
  double overlap = 0.5;        ///< in segments
  std::string window = "hann";
  std::string detrend = "constant";

  /// Of samples so far apart.
  spectrum::Options of_samples(double spacing) const;
};

/// One entry of `steps`; which members count depends on the kind.
struct StepOptions {
  enum Kind { none = -1, formula, filter, difference, scan, select, sort, spectrum };
  int kind = none;
  Named<config::Formula> formulas = {};
  Named<std::vector<convolution::FilterOptions>> filters = {};
  std::array<convolve::Boundary, 3> modes = {};
  double value = 0;
  Named<DifferenceOptions> differences = {};
  Named<ScanOptions> scans = {};
  Named<SelectOptions> selections = {};
  Named<SortOptions> sorts = {};
  Named<SpectrumOptions> spectra = {};
};

/// One entry of `reduce`; which members count depends on the kind.
struct ReduceOptions {
  enum Kind {
    none = -1,
    moments,
    norms,
    where_max,
    where_min,
    dot,
    integral,
    histogram,
    quantiles
  };
  int kind = none;
  std::string of = {};
  std::vector<std::string> factors = {};  ///< of a dot product
  std::string rule = "trapezoid";         ///< of an integral
  std::int64_t bins = 64;                 ///< of a histogram
  std::vector<double> range = {};         ///< the same; empty: from the least to the greatest value
  std::vector<double> at = {};            ///< fractions of quantiles
};

/// The points that the data lie at. Those of files tell how many there are.
struct GridOptions {
  std::vector<std::int64_t> points = {};
  std::vector<double> lower = {};
  std::vector<double> upper = {};
  std::vector<double> spacing = {};
};

/// What a name is that no later step can use.
inline constexpr std::string_view is_table = "a table", is_ending = "known only at the end";

/// An array of the chain as far as its definition tells, wherever the data come from.
struct Known {
  std::string name;
  std::array<std::int64_t, 3> fewer = {};  ///< points along each axis than the data have
  std::string_view result = "";            ///< what it is where it is no array
};

class Parameters final : public config::ParameterSet {
 public:
  Named<config::FieldSource> inputs;
  GridOptions grid;
  std::vector<StepOptions> steps;
  std::vector<ReduceOptions> reductions;
  config::Limits limits;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;
  std::vector<config::FieldInfo> fields_of(config::RunOptions const& run) const override;
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// The table of an array's histogram.
inline std::string histogram_name(std::string_view array) {
  return std::string(array) + "_histogram";
}

/// The arrays there are, in the order that they are named in, before step number `step`.
std::vector<Known> known_before(Parameters const& parameters, std::size_t step);

/// Declares one entry of `steps`, which may use the names that are known.
void declare_step(config::Visitor& visitor, config::Spec const& spec,
                  convolution::FilterSetting const& setting, std::vector<Known> known,
                  StepOptions& step);

/// What a formula of arrays that are known makes.
Known known_by(std::string name, config::Formula const& formula, std::vector<Known> const& known);

/// The number of an axis; an empty name is that of the one there is.
std::size_t axis_of(std::string_view name);

/// Declares one entry of `reduce`.
void declare_reduction(config::Visitor& visitor, config::Spec const& spec,
                       std::vector<Known> const& known, ReduceOptions& reduction);

/// Reports a name that a new array cannot have, though formulas of the data would allow it.
void check_name(config::Visitor& visitor, config::Spec const& spec);

/// Declares a key whose value is one of the names that are known.
void declare_name(config::Visitor& visitor, config::Spec const& spec,
                  std::vector<Known> const& known, std::string& name);

}  // namespace gridstride::transform
