#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "equations/discretise.hpp"
#include "equations/waves.hpp"

/// How large a step explicit schemes may take.
namespace gridstride::equations {

/// What a coefficient is between over all points of the grid.
struct Range {
  double least = 0;
  double greatest = 0;
};

/// A side where ∂u/∂n is −a times what another component is there, or u itself, beside what does
/// not follow from fields.
struct RobinSide {
  std::size_t component;  ///< of u
  int axis;
  int end;         ///< 0 or 1
  double spacing;  ///< along the axis
  Range a;         ///< over all of the side
  std::size_t of;  ///< the other component
};

struct Disc;
class Region;

/// What limits a step.
struct StepLimit {
  double step = 0;  ///< s, the longest that is stable; infinite where nothing limits it
  /// s, up to which edges that are carried from upwind stay sharp; infinite where nothing is, or by a
  /// scheme that is at edges what it is elsewhere.
  double sharp = std::numeric_limits<double>::infinity();
  double fastest = 0;   ///< 1/s, the largest |λ|
  double reaction = 0;  ///< 1/s, the largest |λ| without differences
  /// 1/s, how fast waves grow by themselves: the largest Re λ where coefficients are constant; else
  /// at most what each component makes of itself and what reactions make of all, where that is
  /// faster than a tenth of 1/step.
  double growth = 0;
  double growth_alone = 0;  ///< the same of components that act on none that acts on them
  /// What sets the step: λ = real ± i·imaginary of these components, which act on each other, for
  /// waves e^{iθ·x/h} with θ = `wave`. Nothing where the step is infinite.
  double real = 0, imaginary = 0;
  double carried = 0;  ///< points per s that they are carried from upwind, which λ is without
  std::vector<std::size_t> components = {};
  std::array<double, 3> wave = {0, 0, 0};
  /// No step makes the scheme stable, but for one so small that nobody would take it.
  bool hopeless = false;
};

/// What a scheme may make grow that the equations do not, in 1/s.
struct Tolerance {
  double reaction = 0;  ///< what turns no faster than this, but for a factor of 2, as fast as this
  double own = 0;       ///< all as fast as this, by which real parts are what S makes of them
  double growth = 0;    ///< what is no faster than `slow`, as fast as this
  double slow = 0;
};

/// A stencil linearised about a state. What e^{iθ·x/h} in component b adds to the rate of component
/// a is M_ab(θ) = Σ_k J_k·e^{iθ·k} with J_k = ∂rate_a/∂(b at offset k), frozen at each point (von
/// Neumann's analysis, exact where the coefficients are constant and the sides periodic). With
/// pairs ±k of offsets,
///
///   M(θ) = S + Σ (2·even_k·(cos θ·k − 1) + 2i·odd_k·sin θ·k),   S = Σ_k J_k
///
/// where even and odd are (J_k ± J_{−k})/2. S is what the rates do without differences.
///
/// A rate that depends on a global G of an operand e ties all points to each other. Of a small
/// change δ of component b, at most Δ at a point, the operand's own S and pairs make
///
///   |δG| ≤ (|S| + Σ over pairs (4|even| + 2|odd|))·Δ
///
/// at most, where a mean leaves out the pairs that are numbers, whose sum over a periodic grid is
/// 0; an integral is a mean times the measure; what globals do that stand in e is added. Times
/// |∂rate/∂G| this is a bound on what the coupling adds to eigenvalues, and counts as a reaction.
/// Where slope and S are numbers, it is their product at θ = 0, and 0 elsewhere. Noise counts as 0.
class Linearisation {
 public:
  /// Of `discretise_for_stability`. Throws `Error` where that takes more than `max_terms`.
  explicit Linearisation(Stencil stencil);

  Terms const& terms() const { return terms_; }
  /// S, even and odd of all pairs, and the speeds of what is carried along, in terms at a point,
  /// but for those that are numbers: what they are between has to be found over the present fields.
  std::span<Term const> coefficients() const { return coefficients_; }
  /// What globals in the coefficients are of, as in a `Stencil`, without noise.
  std::span<Term const> operands() const { return operands_; }

  /// How waves of a set of components that act on each other grow by themselves, for sure: the least
  /// of all coefficients in these ranges that were looked at, their middle and corners. What they do
  /// without differences counts where it is a number alone.
  struct WaveGrowth {
    std::vector<std::size_t> components;
    bool is_constant = true;  ///< those of differences are numbers
    bool is_linear = true;    ///< and so is what they do without differences
    double growth = 0;     ///< 1/s, the largest Re λ; 0 where waves grow no faster than all alike
    bool shortest = true;  ///< a wave of two points grows fastest
  };
  /// Of all sets whose coefficients are no numbers alone, for these ranges of them.
  std::vector<WaveGrowth> wave_growths(std::span<Range const> ranges) const;
  /// Of all others.
  std::vector<WaveGrowth> constant_wave_growths() const;

