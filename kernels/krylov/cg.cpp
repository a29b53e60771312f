// Conjugate gradients, for symmetric positive definite matrices: the x whose error is the smallest
// in the norm √(e·A·e) among all that products with A reach.
//
// `OneReduction`: the form of Chronopoulos and Gear. A product w = A·u of the preconditioned residual
// u in the place of one of p; p·A·p, which the step needs, follows from u·A·u and the last step, and
// so all sums of an iteration come together. s = A·p is carried along like p. What rounding does to
// such recurrences is undone now and then: r and s are computed anew (van der Vorst and Ye, "Residual
// replacement strategies for Krylov subspace iterative methods for the convergence of true residuals",
// SIAM J. Sci. Comput. 22 (2000)). Where it is to be flexible, one sum more: s·u, for a product of the
// residual and the last direction that is 0 only for a symmetric preconditioner.
// `Fused`: the textbook's form by an operator that takes p ← r + β·p with p·A·p, and the step with
// r·r, in one pass each.
// `Rounded`: those in float32. What x is to be changed by is gathered in float32 too, and now and then,
// before the residual is so small beside what it was that roundings show, goes to x in float64, and the
// residual is computed anew in float64. Directions stay conjugate to the last one, so that hardly more
// iterations are needed (Clark et al., "Solving lattice QCD systems of equations using mixed precision
// solvers on GPUs", Comput. Phys. Commun. 181 (2010)).

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/krylov/methods.hpp"
#include "kernels/krylov/passes_bicgstab.hpp"
#include "kernels/krylov/passes_cg.hpp"

namespace gridstride::krylov {

namespace {

/// What follows of the sums of a whole step, of all ranks where there are several.
template <class Finish, class T>
void finish_step(Scratch& scratch, Finish const& what, FusedSteps<T> const& steps,
                 std::vector<std::int64_t> const& cuts, std::span<double> sums) {
  if (scratch.ranks() != nullptr) scratch.ranks()->share(scratch.stream(), sums.data(), 1, cuts);
  finish(scratch, what, sums.data(), steps.partials);
}

template <class T>
class OneReduction final : public Iteration<T> {
 public:
  explicit OneReduction(Problem<T> const& problem)
      : problem_(problem), w_(problem.vector()), p_(problem.vector()), s_(problem.vector()) {
    if (problem.preconditioner) u_ = problem.vector();
  }

  void iterate(std::int64_t index) override {
    auto& scratch = problem_.scratch;
    if (index > 0 && index % problem_.options.replace_every == 0) replace();
    auto const u = precondition();
    problem_.apply(u, w_.span());
    if (problem_.options.flexible)
      run(scratch, FlexibleCgSums<T>{problem_.r.data(), u.data(), w_.data(), s_.data()});
    else
      run(scratch, CgSums<T>{problem_.r.data(), u.data(), w_.data()});
    run(scratch,
        CgStep<T>{u.data(), w_.data(), p_.data(), s_.data(), problem_.x.data(), problem_.r.data()});
  }

  /// By the direction that would have been next.
  std::optional<Outcome> judge(std::int64_t column, State const& state) override {
    State direction = state;
    direction.stop = Stop::running;
    direction.omega = 0;
    auto const sum_of = [&](T const* a, T const* b) {
      run(problem_.scratch, Dot<T>{a, b});
      return problem_.scratch.read()[static_cast<std::size_t>(column)].gamma;
    };
    problem_.scratch.write(direction, column);
    auto const u = precondition();
    run(problem_.scratch, BicgDirection<T>{u.data(), s_.data(), p_.data()});
    problem_.apply(p_.span(), s_.span());
    double const curvature = sum_of(p_.data(), s_.data());
    double const least = nothing(state) * state.largest * sum_of(p_.data(), p_.data());
    if (std::abs(curvature) <= least) return Outcome::incompatible;
    return curvature > 0 ? std::optional<Outcome>() : Outcome::indefinite;
  }

  bool is_lanczos() const override { return !problem_.options.flexible; }
  std::span<T> spare() override { return w_.span(); }

 private:
  std::span<T const> precondition() {
    if (!problem_.preconditioner) return problem_.r;
    problem_.precondition(problem_.r, u_.span());
    return u_.span();
  }
  void replace() {
    problem_.apply(problem_.x, w_.span());
    run(problem_.scratch, Replace<T>{problem_.b.data(), w_.data(), problem_.r.data()});
    problem_.apply(p_.span(), s_.span());
  }

  Problem<T> const& problem_;
  Buffer<T> u_, w_, p_, s_;
};

template <class T>
class Fused final : public Iteration<T> {
 public:
  explicit Fused(Problem<T> const& problem)
      : problem_(problem),
        p_{problem.vector(), problem.vector()},
        sums_(problem.stream(), MemorySpace::device,
              static_cast<std::size_t>(problem.a.fused.partials)) {}

  void begin() override {
    zero_async(p_[0].span(), problem_.stream());
    finish(problem_.scratch, FusedBegin{}, nullptr, 0);
  }

