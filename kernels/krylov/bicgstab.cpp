// BiCGSTAB, for any matrix: two products an iteration, and a memory that does not grow. The residual
// is made small along the directions of a two-sided method, and smoothed by a step of steepest
// descent after each. Preconditioned from the right, so that the residual is that of A·x = b.
// Source: van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution
// of nonsymmetric linear systems", SIAM J. Sci. Stat. Comput. 13 (1992).

#include "kernels/krylov/methods.hpp"
#include "kernels/krylov/passes_bicgstab.hpp"

namespace gridstride::krylov {

namespace {

template <class T>
class Stabilised final : public Iteration<T> {
 public:
  explicit Stabilised(Problem<T> const& problem)
      : problem_(problem),
        shadow_(problem.vector()),
        p_(problem.vector()),
        v_(problem.vector()),
        t_(problem.vector()) {
    if (!problem.preconditioner) return;
    p_direction_ = problem.vector();
    s_direction_ = problem.vector();
  }

  void begin() override {
    copy_async(shadow_.span(), problem_.r, problem_.stream());
    finish(problem_.scratch, BicgBegin{}, nullptr, 0);
  }

  void iterate(std::int64_t) override {
    auto& scratch = problem_.scratch;
    T* const r = problem_.r.data();
    run(scratch, BicgDirection<T>{r, v_.data(), p_.data()});
    auto const p = precondition(p_.span(), p_direction_);
    problem_.apply(p, v_.span());
    run(scratch, BicgAlpha<T>{shadow_.data(), v_.data()});
    run(scratch, BicgHalf<T>{v_.data(), r});
    auto const s = precondition(problem_.r, s_direction_);
    problem_.apply(s, t_.span());
    run(scratch, BicgOmega<T>{r, t_.data()});
    run(scratch, BicgStep<T>{p.data(), s.data(), t_.data(), shadow_.data(), problem_.x.data(), r});
  }

  std::span<T> spare() override { return t_.span(); }

 private:
  std::span<T const> precondition(std::span<T const> from, Buffer<T>& to) {
    if (!problem_.preconditioner) return from;
    problem_.precondition(from, to.span());
    return to.span();
  }

  Problem<T> const& problem_;
  Buffer<T> shadow_, p_, v_, t_, p_direction_, s_direction_;
};

}  // namespace

template <class T>
std::unique_ptr<Iteration<T>> make_bicgstab(Problem<T> const& problem) {
  return std::make_unique<Stabilised<T>>(problem);
}

template std::unique_ptr<Iteration<float>> make_bicgstab(Problem<float> const&);
template std::unique_ptr<Iteration<double>> make_bicgstab(Problem<double> const&);

}  // namespace gridstride::krylov
