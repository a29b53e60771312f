// Sparse systems of linear equations, by iteration:
//
//   A·x = b        ‖b − A·x‖₂ ≤ tolerance·‖b‖₂ for each right-hand side
//
// by Krylov methods (kernels/krylov) with products by the rows of `sparse`. Rows, columns and each b
// are scaled by powers of two first (linear_system_scaled), and the residual has to be that small in
// those units too: then equations in small units are solved like all others. What x is worth is found
// by the host at the end, in the units that were given. Where nothing that `auto` goes by converges, small
// ones are filled up (linear_system_filled).

#include "simulations/linear_system_sparse.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/support/parallel_for.hpp"
#include "model/entry.hpp"
#include "simulations/linear_system_filled.hpp"
#include "simulations/linear_system_iterations.hpp"
#include "simulations/linear_system_right.hpp"
#include "simulations/linear_system_sparse_system.hpp"
#include "simulations/linear_system_stencil.hpp"

namespace gridstride::linear_system {

template <class T>
SparseSystem<T>::SparseSystem(config::RunConfig const& run, Stream const& stream,
                              Inputs const& inputs)
    : OneShot(stream, {"read", "transfer", "prepare", "solve", "check"}),
      extents_(extents_of(run, inputs)),
      options_(options_of(run)),
      rounding_limit_(run),
      automatic_(parameters_of(run).method == "auto"),
      together_(columns_together(run, inputs, stream.backend())),
      x_(stream_, MemorySpace::device, static_cast<std::size_t>(extents_.size())),
      report_(extents_.columns, hint_of_filling(run, extents_.rows)) {
  zero_async(x_.span(), stream_);
  times_.measure("read", [&] { read_matrix(run, inputs); });
  right_ = columns_of_right(stream_, run, inputs, &times_);
  times_.measure("prepare", [&] {
    require_solvable_rows(system_.rows(), found_.empty, right_);
    matrix_ =
        std::make_shared<sparse::Matrix<T>>(stream_, system_.rows(), run.kernels.at("sparse"));
    variant_ = matrix_->variant();
    precondition(run);
  });
}

/// Rounded to T once they are scaled: of float32, too, no element of a matrix in other units is lost.
template <class T>
void SparseSystem<T>::read_matrix(config::RunConfig const& run, Inputs const& inputs) {
  auto read = read_sparse(run, inputs);
  found_ = examine(read);
  choose_method(run, read);
  system_ = ScaledSystem<T>(std::move(read), found_.symmetric());
}

template <class T>
void SparseSystem<T>::choose_method(config::RunConfig const& run, Csr<double> const& read) {
  auto const chosen = first_method(run, read, found_);
  method_ = chosen.method;
  aggregates_ = chosen.aggregates;
  may_aggregate_ = chosen.may_aggregate;
  method_name_ = aggregates_ ? "amg_cg" : name_of(method_);
}

template <class T>
void SparseSystem<T>::precondition(config::RunConfig const& run) {
  auto found = as_asked(run, stream_, system_, found_, products(), method_, together_);
  preconditioner_ = std::move(found.apply);
  preconditioner_name_ = found.name;
  if (!found.note.empty()) fallbacks_.push_back(found.note);
}

template <class T>
Group<T> SparseSystem<T>::begin_group(std::int64_t first) {
  std::int64_t const most = first == 0 && tries() ? 1 : at_once();
  std::vector<std::span<double const>> rights;
  for (std::int64_t k = first; k < std::min(first + most, extents_.columns); ++k)
    rights.push_back(right_of(k));
  return linear_system::begin_group(stream_, system_, options_.tolerance, rights, first);
}

/// What becomes of a column of a group, in the units that were given.
template <class T>
void SparseSystem<T>::settle(Group<T>& group, std::size_t k, Values<T>& x) {
  auto const column = group.first + static_cast<std::int64_t>(k);
  auto const told = fallbacks_.size();
  Solved<T> solved;
  times_.measure("solve", [&] { solved = finish_column(group, k); });
  times_.measure("check", [&] {
    auto const held = system_.solution(solved.x, group.exponents[k]);
    require_held<T>(system_, options_.tolerance, solved, group.rights[k], group.exponents[k], held);
    parallel_for(extents_.rows, 2, [&](std::int64_t i) {
      x[static_cast<std::size_t>(i * extents_.columns + column)] =
          held[static_cast<std::size_t>(i)];
    });
  });
  for (std::size_t i = told; i < fallbacks_.size(); ++i)
    fallbacks_[i] = report_.label(column) + fallbacks_[i];
  report_.add(column, method_name_, solved.result, solved.left);
}

/// Returns how many columns are done: those up to the first for which `auto` gave way, for what it took
/// then is what those that follow are solved by.
template <class T>
std::int64_t SparseSystem<T>::solve_group(std::int64_t first, Values<T>& x) {
  Group<T> group;
  times_.measure("solve", [&] {
    group = begin_group(first);
    solve_all(group);
    for (std::size_t k = 0; k < group.size(); ++k) {
      group.found.emplace_back(group.rights[k].size());
      copy_async(std::span(group.found[k]), std::span<T const>(group.x_of(k)), stream_);
    }
    stream_.synchronize();
    group.left = system_.residuals(group.found, group.rights, group.exponents);
  });
  gave_way_ = false;
  std::int64_t done = 0;
  while (done < static_cast<std::int64_t>(group.size()) && !gave_way_)
    settle(group, static_cast<std::size_t>(done++), x);
  return done;
}

template <class T>
void SparseSystem<T>::compute() {
  Values<T> x(right_.size());
  for (std::int64_t done = 0; done < extents_.columns;) done += solve_group(done, x);
  times_.measure("transfer", [&] {
    copy_async(x_.span(), std::span<T const>(x), stream_);
    stream_.synchronize();
  });
}

template <class T>
std::vector<NamedValue> SparseSystem<T>::diagnostics() const {
  auto values = report_.values();
  values.push_back({"nonzeros", static_cast<double>(system_.rows().nonzeros())});
  auto const times = OneShot::diagnostics();
  values.insert(values.end(), times.begin(), times.end());
  return values;
}

std::unique_ptr<Simulation> make_sparse(config::RunConfig const& run, Stream const& stream,
                                        Inputs const& inputs) {
  if (goes_without_rows(run)) return make_stencil(run, stream, inputs);
  return make_simulation<SparseSystem>(run, stream, inputs);
}

}  // namespace gridstride::linear_system
