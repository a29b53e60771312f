#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "model/simulation.hpp"
#include "simulations/matrix_source.hpp"

/// What a config says of a linear system, for the simulation's own files.
namespace gridstride::linear_system {

/// One, several of a file, or so many that are a formula.
struct RightHandSides {
  config::FieldSource source;
  std::int64_t count = 1;  ///< of a formula
};

class Parameters final : public config::ParameterSet, public MatrixSource {
 public:
  std::vector<RightHandSides> rhs;  ///< one after the other
  std::string method = "auto";
  bool vendor = false;
  // Of iterations.
  std::optional<double> tolerance;  ///< empty: what the precision has
  std::int64_t iterations = 10000;
  std::int64_t restart = 50;
  std::string preconditioner = "auto";
  std::int64_t block_size = 4;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;

 private:
  void declare_rhs(config::Visitor& visitor, std::filesystem::path const& folder);
  void declare_method(config::Visitor& visitor, Precision precision);
  void declare_iterations(config::Visitor& visitor);
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// Where no tolerance is named.
inline double tolerance_of(Precision precision) {
  return precision == Precision::float32 ? 1e-5 : 1e-8;
}

/// Of x and b.
struct Extents {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t size() const { return rows * columns; }
  /// Where formulas are of elements: j is x, i is y, and n is z.
  Grid formula_grid() const;
  /// One right-hand side gives a line of n points, several an image of [columns, n] of them.
  Grid field_grid() const;
};

/// How many right-hand sides these are, and what is wrong with a file's shape; n may not be known (0).
std::pair<std::int64_t, std::string> columns_of(RightHandSides const& sides, Inputs const& inputs,
                                                std::int64_t n);

/// Of a system whose files have no `problems`.
Extents extents_of(config::RunConfig const& run, Inputs const& inputs);

/// What is known of a sparse matrix; nothing where it is dense.
std::optional<SparseExtents> sparse_extents(config::RunConfig const& run, Inputs const& inputs);
/// All of it.
Csr<double> read_sparse(config::RunConfig const& run, Inputs const& inputs);
/// Whether the method goes by products with a sparse matrix.
bool iterates(config::RunConfig const& run, Inputs const& inputs);
/// Whether so does a generated matrix of which nothing is stored: where nothing asks for its elements.
bool goes_without_rows(config::RunConfig const& run);

/// Files of other shapes than a system has, and variants that do not fit the run.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::linear_system
