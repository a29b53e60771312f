#pragma once

#include <memory>
#include <span>
#include <vector>

#include "config/run_config.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/system/system.hpp"
#include "model/state.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_place.hpp"

namespace gridstride::pde {

/// What implicit steps of a system solve for: the diffusion and the decay of its components by cycles
/// of multigrid, with the coefficients and sides that the state has. Instantiated for float and double.
template <class T>
class ImplicitSolves {
 public:
  ImplicitSolves(Stream const& stream, config::RunConfig const& run, State<T>& state,
                 std::vector<Array<T>*> const& evolved, StepPlace<T>& place);
  ~ImplicitSolves();

  /// Components with a diffusion of their own, those of one equation after each other, and others.
  std::span<std::size_t const> solved() const { return solved_; }
  std::span<std::size_t const> alone() const { return alone_; }

  /// The state has the coefficients of another moment (s) from now on. Waits where there are any that
  /// change. Throws `NumericalError` where D is not positive.
  void renew(double time);

  /// Arrays of the place: (weight + κ)·u − ∇·(D∇u) = right, from what u has, with its values on sides;
  /// `right` gets what these come to. Waits for the stream. False where what comes of it is beyond all numbers; throws `NumericalError` where cycles
  /// do not come to the tolerance, of a step to `time` (s).
  bool solve(std::size_t component, double weight, T* right, T* u, double time);
  /// The same with 0 on sides, from 0.
  bool solve_error(std::size_t component, double weight, T* right, T* v, double time);
  /// Queues rate = ∇·(D∇u) − κ·u, but on sides where u is given.
  void find_rate(std::size_t component, T* u, T* rate);

 private:
  struct Group;

  Group& group_of(std::size_t component) { return *groups_[group_of_[component]]; }
  void fill_reactions(Group& group, double weight);
  void prepare(Group& group, double weight);
  void require_fit(Group const& group, Array<T> const& array, char const* what, bool positive,
                   double time);
  bool is_solved(Group const& group, std::size_t component, multigrid::Outcome const& outcome,
                 double time) const;
  poisson::SideValues<T> side_values(std::size_t component, bool factors);

  mutable Stream stream_;
  config::RunConfig const& run_;
  State<T>& state_;
  std::vector<Array<T>*> const& evolved_;
  StepPlace<T>& place_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::size_t> group_of_, solved_, alone_;
};

}  // namespace gridstride::pde
