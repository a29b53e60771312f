#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/sparse/sparse.hpp"
#include "model/one_shot.hpp"
#include "simulations/linear_system_group.hpp"
#include "simulations/linear_system_parameters.hpp"
#include "simulations/linear_system_preconditioning.hpp"
#include "simulations/linear_system_report.hpp"
#include "simulations/linear_system_rounding.hpp"
#include "simulations/linear_system_scaled.hpp"

/// A sparse system by its rows, for `linear_system` alone: what there is once is in linear_system_sparse.cpp,
/// what becomes of a right-hand side in linear_system_methods.cpp.
namespace gridstride::linear_system {

template <class T>
class SparseSystem final : public OneShot {
  template <class U>
  using Values = typename ScaledSystem<T>::template Values<U>;
  using LeftOver = typename ScaledSystem<T>::LeftOver;
  /// A method and its preconditioner, with their names.
  struct Way {
    krylov::Method method = krylov::Method::cg;
    std::string name;
    krylov::Preconditioner<T> preconditioner;
    std::string preconditioner_name;
    bool aggregates;
  };

 public:
  SparseSystem(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override {
    return {{"x", "1", extents_.field_grid(), precision_of<T>(), x_.data()}};
  }
  std::vector<Table> tables() const override { return report_.tables(); }
  Grid formula_grid(Field const&) const override { return extents_.formula_grid(); }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    std::vector<NamedText> texts = {
        {"method", method_name_}, {"preconditioner", preconditioner_name_}, {"sparse", variant_}};
    if (extents_.columns > 1) texts.push_back({"together", std::to_string(at_once())});
    return texts;
  }
  std::vector<std::string> fallbacks() const override { return fallbacks_; }
  std::string shortfall() const override { return report_.shortfall(); }

 private:
  void compute() override;
  void read_matrix(config::RunConfig const& run, Inputs const& inputs);
  void choose_method(config::RunConfig const& run, Csr<double> const& read);
  void precondition(config::RunConfig const& run);
  krylov::Operator<T> products() const;
  std::int64_t at_once() const {
    return method_ == krylov::Method::gmres || variant_ == "cusparse" ? 1 : together_;
  }
  /// Whether `auto` may find out after many iterations that it has to give way: by one column alone.
  bool tries() const {
    return automatic_ && (may_aggregate_ || method_ == krylov::Method::bicgstab);
  }
  std::span<double const> right_of(std::int64_t column) const {
    auto const n = static_cast<std::size_t>(extents_.rows);
    return std::span(right_).subspan(static_cast<std::size_t>(column) * n, n);
  }
  Group<T> begin_group(std::int64_t first);
  std::int64_t solve_group(std::int64_t first, Values<T>& x);
  void settle(Group<T>& group, std::size_t k, Values<T>& x);
  krylov::Options options() const;
  krylov::Options first_options() const;
  void solve_all(Group<T>& group);
  krylov::Result solve_by(krylov::Method method, std::span<T const> b, std::span<T> x,
                          krylov::Options const& options);
  krylov::Result choose_again(krylov::Result result, std::span<T const> b, std::span<T> x);
  krylov::Result aggregate(krylov::Result result, std::span<T const> b, std::span<T> x);
  void leave_aggregation();
  void weigh(Solved<T>& solved, Group<T>& group, std::size_t k);
  Solved<T> fill_up(Solved<T> before, Group<T>& group, std::size_t k);
  Solved<T> leave_filling(Solved<T> const& before, Group<T>& group, std::size_t k);
  Way way() const {
    return {method_, method_name_, preconditioner_, preconditioner_name_, aggregates_};
  }
  void take(Way const& way);
  Solved<T> finish_column(Group<T>& group, std::size_t k);
  bool is_near(Solved<T> const& solved) const;
  bool gives_what_is_left(Solved<T> const& solved, Group<T>& group, std::size_t k);
  krylov::Result solve_left(std::span<T const> left, double tolerance, std::int64_t iterations,
                            Group<T>& group, std::size_t k);
  void accept_rounding(Solved<T>& solved, Group<T>& group, std::size_t k);
  Solved<T> go_back(Solved<T> first, Way const& first_way, Solved<T> const& last, Group<T>& group,
                    std::size_t k);
  bool is_small(Residual const& left) const;
  bool is_better(Residual const& now, Residual const& before) const;
  void go_on(Solved<T>& solved, Group<T>& group, std::size_t k);
  void iterate_on(Solved<T>& solved, Group<T>& group, std::size_t k);
  void refine(Solved<T>& solved, Group<T>& group, std::size_t k);
  bool correct(Values<T>& x, krylov::Result& result, LeftOver const& rest, Group<T>& group,
               std::size_t k);
  bool is_at_rounding(Solved<T> const& solved, Group<T> const& group, std::size_t k) const;

  Extents extents_;
  krylov::Options options_;
  RoundingLimit rounding_limit_;
  bool automatic_;
  bool aggregates_ = false;     ///< amg_cg
  bool may_aggregate_ = false;  ///< `auto`, once cg has shown that it takes long
  bool gave_way_ = false;       ///< `auto` has taken another method or preconditioner
  bool is_filled_ = false;      ///< by the factors of the filled matrix
  std::int64_t together_;       ///< right-hand sides that are solved at once, unless by gmres
  CsrFindings found_;
  ScaledSystem<T> system_;
  Csr<double>::Array<double> right_;  // columns one after the other
  std::shared_ptr<sparse::Matrix<T> const> matrix_;
  krylov::Preconditioner<T> preconditioner_;
  krylov::Method method_ = krylov::Method::cg;
  std::string method_name_, preconditioner_name_ = "none", variant_;
  Way iterations_;  ///< what `auto` goes by where the factors do not do
  std::optional<Preconditioning<T>> factors_;
  Buffer<T> x_;
  Report report_;
  std::vector<std::string> fallbacks_;
};

}  // namespace gridstride::linear_system