  /// The longest stable step of an explicit Runge-Kutta scheme with a polynomial of this degree: 1
  /// to 4, as many stages as its order, or 6, the pair of Dormand and Prince; for these ranges of
  /// the coefficients. Each eigenvalue λ(θ) of M lies in a rectangle: for constant coefficients it
  /// is a point; else, for each set of components that act on each other, it follows from the
  /// ranges, for several components by the numerical range of M, scaled so that it is as small as
  /// can be (Perron). With λ moved to Re λ ≤ 0, since what grows by itself may, |P(step·λ)| ≤ 1 has
  /// to hold on its border, P the scheme's polynomial: then it holds in all of the rectangle. Where
  /// |Im λ| is at most twice the rate at which the components of a set turn or grow without differences,
  /// λ less that rate will do as well, and λ less the rate at which they grow so will do everywhere: what
  /// turns or grows without differences may grow by as much. θ is taken at so many places of [−π, π] along each axis that
  /// what lies between is 4 % further at most (0.1 % in 1D, 1 % in 2D).
  ///
  /// What is carried along from upwind adds to each λ a point of the convex hull H of 0 and
  /// `convection_symbol` times σ, the sum over the axes of the largest speeds of a component of the
  /// set, in points per second. That is where the eigenvalues of −Σ (i·sin θ_x·A_x + α_x·(1 −
  /// cos θ_x))/h_x + … lie, and those of higher order alike: those of sums of Jacobians of
  /// hyperbolic systems are at most the sums of theirs (Gårding), whatever shares of α they are,
  /// and H with itself is 2·H.
  ///
  /// The analysis knows no sides. What `sides`, and those of the stencil that follow from fields,
  /// add to the rates of the points near them widens M's real parts; where a is positive this
  /// shortens the step, as −2a/h beside −4/h² for diffusion; of points aslant by their waves along the
  /// side. Where a side holds some components, the others are looked at without these, too, since what
  /// makes a reaction of both slow may be missing there. What they make of other components
  /// counts as a disc around 0, with which forward Euler is hopeless, and so does u = g(v) on a
  /// Dirichlet side, for which each ∂rate/∂u counts twice. Where that would be hopeless and an
  /// equation makes waves grow by itself, those of a tenth of the fastest rate at most may grow
  /// twice as fast as these.
  StepLimit limit(std::span<Range const> ranges, int degree,
                  std::span<RobinSide const> sides = {}) const;

 private:
  struct Pair {
    Offset offset;
    std::size_t place;  // of the offset among all
    int even, odd;      // places in values_
  };
  struct Entry {
    std::size_t row, column;
    int sum;
    std::vector<Pair> pairs;
  };
  /// What a rate, or an operand, makes of a number that is found.
  struct Coupling {
    std::size_t row;
    int found, slope;
  };
  /// A term's change with each component, and with numbers that are found.
  struct Slopes {
    std::vector<Entry> entries;
    std::vector<Coupling> couplings;

    /// `more`: what changes a rate and does not stand in it.
    void add(Linearisation& to, std::size_t row, Term of,
             std::span<Stencil::Slope const> more = {});
  };
  /// What all couplings add to entry (row, column).
  struct Bound {
    Range exact;        ///< a real number at θ = 0, 0 elsewhere
    double radius = 0;  ///< anywhere
  };
  struct Carried {
    std::size_t component, with;
    int speed;
  };
  /// As in a `Stencil`.
  struct SideSlope {
    SideKind kind;
    std::size_t component, of;
    int axis, end, slope;
  };
  struct FluxSlope {
    std::size_t rate, of;
    int here, inside;
  };
  /// Reactions of components that act on each other: places in values_, or -1, row after row.
  struct ReactionBlock {
    std::size_t size;
    std::vector<int> places;
  };
  /// What the sides of a state add, in all.
  struct AtSides {
    std::vector<RobinSide> slopes;
    std::vector<Bound> others;  ///< for each entry of the matrix; `exact` of the diagonal
  };
  /// Of a state, as it bears on the rates.
  struct Known {
    std::vector<Range> values;  // of values_
    std::vector<Bound> coupled;
    AtSides sides;
    std::vector<double> speeds;
  };
  /// For each entry whether a component acts on another one, and how much without differences.
  struct Actions {
    std::vector<char> acts;
    std::vector<double> sums;
  };

