// MINRES, for symmetric matrices that need not be definite: the x with the smallest residual among
// all that products with A reach, by three Lanczos vectors and three search directions. A
// preconditioner has to be symmetric positive definite; the residual is then the smallest in the norm
// √(r·M⁻¹·r), and what is recorded is this norm, scaled so that it begins with ‖r‖₂.
// Sources: Paige and Saunders, "Solution of sparse indefinite systems of linear equations", SIAM J.
// Numer. Anal. 12 (1975); Elman, Silvester and Wathen, "Finite Elements and Fast Iterative Solvers",
// 2nd ed., algorithm 4.1.

#include <array>

#include "kernels/krylov/methods.hpp"
#include "kernels/krylov/passes_minres.hpp"

namespace gridstride::krylov {

namespace {

template <class T>
class MinimalResidual final : public Iteration<T> {
 public:
  explicit MinimalResidual(Problem<T> const& problem)
      : problem_(problem),
        q_(problem.vector()),
        v_{problem.vector(), problem.vector()},
        w_{problem.vector(), problem.vector()} {
    if (problem.preconditioner) z_ = {problem.vector(), problem.vector()};
  }

  void begin() override {
    copy_async(v_[0].span(), problem_.r, problem_.stream());
    run(problem_.scratch, LanczosBegin<T>{v_[0].data(), precondition(0)});
  }

  void iterate(std::int64_t index) override {
    auto& scratch = problem_.scratch;
    auto const here = static_cast<std::size_t>(index % 2), other = 1 - here;
    T const* const z = z_of(here);
    problem_.apply({z, problem_.size()}, q_.span());
    run(scratch, LanczosDelta<T>{z, q_.data()});
    run(scratch, LanczosVector<T>{q_.data(), v_[here].data(), v_[other].data()});
    run(scratch, LanczosRotation<T>{v_[other].data(), precondition(other)});
    run(scratch, MinresStep<T>{z, w_[other].data(), w_[here].data(), problem_.x.data()});
  }

  std::span<T> spare() override { return q_.span(); }

 private:
  T const* z_of(std::size_t i) const {
    return problem_.preconditioner ? z_[i].data() : v_[i].data();
  }
  T const* precondition(std::size_t i) {
    if (problem_.preconditioner) problem_.precondition(v_[i].span(), z_[i].span());
    return z_of(i);
  }

  Problem<T> const& problem_;
  Buffer<T> q_;
  std::array<Buffer<T>, 2> v_, w_, z_;
};

}  // namespace

template <class T>
std::unique_ptr<Iteration<T>> make_minres(Problem<T> const& problem) {
  return std::make_unique<MinimalResidual<T>>(problem);
}

template std::unique_ptr<Iteration<float>> make_minres(Problem<float> const&);
template std::unique_ptr<Iteration<double>> make_minres(Problem<double> const&);

}  // namespace gridstride::krylov
