// GMRES(m), for any matrix: the x with the smallest residual among all that products with A reach,
// by keeping an orthonormal basis of them; after m vectors it begins anew from the x that it has.
// Vectors are made orthogonal by all at once, twice. Preconditioned from the right, so that the
// residual is that of A·x = b.
// Source: Saad and Schultz, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric
// linear systems", SIAM J. Sci. Stat. Comput. 7 (1986).

#include <vector>

#include "kernels/krylov/methods.hpp"
#include "kernels/krylov/passes_gmres.hpp"

namespace gridstride::krylov {

namespace {

template <class T>
class Restarted final : public Iteration<T> {
 public:
  explicit Restarted(Problem<T> const& problem)
      : problem_(problem),
        restart_(problem.options.restart),
        size_(static_cast<std::int64_t>(problem.size())),
        columns_(problem.stream(), MemorySpace::device,
                 problem.size() * static_cast<std::size_t>(restart_ + 1)),
        z_(problem.vector()),
        numbers_(problem.stream(), MemorySpace::device,
                 static_cast<std::size_t>(Hessenberg::elements(restart_))) {}

  void begin() override {
    first_iteration_ = problem_.scratch.read()[0].iteration;
    run(problem_.scratch, FirstColumn<T>{problem_.r.data(), column(0).data(), hessenberg()});
  }

  void iterate(std::int64_t index) override {
    auto& scratch = problem_.scratch;
    auto const h = hessenberg();
    int const count = static_cast<int>(index) + 1;
    std::span<T const> v = column(index);
    if (problem_.preconditioner) {
      problem_.preconditioner(problem_.stream(), v, z_.span());
      v = z_.span();
    }
    T* const w = column(index + 1).data();
    problem_.apply(v, {w, problem_.size()});
    for (bool const again : {false, true}) {
      for (int first = 0; first < count; first += ColumnProducts<T>::sums)
        run(scratch, ColumnProducts<T>{columns_.data(), size_, first, count, w, h.products});
      run(scratch, Orthogonalise<T>{columns_.data(), size_, count, w, h, again});
    }
    run(scratch, NextColumn<T>{w});
  }

  void end(State const& state) override {
    int const count = static_cast<int>(state.iteration - first_iteration_);
    if (count == 0) return;
    auto const y = solve_triangle(count);
    auto& stream = problem_.stream();
    auto const factors = numbers_.span().first(y.size());
    copy_async(factors, std::span(y), stream);
    stream.synchronize();
    State running = state;
    running.stop = Stop::running;
    problem_.scratch.write(running);
    T* const x = problem_.x.data();
    if (!problem_.preconditioner) {
      run(problem_.scratch, Combine<T>{columns_.data(), size_, count, factors.data(), true, x});
      return;
    }
    // The last column is free by now.
    auto const sum = column(restart_);
    run(problem_.scratch,
        Combine<T>{columns_.data(), size_, count, factors.data(), false, sum.data()});
    problem_.preconditioner(stream, sum, z_.span());
    double const one = 1;
    copy_async(numbers_.span().first(1), std::span(&one, 1), stream);
    run(problem_.scratch, Combine<T>{z_.data(), size_, 1, numbers_.data(), true, x});
    stream.synchronize();
  }

  std::int64_t longest() const override { return restart_; }
  std::span<T> spare() override { return z_.span(); }

 private:
  Hessenberg hessenberg() { return Hessenberg::of(numbers_.data(), restart_); }
  std::span<T> column(std::int64_t j) {
    return columns_.span().subspan(static_cast<std::size_t>(j) * problem_.size(), problem_.size());
  }

  /// The factors of the columns; 0 where the triangle has nothing to divide by.
  std::vector<double> solve_triangle(int count) {
    std::vector<double> numbers(numbers_.size());
    copy_async(std::span(numbers), numbers_.span(), problem_.stream());
    problem_.stream().synchronize();
    auto const h = Hessenberg::of(numbers.data(), restart_);
    std::vector<double> y(static_cast<std::size_t>(count));
    for (int i = count - 1; i >= 0; --i) {
      double sum = h.right[i];
      for (int j = i + 1; j < count; ++j) sum -= h.column(j)[i] * y[static_cast<std::size_t>(j)];
      double const diagonal = h.column(i)[i];
      y[static_cast<std::size_t>(i)] = diagonal == 0 ? 0 : sum / diagonal;
    }
    return y;
  }

  Problem<T> const& problem_;
  int restart_;
  std::int64_t size_, first_iteration_ = 0;
  Buffer<T> columns_, z_;
  Buffer<double> numbers_;
};

}  // namespace

template <class T>
std::unique_ptr<Iteration<T>> make_gmres(Problem<T> const& problem) {
  return std::make_unique<Restarted<T>>(problem);
}

template std::unique_ptr<Iteration<float>> make_gmres(Problem<float> const&);
template std::unique_ptr<Iteration<double>> make_gmres(Problem<double> const&);

}  // namespace gridstride::krylov
