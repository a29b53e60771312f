#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "model/simulation.hpp"

/// What a config says of a linear system, for the simulation's own files.
namespace gridstride::linear_system {

/// The row i, the column j and the size n, as formulas know them. A's elements lie row by row, so
/// that its column is the fastest axis of a grid.
std::span<expression::Variable const> variables();

class Parameters final : public config::ParameterSet {
 public:
  config::FieldSource matrix;
  std::int64_t size = config::required_integer;  ///< of a matrix that is a formula
  config::FieldSource rhs;
  std::int64_t count = 1;  ///< of right-hand sides that are a formula
  std::string method = "auto";
  bool vendor = false;
  std::string stencil;               ///< of a generated matrix
  std::vector<std::int64_t> points;  ///< and its grid
  // Of iterations.
  double tolerance = 0;  ///< 0: what the precision has
  std::int64_t iterations = 10000;
  std::int64_t restart = 50;
  std::string preconditioner = "auto";

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;

 private:
  void declare_matrix(config::Visitor& visitor, std::filesystem::path const& folder);
  void declare_rhs(config::Visitor& visitor, std::filesystem::path const& folder);
  void declare_method(config::Visitor& visitor, Precision precision);
  void declare_iterations(config::Visitor& visitor, Precision precision);
  void declare_stencil(config::Visitor& visitor);
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// Of x and b.
struct Extents {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t size() const { return rows * columns; }
};

/// Of a system whose files have no `problems`.
Extents extents_of(config::RunConfig const& run, Inputs const& inputs);

/// What is known of a sparse matrix; nothing where it is dense.
std::optional<SparseExtents> sparse_extents(config::RunConfig const& run, Inputs const& inputs);
/// All of it.
Csr<double> read_sparse(config::RunConfig const& run, Inputs const& inputs);
/// Whether the method goes by products with a sparse matrix.
bool iterates(config::RunConfig const& run, Inputs const& inputs);

/// Files of other shapes than a system has, and variants that do not fit the run.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::linear_system
