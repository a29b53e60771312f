#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/precision.hpp"
#include "core/rank_sums.hpp"
#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/poisson/poisson.hpp"

/// Kernel family `multigrid`: −∇·(a∇u) + κu = f as family `poisson` has it, with a > 0 and κ ≥ 0 that
/// may differ from point to point, in one to three dimensions, any sides and any number of points,
/// by cycles through coarser and coarser levels of the grid.
///
/// What a cycle takes from the error it takes from errors of all lengths: relaxation smooths, and
/// what is smooth stands on a coarser level for a fraction of the work. An axis becomes coarser where
/// it is coupled as strongly as any. Interpolation and the equations of coarser levels are, for the
/// same coefficients everywhere, those of differences at any distances, and for fields elimination
/// along one axis after the other, with what couples the other axes lumped; on a line that is exact.
/// (Trottenberg, Oosterlee and Schüller, "Multigrid", 2001; Alcouffe et al., SIAM J. Sci. Stat.
/// Comput. 2 (1981); Ashby and Falgout, Nucl. Sci. Eng. 124 (1996).)
///
/// u is kept in float64, and so is what is left of the right-hand side; cycles find corrections in
/// float32 where roundings leave them their factor, else in float64. The same bits every time, on
/// the host with any number of threads.
namespace gridstride::multigrid {

/// How levels are gone through.
enum class Cycle {
  v,     ///< each once down and up
  w,     ///< each coarser one twice
  full,  ///< first from the coarsest one up, each beginning with what the coarser one has; then v
};

/// The textbook's methods, which relax the grid alone.
enum class Relaxation {
  none,     ///< cycles
  jacobi,   ///< all points at once
  in_turn,  ///< points in two colours, one after the other: Gauss-Seidel, and SOR
};

struct Options {
  Cycle cycle = Cycle::full;
  /// Whether cycles give directions of conjugate gradients in place of corrections: what few errors
  /// they leave, where coefficients jump, takes an iteration each. (Notay, SIAM J. Sci. Comput. 22
  /// (2000), has the directions for cycles that are not symmetric.)
  bool conjugates = false;
  int before = 2;  ///< relaxations of a level on the way down, at least one,
  int after = -1;  ///< and up; −1: one, or for conjugate directions of fields that jump two
  /// Levels without fields are solved by the modes of their axes as soon as those have at most so many
  /// unknowns each, up to `most_direct`; −1: as many on a GPU, where visits of smaller levels take
  /// longer than that, and 0 on the host.
  int direct = -1;
  /// Of several ranks: levels with fewer unknowns each of them has as a whole, and finds as all others
  /// do; −1: those that take longer to share.
  std::int64_t least_cut = -1;
  /// Until what is left of the right-hand side is at most so much of it, the largest values of both,
  bool residual_counts = true;
  /// and what corrections leave of the error to be expected is at most so much of u.
  bool error_counts = true;
  double tolerance = 1e-10;
  int most_cycles = 100;  ///< or sweeps of the textbook's methods
  /// In place of cycles. Sweeps are looked at by 16, and found in float64.
  Relaxation relaxation = Relaxation::none;
  double factor = 1;  ///< a point goes so many times as far as its equation has it
  /// What a cycle is taken to leave of an error, even where corrections shrink faster; −1: 0, or for conjugate
  /// directions of an a that differs a hundredfold two thirds. These take most from errors where a is large, and
  /// a correction that is small says little of the others.
  double least_left = -1;
};

/// The factor with which SOR ends soonest where a and κ are the same everywhere: 2/(1 + √(1 − μ²)),
/// μ the largest eigenvalue of Jacobi's matrix that is no constant's (Young, Trans. AMS 76 (1954)).
/// Periodic axes with odd numbers of points are not of two colours, and it is near the best there.
double optimal_factor(Grid const& grid, poisson::Sides const& sides, double diffusivity,
                      double reaction);

/// What a solve has come to.
struct Outcome {
  bool converged = false;
  int cycles = 0;                 ///< or sweeps
  double error = 0;               ///< estimated, over the largest |u|
  std::vector<double> residuals;  ///< largest |right − A·u| before the first cycle and after each
  std::vector<double> corrections;  ///< largest change of u by each cycle, or by 16 sweeps
  std::vector<std::int64_t> at;     ///< how many cycles or sweeps went before each residual
  /// By how much a cycle, or a sweep, has shrunk the residual, of the last ones but for the first.
  double factor() const;
};

/// The unknowns of the levels along the axes, the finest first, of a solver's for an equation with fields or
/// without.
std::vector<std::array<std::int64_t, 3>> level_points(Grid const& grid, poisson::Sides const& sides,
                                                      bool fields, Options const& options);

constexpr int most_direct = 64;

/// Along an axis: coarser axes are found on the host, point by point.
constexpr std::int64_t most_points_of_axis = std::int64_t{1} << 24;

/// What a solver takes of device memory, at most; more than there is of axes with more points than it
/// takes. With cuts, those of `RankPlanes`, one of several ranks' with as much as any.
std::size_t solver_bytes(Backend backend, Grid const& grid, poisson::Sides const& sides,
                         bool fields, Precision precision, Options const& options,
                         RankCuts const& cuts = {});

/// Planes along the slowest axis that are summed together with conjugate directions: no rank has a
/// part of those, which begin at multiples of their number.
std::int64_t planes_together(Backend backend, Grid const& grid, poisson::Sides const& sides,
                             bool fields);

template <class T>
struct SolverBody;

/// T is the type of the arrays, float or double.
template <class T>
class Solver {
 public:
  /// Makes the levels; fields of the equation are read now, and while it is solved. Where constants
  /// solve the equation without a source it is `singular`: the mean of the right-hand side is taken
  /// off it, and that of u is any. Waits
  /// for the stream. Throws `std::invalid_argument` for grids and sides that family `poisson` does
  /// not take, axes of more than `most_points_of_axis`, fewer than one relaxation before, a factor
  /// outside (0, 2), `direct` beyond `most_direct`, and a variant that this backend does not have.
  ///
  /// Of an equation that ranks share the finest levels are cut: each rank has some planes of them, and
  /// the others as a whole. All ranks make the solver and call `solve`, and have the outcome and the
  /// bits of one process; to begin from u each has its own planes of it. With `conjugates` cuts are where
  /// `planes_together` has them, else `std::invalid_argument` is thrown.
  Solver(Stream& stream, poisson::Equation<T> const& equation, bool singular, Options options = {},
         std::string_view variant = "auto");
  ~Solver();
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;

  int levels() const;
  /// In which corrections are found.
  Precision inner() const;
  /// A power of two: of `scale` times the equation the coefficients are at most about 1.
  double scale() const;
  /// From 0, or from what u has. u keeps what it has on Dirichlet sides. Waits for the stream.
  Outcome solve(Stream& stream, std::type_identity_t<std::span<T const>> right, std::span<T> u,
                bool from_u = false);
  /// Queues u ← some positive number times what one cycle makes of the right-hand side from 0: a
  /// preconditioner, of the same `magnitude` linear and the same each time. They may be the same
  /// array; u keeps what it has on Dirichlet sides. `magnitude` is about that of the right-hand side,
  /// for the range of numbers. With `alone` arrays are those of the unknowns, without points on
  /// Dirichlet sides; throws `std::invalid_argument` then where the equation has fields.
  void precondition(Stream& stream, std::span<double const> right, double magnitude,
                    std::span<double> u, bool alone = false);

 private:
  std::unique_ptr<SolverBody<T>> body_;
};

/// What a rung does: one cycle, of corrections in S.
template <class S>
struct CycleWork;
template <class S>
using Function = void(Stream&, CycleWork<S> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class S>
std::span<Variant<Function<S>> const> variants();

/// What `auto` means.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::multigrid