  /// At θ, what the entries of a block are with these values.
  struct Frozen;

  Waves find_waves();
  bool is_number(int place) const {
    return terms_.is_number(values_[static_cast<std::size_t>(place)]);
  }
  std::vector<std::size_t> waves_for_growth(std::size_t components) const;
  std::vector<WaveGrowth> growths_of_blocks(std::span<Range const> ranges, bool constant) const;
  std::vector<std::size_t> open_places(std::vector<std::size_t> const& block) const;
  WaveGrowth wave_growth(std::span<Range const> values, std::vector<std::size_t> const& block,
                         std::vector<std::size_t> const& open) const;
  void add_reactions(std::vector<Stencil::Reaction> const& reactions);
  /// 1/s, how fast reactions between components make some grow, at most: the largest real part of an
  /// eigenvalue of ∂rate/∂component at a point.
  double reaction_growth(std::span<Range const> values) const;
  Known known(std::span<Range const> ranges, std::span<RobinSide const> sides) const;
  Actions actions(Known const& known) const;
  /// The matrices of a block, one after the other for each wave, and what each wave has at the points
  /// of sides alone, where there is something of that kind.
  struct Matrices {
    std::vector<Disc> discs;
    std::vector<std::vector<std::complex<double>>> at_edges;
  };
  /// Of the components of a block, that are carried along so fast.
  Matrices matrices(Known const& known, std::vector<std::size_t> const& block, double speed) const;
  std::vector<Disc> fixed_part(Known const& known, std::vector<std::size_t> const& block,
                               double speed) const;
  /// What sides add to the row of an entry; appends to `at_edges` what is apart from the discs.
  void add_sides(Known const& known, std::vector<std::size_t> const& block, Entry const& entry,
                 std::array<double, 3> const* wave, std::span<Disc> discs,
                 std::vector<std::complex<double>>& at_edges) const;
  /// What S alone does to components of a block: how fast it turns them, no faster than what they do to
  /// each other, or values over the grid to one, and how fast it makes them grow.
  Tolerance tolerance_of(Known const& known, std::vector<std::size_t> const& block) const;
  /// Makes a limit what these components allow where that is less.
  void limit_by(Known const& known, std::vector<std::size_t> const& components,
                Tolerance const& tolerance, Region const& region, StepLimit& result) const;
  StepLimit limit_with(Known const& known, int degree, Tolerance const& tolerance) const;

  AtSides at_sides(std::span<Range const> values, std::span<RobinSide const> sides) const;
  int place_of(Term term);
  Range range_of(std::span<Range const> values, int place) const {
    return values[static_cast<std::size_t>(place)];
  }
  std::vector<Bound> bounds(std::span<Range const> values) const;
  /// For each component, how many points per second it is carried along.
  std::vector<double> speeds(std::span<Range const> values) const;
  /// `values`: ranges of values_.
  /// Whether points aslant of the sides of an entry's column count, which waves along the sides shift.
  bool is_aslant(Entry const& entry, std::span<RobinSide const> sides) const;
  /// What sides of an entry's column that follow from a component add to that one's.
  struct Added {
    Range real = {0, 0};
    /// For a wave along them, what it has at the sides' points alone: apart from `real`.
    std::vector<std::complex<double>> at_edges = {};
  };
  /// `wave` is null where no point lies aslant.
  Added added_by_sides(Entry const& entry, std::size_t of, std::span<Range const> values,
                       std::span<RobinSide const> sides, std::array<double, 3> const* wave) const;
  /// The same of what is carried along so fast.
  Range carried_by_sides(double speed, std::size_t component, std::size_t of,
                         std::span<RobinSide const> sides) const;

  Terms terms_;
  std::size_t components_;
  Slopes of_rates_, of_operands_;
  std::vector<Term> operands_;
  double measure_;
  std::vector<Carried> carried_;
  std::vector<SideSlope> side_slopes_;
  std::vector<FluxSlope> flux_slopes_;
  std::vector<ReactionBlock> reaction_blocks_;
  std::vector<std::vector<std::size_t>> held_;
  std::array<double, 3> spacing_;
  Convection convection_;
  std::vector<Term> values_;        // of all coefficients, each once
  std::vector<Term> coefficients_;  // those that are no numbers, in the same order
  Waves waves_;                     // for the rates
};

}  // namespace gridstride::equations
