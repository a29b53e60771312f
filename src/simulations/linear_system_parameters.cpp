#include "simulations/linear_system_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "config/file_source.hpp"
#include "core/text.hpp"
#include "kernels/lattice/cycle.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/sparse/blocks.hpp"

namespace gridstride::linear_system {

namespace {

using config::FieldSource;
using config::Form;

}  // namespace

void Parameters::fields(config::Visitor& visitor, config::RunOptions const& run) {
  auto const folder = run.file.parent_path();
  declare_matrix(visitor, folder, "The matrix A of A x = b.", config::Presence::required);
  declare_rhs(visitor, folder);
  declare_method(visitor, run.precision);
  declare_iterations(visitor);
  visitor.visit({.name = "vendor",
                 .documentation = "Whether the vendor's library factorizes and solves: cuSOLVER "
                                  "on a GPU, LAPACK on the host."},
                vendor);
}

void Parameters::declare_iterations(config::Visitor& visitor) {
  visitor.visit(
      {.name = "tolerance",
       .documentation = "Of iterations: norm(b - A x)/norm(b) at which they end; `auto` is "
                        "1e-8, in float32 1e-5, or what rounding allows where that is more, up to "
                        "a hundred times as much.",
       .minimum = 0,
       .maximum = 0.5,
       .exclusive_minimum = true},
      tolerance, "auto");
  visitor.visit({.name = "iterations",
                 .documentation = "How many iterations there may be for a right-hand side.",
                 .minimum = 1,
                 .maximum = 1e9},
                iterations);
  visitor.visit({.name = "restart",
                 .documentation = "Of `gmres`: vectors that are kept until it begins anew.",
                 .minimum = 1,
                 .maximum = 1000},
                restart);
  constexpr config::Choice preconditioners[] = {
      {"auto",
       "`jacobi` where the diagonal allows it, `multigrid` for generated matrices, but by "
       "`minres`; "
       "`amg_cg` has its own"},
      {"none", "A as it is"},
      {"jacobi",
       "rows divided by the diagonal, of which no element may be 0; for `minres` by its "
       "magnitude"},
      {"block_jacobi",
       "the inverses of blocks on the diagonal, of `block_size` consecutive rows; for `cg` and "
       "`minres` they have to be positive definite"},
      {"chebyshev",
       "a polynomial of degree 3 of a symmetric matrix with a positive diagonal: fewer iterations, "
       "each with four products"},
      {"ic0",
       "Cholesky factors without fill of a symmetric matrix with a positive diagonal, for `cg` and "
       "`minres`"},
      {"ilu0", "LU factors without fill of any matrix, for `bicgstab` and `gmres`"},
      {"multigrid",
       "a cycle of geometric multigrid on the grid of a generated matrix, for `cg`, `bicgstab` and "
       "`gmres`: as many iterations on any grid"}};
  visitor.choice({.name = "preconditioner", .documentation = "Of iterations."}, preconditioners,
                 preconditioner);
  visitor.visit({.name = "block_size",
                 .documentation = "Of `block_jacobi`: rows of a block, as many as unknowns belong "
                                  "together, or a multiple of that.",
                 .minimum = 1,
                 .maximum = static_cast<double>(sparse::most_block_rows)},
                block_size);
}

namespace {

/// A formula, a file, or a formula of several; and what `more` there may be.
void declare_sides(config::Visitor& visitor, config::Spec const& spec,
                   std::filesystem::path const& folder, RightHandSides& sides,
                   std::span<Form const> more = {}, int given = -1) {
  auto const formula = [&](std::string_view key, std::string_view documentation) {
    return [&sides, key, documentation](config::Visitor& v) {
      v.visit({.name = key, .documentation = documentation, .variables = "ijn"},
              sides.source.formula);
    };
  };
  auto const file = [&](config::Visitor& v) {
    config::declare_dataset(v, folder, "n values, or n rows with a column for each right-hand side",
                            sides.source);
  };
  auto const formula_and_count = [&](config::Visitor& v) {
    formula("expression", "The element in row i of right-hand side j, both from 0.")(v);
    v.visit({.name = "count",
             .documentation = "The number of right-hand sides.",
             .minimum = 1,
             .maximum = most_matrix_rows},
            sides.count);
  };
  std::vector<Form> forms = {{.kind = Form::Kind::scalar, .body = formula(spec.name, "A formula.")},
                             {.kind = Form::Kind::mapping, .body = file},
                             {.kind = Form::Kind::mapping, .body = formula_and_count}};
  forms.insert(forms.end(), more.begin(), more.end());
  int chosen = given >= 0                          ? given
               : !sides.source.file.empty()        ? 1
               : sides.source.formula.text.empty() ? -1
               : sides.count == 1                  ? 0
                                                   : 2;
  visitor.forms(spec, config::Presence::required, forms, chosen);
  visitor.locate(spec.name, sides.source.location);
}

}  // namespace

void Parameters::declare_rhs(config::Visitor& visitor, std::filesystem::path const& folder) {
  config::Spec const spec = {.name = "rhs", .documentation = "The right-hand side b, or several."};
  constexpr int listed = 3;
  auto several = rhs;
  Form const list[] = {{.kind = Form::Kind::items, .body = [&](config::Visitor& v) {
                          v.items<RightHandSides>(
                              {.name = spec.name, .documentation = "One after the other."}, several,
                              [&](config::Spec const& item, RightHandSides& sides) {
                                declare_sides(v, item, folder, sides);
                              });
                          if (several.empty())
                            v.fault(spec.name, "is empty (a right-hand side is needed at least)");
                        }}};
  RightHandSides one = rhs.size() == 1 ? rhs.front() : RightHandSides();
  bool const was_list = rhs.size() > 1;
  several.resize(was_list ? several.size() : 0);
  declare_sides(visitor, spec, folder, one, list, was_list ? listed : -1);
  rhs = several.empty() ? std::vector{one} : several;
}

void Parameters::declare_method(config::Visitor& visitor, Precision precision) {
  constexpr config::Choice methods[] = {
      {"auto",
       "`cholesky` for a symmetric matrix with a positive diagonal, `lu` for others, and "
       "where `cholesky` shows that the matrix is not positive definite; of sparse ones `cg` "
       "(`amg_cg` after 500 iterations, for large ones that are like those of diffusion), "
       "`minres` for symmetric ones that are not definite, `bicgstab` for others, `gmres` "
       "where that breaks down, and `lu` where nothing converges and there are 4096 rows at most"},
      {"lu", "LU factorization with partial pivoting"},
      {"cholesky", "A = L L^T, for symmetric positive definite matrices"},
      {"lu_mixed",
       "LU in float32, then refinement in float64; `lu` where that does not "
       "converge"},
      {"cg", "conjugate gradients, for symmetric positive definite sparse matrices"},
      {"amg_cg",
       "conjugate gradients with algebraic multigrid, for symmetric positive definite sparse "
       "matrices as diffusion has them"},
      {"minres", "minimal residuals, for symmetric sparse matrices"},
      {"bicgstab", "stabilised biconjugate gradients, for any sparse matrix"},
      {"gmres", "generalised minimal residuals, for any sparse matrix"}};
  visitor.choice({.name = "method", .documentation = "How the system is solved."}, methods, method);
  if (method == "lu_mixed" && precision == Precision::float32)
    visitor.fault("method",
                  "'lu_mixed' refines to the accuracy of float64 (here precision: float32)");
}

std::optional<SparseExtents> sparse_extents(config::RunConfig const& run, Inputs const& inputs) {
  return sparse_extents(static_cast<MatrixSource const&>(parameters_of(run)), inputs);
}

Csr<double> read_sparse(config::RunConfig const& run, Inputs const& inputs) {
  return read_sparse(static_cast<MatrixSource const&>(parameters_of(run)), inputs);
}

namespace {

constexpr std::string_view iterative_methods[] = {"cg", "amg_cg", "minres", "bicgstab", "gmres"};

constexpr std::string_view without_elements[] = {"auto", "none", "jacobi", "multigrid"};

bool is_iterative(std::string_view method) {
  return std::ranges::find(iterative_methods, method) != std::end(iterative_methods);
}

}  // namespace

bool iterates(config::RunConfig const& run, Inputs const& inputs) {
  std::string const& method = parameters_of(run).method;
  return (method == "auto" || is_iterative(method)) && sparse_extents(run, inputs);
}

bool goes_without_rows(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  std::string const& method = parameters.method;
  return stencil_of(parameters) && method != "amg_cg" &&
         (method == "auto" || is_iterative(method)) && run.kernels.at("sparse") == "auto" &&
         std::ranges::find(without_elements, parameters.preconditioner) !=
             std::end(without_elements);
}

namespace {

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

/// What is for generated matrices of which nothing is stored, and what does not go with it.
template <class Refuse>
void refuse_without_rows(config::RunConfig const& run, Refuse const& refuse) {
  auto const& parameters = parameters_of(run);
  if (run.kernels.at("lattice") != "auto" && !goes_without_rows(run))
    refuse(
        "kernels.lattice",
        fmt::format("'{}' is for products with a stencil of which nothing is stored (a generated "
                    "matrix, preconditioner: auto, multigrid, jacobi or none, and no "
                    "kernels.sparse)",
                    run.kernels.at("lattice")));
  if (parameters.preconditioner != "multigrid" || parameters.method == "amg_cg") return;
  auto const stencil = stencil_of(parameters);
  if (!stencil)
    return refuse("parameters.preconditioner",
                  "multigrid goes by the grid of a generated matrix, {stencil: …, points: …} "
                  "(method: amg_cg makes levels of any matrix like those of diffusion)");
  if (run.kernels.at("sparse") != "auto")
    refuse("kernels.sparse",
           "is for matrices with rows (parameters.preconditioner: multigrid goes by a stencil "
           "without any)");
  if (parameters.method == "minres")
    refuse("parameters.preconditioner",
           "multigrid is not quite symmetric, as minres needs it (jacobi is; cg, bicgstab and "
           "gmres take multigrid)");
  if (!lattice::has_cycle(stencil->points))
    refuse("parameters.preconditioner",
           fmt::format("multigrid takes axes of at most {} points (preconditioner: jacobi)",
                       multigrid::most_points_of_axis - 2));
}

/// Methods, and values other than those that all configs have, that are for matrices of the other
/// kind.
std::vector<Problem> method_problems(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  std::vector<Problem> found;
  auto const refuse = [&](std::string const& key, std::string const& message) {
    found.push_back(run.problem(run.location(key), message));
  };
  bool const sparse = sparse_extents(run, inputs).has_value();
  if (!sparse && is_iterative(parameters.method))
    refuse("parameters.method",
           fmt::format("'{}' goes by products with a sparse matrix (a Matrix Market file in the "
                       "format 'coordinate', a group of an HDF5 file, or a stencil), and this one "
                       "is dense (auto, lu and cholesky take it)",
                       parameters.method));
  struct Key {
    std::string name;
    bool is_asked;
  };
  auto const names_kernel = [&](std::string const& family) {
    return Key{"kernels." + family, run.kernels.at(family) != "auto"};
  };
  Parameters const other;
  Key const of_factors[] = {
      {"parameters.vendor", parameters.vendor}, names_kernel("factorize"), names_kernel("matmul")};
  Key const of_iterations[] = {
      {"parameters.tolerance", parameters.tolerance.has_value()},
      {"parameters.iterations", parameters.iterations != other.iterations},
      {"parameters.restart", parameters.restart != other.restart},
      {"parameters.preconditioner", parameters.preconditioner != other.preconditioner},
      {"parameters.block_size", parameters.block_size != other.block_size},
      names_kernel("sparse"),
      names_kernel("lattice")};
  if (parameters.method == "amg_cg" && parameters.preconditioner != "auto")
    refuse("parameters.preconditioner",
           "amg_cg is cg with a preconditioner of its own (method: cg takes another)");
  bool const has_blocks = parameters.preconditioner == "block_jacobi";
  if (sparse && iterates(run, inputs)) {
    if (parameters.block_size != other.block_size && !has_blocks)
      refuse("parameters.block_size", "is for preconditioner: block_jacobi");
    bool const may_restart = parameters.method == "gmres" || parameters.method == "auto";
    if (parameters.restart != other.restart && !may_restart)
      refuse("parameters.restart",
             fmt::format("is for method: gmres ({} keeps no vectors)", parameters.method));
    refuse_without_rows(run, refuse);
    for (auto const& key : of_factors)
      if (key.is_asked)
        refuse(key.name,
               "is for factorizations (this sparse system is solved by iteration; "
               "method: lu makes a dense one of it)");
  } else {
    for (auto const& key : of_iterations)
      if (key.is_asked)
        refuse(key.name, "is for iterations (this system is solved by factorization)");
  }
  return found;
}

}  // namespace

std::pair<std::int64_t, std::string> columns_of(RightHandSides const& sides, Inputs const& inputs,
                                                std::int64_t n) {
  if (sides.source.file.empty()) return {sides.count, ""};
  auto const shape = inputs.shape(sides.source);
  std::string const rows = n > 0 ? std::to_string(n) : "n";
  bool const fits = (shape.size() == 1 || shape.size() == 2) && (n == 0 || shape[0] == n);
  std::int64_t const columns = shape.size() == 2 ? shape[1] : 1;
  if (!fits || columns < 1 || columns > most_matrix_rows)
    return {0, fmt::format("{} holds {} (the matrix needs [{}], or [{}][count])",
                           sides.source.file.string(), format_shape(shape), rows, rows)};
  return {columns, ""};
}

Grid Extents::formula_grid() const {
  return {2, {columns, rows, 1}, {0, 0, static_cast<double>(rows)}, {1, 1, 1}};
}

Grid Extents::field_grid() const {
  if (columns == 1) return {.points = {rows, 1, 1}};
  return {2, {columns, rows, 1}, {0, 0, 0}, {1, 1, 1}};
}

Extents extents_of(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  std::int64_t const n = rows_of(parameters_of(run), inputs).first;
  std::int64_t columns = 0;
  for (RightHandSides const& sides : parameters.rhs) columns += columns_of(sides, inputs, n).first;
  return {n, columns};
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
  auto const n = examine(parameters.matrix, [&] { return rows_of(parameters_of(run), inputs); });
  if (n > 0) {
    auto const more = method_problems(run, inputs);
    found.insert(found.end(), more.begin(), more.end());
  }
  std::int64_t columns = 0;
  for (RightHandSides const& sides : parameters.rhs)
    columns += examine(sides.source, [&] { return columns_of(sides, inputs, n); });
  if (columns > most_matrix_rows)
    found.push_back(
        run.problem(run.location("parameters.rhs"),
                    fmt::format("{} right-hand sides are more than the {} that there may be",
                                columns, most_matrix_rows)));
  return found;
}

}  // namespace gridstride::linear_system
