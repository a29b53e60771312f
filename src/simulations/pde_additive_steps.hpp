#pragma once

#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "model/modal_scheme.hpp"
#include "simulations/pde_implicit_steps.hpp"

namespace gridstride::pde {

/// Steps by ark3, ARK3(2)4L[2]SA (C. A. Kennedy and M. H. Carpenter, Appl. Numer. Math. 44 (2003)):
/// with L = ∇·(D∇u) − κ·u, N what is explicit, aᴱ, aᴵ and b of `ark3_table`, γ = aᴵ_ii and
/// t_i = t + c_i·dt,
///
///   (1/(γ·dt) + κ)·u_i − ∇·(D∇u_i) = u/(γ·dt) + Σ_{j<i} (aᴱ_ij·N_j + aᴵ_ij·L_j)/γ     i = 2, 3, 4
///   u' = u_4 + dt·Σ (b_j − aᴱ_4j)·N_j
///
/// L_1 is what differences make of u, and the L_i follow from the solutions, which what is stiff does not
/// magnify. The error of a step is E, what b makes otherwise than the second weights b̂; of what diffuses
/// W⁻¹E with W = 1 − γ·dt·L, or what is stiff would count. Where L is stiff and N does not vanish, as
/// beside walls, u_4 is right and d = u' − u_4, of order dt², all error; elsewhere d − W⁻¹d is of the
/// order of E. So it is
///
///   e = d + W⁻¹(E − d)
template <class T>
class AdditiveSteps final : public ImplicitSteps<T> {
 public:
  AdditiveSteps(Stream const& stream, config::RunConfig const& run, State<T>& state,
                std::vector<Array<T>*> const& evolved, StepPlace<T>& place);

  void advance(double step, double time) override;
  void attempt(evaluate::DeviceClock const* clock, system::ErrorScale scale,
               std::span<system::WorstError> parts) override;
  void find_rate(evaluate::DeviceClock const* clock, system::ErrorScale scale,
                 std::span<system::WorstError> parts) override;

  /// Buffers: 0 u, 1 what stages come to, four N, four L, and a right-hand side.
  static constexpr int buffers = 2 + 2 * AdditiveTable::stages + 1;

 private:
  static constexpr int first_n = 2, first_l = first_n + AdditiveTable::stages,
                       right = first_l + AdditiveTable::stages;

  std::span<T> buffer(std::size_t component, int number) {
    return {place_.buffer(number, component), static_cast<std::size_t>(place_.grid().size())};
  }
  void add(double weight, std::span<T const> from, std::span<T> to);
  bool make_stages(double step, double time);
  void make_right(std::size_t component, int stage, double weight);
  bool solve_stage(std::size_t component, int stage, double weight, double time);
  bool find_error(double step, double time);
  void find_worst(int error, int value, system::ErrorScale scale,
                  std::span<system::WorstError> parts);

  mutable Stream stream_;
  std::size_t components_;
  StepPlace<T>& place_;
  ImplicitSolves<T> solves_;
  Buffer<evaluate::DeviceClock> second_;  // with a step of 1 s, for errors that have theirs
};

}  // namespace gridstride::pde
