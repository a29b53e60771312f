#pragma once

#include <memory>
#include <optional>

#include "kernels/krylov/krylov.hpp"
#include "kernels/krylov/run.hpp"

/// The methods behind `solve`, for the family's own files.
namespace gridstride::krylov {

/// What a method works on. x is the solution so far, r = b − A·x; of several right-hand sides vectors lie
/// one after the other.
template <class T>
struct Problem {
  Scratch& scratch;
  Operator<T> const& a;
  Preconditioner<T> const& preconditioner;
  std::span<T const> b;
  std::span<T> x, r;
  Options const& options;

  Stream& stream() const { return scratch.stream(); }
  std::size_t size() const { return x.size(); }
  /// to ← A·from, or M⁻¹·from, of the right-hand sides that run.
  void apply(std::span<T const> from, std::span<T> to) const { apply(a.apply, from, to); }
  void precondition(std::span<T const> from, std::span<T> to) const {
    apply(preconditioner, from, to);
  }
  Buffer<T> vector() const { return {stream(), MemorySpace::device, size()}; }
  /// r ← b − A·x; its norm goes to the state, with ‖b‖. `memory` is for A·x.
  void find_residual(std::span<T> memory) const {
    apply(x, memory);
    run(scratch, Residual<T>{b.data(), memory.data(), r.data()});
  }

 private:
  void apply(Apply<T> const& function, std::span<T const> from, std::span<T> to) const {
    scratch.for_each_stretch([&](std::int64_t first, std::int64_t count) {
      auto const begin = static_cast<std::size_t>(first * a.size);
      auto const length = static_cast<std::size_t>(count * a.size);
      function(stream(), from.subspan(begin, length), to.subspan(begin, length));
    });
  }
};

/// One method, from one beginning to the next: `begin`, then `iterate` any number of times, then
/// `end`. `longest` other than its default, `heed` and `end` are for methods that take one right-hand
/// side at a time.
template <class T>
class Iteration {
 public:
  virtual ~Iteration() = default;
  /// Queues what comes before the first iteration: x and r are there, r's norm is in the state.
  virtual void begin() {}
  /// Queues number `index` since the beginning.
  virtual void iterate(std::int64_t index) = 0;
  /// What the iterations queued so far have come to; at first, where they begin.
  virtual void heed(State const& /*state*/) {}
  /// Makes x what the iterations have found; `state` is what they left.
  virtual void end(State const& /*state*/) {}
  /// Iterations after which it has to end.
  virtual std::int64_t longest() const { return std::int64_t{1} << 62; }
  /// What it means that p·A·p ≤ 0 as other sums tell, for one right-hand side, with the state that it
  /// has come to: nothing where that was rounding.
  virtual std::optional<Outcome> judge(std::int64_t /*column*/, State const& /*state*/) {
    return Outcome::indefinite;
  }
  /// Whether α and β of iterations are those of Lanczos' method (ritz.hpp).
  virtual bool is_lanczos() const { return false; }
  /// Memory that is free at `begin` and after `end`.
  virtual std::span<T> spare() = 0;
};

/// What happened, and what would do in a method's place or beside it; empty where it converged.
std::string advice_of(Method method, Outcome outcome, Result const& result, bool preconditioned);

template <class T>
std::unique_ptr<Iteration<T>> make_cg(Problem<T> const& problem);
template <class T>
std::unique_ptr<Iteration<T>> make_bicgstab(Problem<T> const& problem);
template <class T>
std::unique_ptr<Iteration<T>> make_gmres(Problem<T> const& problem);
template <class T>
std::unique_ptr<Iteration<T>> make_minres(Problem<T> const& problem);

}  // namespace gridstride::krylov