  void iterate(std::int64_t index) override {
    auto& scratch = problem_.scratch;
    auto& stream = problem_.stream();
    auto const& steps = problem_.a.fused;
    State* const state = scratch.state();
    auto const* const stop = reinterpret_cast<int const*>(&state->stop);
    auto const old = static_cast<std::size_t>(index % 2);
    if (index > 0 && index % problem_.options.replace_every == 0) replace(p_[1 - old].span());
    steps.direct(stream, stop, &state->beta, problem_.r, std::as_const(p_[old]).span(),
                 p_[1 - old].span(), sums_.span());
    finish_step(scratch, FusedAlpha{}, steps, steps.direct_cuts, sums_.span());
    steps.descend(stream, stop, &state->alpha, std::as_const(p_[1 - old]).span(), problem_.x,
                  problem_.r, sums_.span());
    finish_step(scratch, FusedBeta{}, steps, steps.descend_cuts, sums_.span());
  }

  std::span<T> spare() override { return p_[1].span(); }

 private:
  void replace(std::span<T> memory) {
    problem_.apply(problem_.x, memory);
    run(problem_.scratch, Replace<T>{problem_.b.data(), memory.data(), problem_.r.data()});
  }

  Problem<T> const& problem_;
  std::array<Buffer<T>, 2> p_;
  Buffer<double> sums_;
};

class Rounded final : public Iteration<double> {
 public:
  explicit Rounded(Problem<double> const& problem)
      : problem_(problem),
        steps_(problem.a.rounded->fused),
        w_(problem.vector()),
        r_(vector()),
        change_(vector()),
        p_{vector(), vector()},
        sums_(problem.stream(), MemorySpace::device, static_cast<std::size_t>(steps_.partials)) {}

  void begin() override {
    zero_async(change_.span(), problem_.stream());
    zero_async(p_[0].span(), problem_.stream());
    replace();
    replaced_norm_ = 0;
    replaced_ = 0;
  }

  void iterate(std::int64_t index) override {
    auto& scratch = problem_.scratch;
    auto& stream = problem_.stream();
    State* const state = scratch.state();
    auto const* const stop = reinterpret_cast<int const*>(&state->stop);
    auto const old = static_cast<std::size_t>(index % 2);
    if (index > 0 && (due_ || index - replaced_ >= problem_.options.replace_every)) {
      replace();
      replaced_ = index;
      due_ = false;
    }
    steps_.direct(stream, stop, &state->beta, std::as_const(r_).span(),
                  std::as_const(p_[old]).span(), p_[1 - old].span(), sums_.span());
    finish_step(scratch, FusedAlpha{}, steps_, steps_.direct_cuts, sums_.span());
    steps_.descend(stream, stop, &state->alpha, std::as_const(p_[1 - old]).span(), change_.span(),
                   r_.span(), sums_.span());
    finish_step(scratch, FusedBeta{}, steps_, steps_.descend_cuts, sums_.span());
  }

  void heed(State const& state) override {
    constexpr double much = 1e-2;
    due_ = replaced_norm_ > 0 && state.norm <= much * replaced_norm_;
    if (due_ || replaced_norm_ == 0) replaced_norm_ = state.norm;
  }

  void end(State const& state) override {
    State running = state;
    running.stop = Stop::running;
    problem_.scratch.write(running);
    run(problem_.scratch, TakeChange{change_.data(), problem_.x.data()});
  }

  /// Rounding: of what is not positive definite the next beginnings make nothing either.
  std::optional<Outcome> judge(std::int64_t, State const&) override { return std::nullopt; }

  std::span<double> spare() override { return w_.span(); }

 private:
  Buffer<float> vector() const { return {problem_.stream(), MemorySpace::device, problem_.size()}; }
  void replace() {
    run(problem_.scratch, TakeChange{change_.data(), problem_.x.data()});
    problem_.apply(problem_.x, w_.span());
    run(problem_.scratch, RoundResidual{problem_.b.data(), w_.data(), r_.data()});
  }

  Problem<double> const& problem_;
  FusedSteps<float> const& steps_;
  Buffer<double> w_;
  Buffer<float> r_, change_;
  std::array<Buffer<float>, 2> p_;
  Buffer<double> sums_;
  double replaced_norm_ = 0;
  std::int64_t replaced_ = 0;
  bool due_ = false;
};

}  // namespace

template <class T>
std::unique_ptr<Iteration<T>> make_cg(Problem<T> const& problem) {
  if constexpr (std::is_same_v<T, double>)
    if (problem.a.rounded && !problem.preconditioner) return std::make_unique<Rounded>(problem);
  if (problem.a.fused.direct && !problem.preconditioner) return std::make_unique<Fused<T>>(problem);
  return std::make_unique<OneReduction<T>>(problem);
}

template std::unique_ptr<Iteration<float>> make_cg(Problem<float> const&);
template std::unique_ptr<Iteration<double>> make_cg(Problem<double> const&);

}  // namespace gridstride::krylov
