#include "simulations/linear_system_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "config/file_source.hpp"
#include "core/text.hpp"
#include "kernels/matmul/matmul.hpp"

namespace gridstride::linear_system {

namespace {

using config::FieldSource;
using config::Form;

constexpr expression::Variable matrix_variables[] = {{"i", 1}, {"j", 0}, {"n", 2}};

constexpr std::int64_t most_rows = std::int64_t{1} << 28;  // n² float64 have less than 2^62 bytes

}  // namespace

std::span<expression::Variable const> variables() { return matrix_variables; }

void Parameters::fields(config::Visitor& visitor, config::RunOptions const& run) {
  auto const folder = run.file.parent_path();
  declare_matrix(visitor, folder);
  declare_rhs(visitor, folder);
  declare_method(visitor, run.precision);
  visitor.visit({.name = "vendor",
                 .documentation = "Whether the vendor's library factorizes and solves: cuSOLVER "
                                  "on a GPU, LAPACK on the host."},
                vendor);
}

void Parameters::declare_matrix(config::Visitor& visitor, std::filesystem::path const& folder) {
  auto const file = [&](config::Visitor& v) {
    config::declare_dataset(v, folder, "two axes of the same extent, rows first", matrix);
  };
  auto const formula = [&](config::Visitor& v) {
    v.visit({.name = "expression",
             .documentation = "The element in row i and column j, both from 0, of n.",
             .variables = "ijn"},
            matrix.formula);
    v.visit({.name = "size",
             .documentation = "The number of rows and columns, n.",
             .minimum = 1,
             .maximum = most_rows},
            size);
  };
  Form const forms[] = {{.kind = Form::Kind::mapping, .body = file},
                        {.kind = Form::Kind::mapping, .body = formula}};
  int chosen = !matrix.file.empty() ? 0 : !matrix.formula.text.empty() ? 1 : -1;
  visitor.forms({.name = "matrix", .documentation = "The matrix A of A x = b."},
                config::Presence::required, forms, chosen);
  visitor.locate("matrix", matrix.location);
}

void Parameters::declare_rhs(config::Visitor& visitor, std::filesystem::path const& folder) {
  auto const formula = [&](std::string_view key, std::string_view documentation) {
    return [this, key, documentation](config::Visitor& v) {
      v.visit({.name = key, .documentation = documentation, .variables = "ijn"}, rhs.formula);
    };
  };
  auto const file = [&](config::Visitor& v) {
    config::declare_dataset(v, folder, "n values, or n rows with a column for each right-hand side",
                            rhs);
  };
  auto const formula_and_count = [&](config::Visitor& v) {
    formula("expression", "The element in row i of right-hand side j, both from 0.")(v);
    v.visit({.name = "count",
             .documentation = "The number of right-hand sides.",
             .minimum = 1,
             .maximum = most_rows},
            count);
  };
  Form const forms[] = {{.kind = Form::Kind::scalar, .body = formula("rhs", "A formula.")},
                        {.kind = Form::Kind::mapping, .body = file},
                        {.kind = Form::Kind::mapping, .body = formula_and_count}};
  int chosen = !rhs.file.empty() ? 1 : rhs.formula.text.empty() ? -1 : count == 1 ? 0 : 2;
  visitor.forms({.name = "rhs", .documentation = "The right-hand side b, or several."},
                config::Presence::required, forms, chosen);
  visitor.locate("rhs", rhs.location);
}

void Parameters::declare_method(config::Visitor& visitor, Precision precision) {
  constexpr config::Choice methods[] = {
      {"auto",
       "`cholesky` for a symmetric matrix with a positive diagonal, `lu` for others, and "
       "where `cholesky` shows that the matrix is not positive definite"},
      {"lu", "LU factorization with partial pivoting"},
      {"cholesky", "A = L L^T, for symmetric positive definite matrices"},
      {"lu_mixed",
       "LU in float32, then refinement in float64; `lu` where that does not "
       "converge"}};
  visitor.choice({.name = "method", .documentation = "How the system is solved."}, methods, method);
  if (method == "lu_mixed" && precision == Precision::float32)
    visitor.fault("method",
                  "'lu_mixed' refines to the accuracy of float64 (here precision: float32)");
}

namespace {

/// n, and what a file's shape has wrong for a matrix, if anything.
std::pair<std::int64_t, std::string> rows_of(Parameters const& parameters, Inputs const& inputs) {
  if (parameters.matrix.file.empty()) return {parameters.size, ""};
  auto const shape = inputs.shape(parameters.matrix);
  if (shape.size() != 2 || shape[0] != shape[1] || shape[0] < 1)
    return {0, fmt::format("{} holds {} (a square matrix is needed: [n][n])",
                           parameters.matrix.file.string(), format_shape(shape))};
  if (shape[0] > most_rows) return {0, fmt::format("{} rows are too many", shape[0])};
  return {shape[0], ""};
}

/// The same for right-hand sides; n may not be known (0).
std::pair<std::int64_t, std::string> columns_of(Parameters const& parameters, Inputs const& inputs,
                                                std::int64_t n) {
  if (parameters.rhs.file.empty()) return {parameters.count, ""};
  auto const shape = inputs.shape(parameters.rhs);
  std::string const rows = n > 0 ? std::to_string(n) : "n";
  bool const fits = (shape.size() == 1 || shape.size() == 2) && (n == 0 || shape[0] == n);
  std::int64_t const columns = shape.size() == 2 ? shape[1] : 1;
  if (!fits || columns < 1 || columns > most_rows)
    return {0, fmt::format("{} holds {} (the matrix needs [{}], or [{}][count])",
                           parameters.rhs.file.string(), format_shape(shape), rows, rows)};
  return {columns, ""};
}

/// Whether a variant of `matmul` is for float64 alone, or for float32 alone.
template <class T, class Other>
bool is_for_other(std::string_view name) {
  auto const runs_in = [&](auto const& rows) {
    return std::ranges::any_of(rows, [&](auto const& row) { return row.name == name && row.run; });
  };
  return !runs_in(matmul::variants<T>()) && runs_in(matmul::variants<Other>());
}

std::vector<Problem> variant_problems(config::RunConfig const& run) {
  std::vector<Problem> problems;
  auto const& parameters = parameters_of(run);
  std::string const& factorize = run.kernels.at("factorize");
  if (parameters.vendor && factorize != "auto")
    problems.push_back(run.problem(
        run.location("kernels.factorize"),
        fmt::format("'{}' is not what parameters.vendor asks for (give one of them)", factorize)));
  bool const in_float32 = run.precision == Precision::float32 || parameters.method == "lu_mixed";
  std::string const& matmul = run.kernels.at("matmul");
  if (in_float32 ? is_for_other<float, double>(matmul) : is_for_other<double, float>(matmul))
    problems.push_back(run.problem(run.location("kernels.matmul"),
                                   fmt::format("'{}' does not multiply in {}, as this run does",
                                               matmul, in_float32 ? "float32" : "float64")));
  return problems;
}

}  // namespace

Extents extents_of(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  std::int64_t const n = rows_of(parameters, inputs).first;
  return {n, columns_of(parameters, inputs, n).first};
}

std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs) {
  auto found = variant_problems(run);
  auto const& parameters = parameters_of(run);
  /// The extent that `find` gives, or 0 with a problem at the source.
  auto const examine = [&](FieldSource const& source, auto const& find) {
    try {
      auto const [extent, fault] = find();
      if (!fault.empty()) found.push_back(run.problem(source.location, fault));
      return extent;
    } catch (ConfigError const& error) {
      found.insert(found.end(), error.problems().begin(), error.problems().end());
      return std::int64_t{0};
    }
  };
  auto const n = examine(parameters.matrix, [&] { return rows_of(parameters, inputs); });
  examine(parameters.rhs, [&] { return columns_of(parameters, inputs, n); });
  return found;
}

}  // namespace gridstride::linear_system
