#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <span>

#include "kernels/multigrid/multigrid.hpp"
#include "kernels/multigrid/separable.hpp"
#include "kernels/multigrid/shares.hpp"
#include "kernels/multigrid/steps.hpp"

/// A cycle as a sequence of steps, for anybody who can call a step for all its points:
/// `run(step)`. For the family's own files only.
namespace gridstride::multigrid {

/// What is made of a level with all coarser ones, from its f to its u.
enum class Visit {
  from_zero,  ///< corrections of u = 0
  from_u,     ///< of what u is
  full,       ///< from the coarsest one up
};

/// What is queued of a visit: to where the next level has its f, and from there on.
enum class Part { all, descent, rest };

constexpr std::size_t no_level = std::numeric_limits<std::size_t>::max();

/// One cycle for the finest level's f, whose result is its u.
template <class S>
struct CycleWork {
  std::span<Level<S> const> levels;
  Separable<S> modes;      ///< of the level that is solved by them, if there is one, else
  double const* inverse;   ///< that of the coarsest level's equations
  S const* tables_end;     ///< behind the levels' tables, which lie level after level
  int const* numbers_end;  ///< the same of those of transfers
  Cycle cycle;
  int before, after;
  Visit visit = Visit::from_zero;
  Part part = Part::all;        ///< of one that is not full
  std::size_t first = 0;        ///< the level that is visited
  std::size_t twice = 0;        ///< one that is twice, as all are with `w`; 0: none
  std::size_t once = no_level;  ///< from this one on there is one sweep before, and after
  SharedLevels<S> const* shared = nullptr;  ///< where several ranks make the cycle
  /// Then: queues a visit of the finest level that all of them have as a whole.
  std::function<void(Visit)> visit_whole = {};
};

/// A `run` that has `takes_visits_of(level)` takes `Descend` and `Ascend` of levels for which that is
/// true, and `SolveByModes`.
template <class S, class Run>
class Cycles {
  static constexpr bool takes_visits = requires(Run const& run, Level<S> const& level) {
    run.takes_visits_of(level);
  };

 public:
  Cycles(CycleWork<S> const& work, Run const& run) : work_(work), run_(run) {}

  void all() const { visit(work_.first, work_.visit); }

 private:
  Level<S> const& level(std::size_t i) const { return work_.levels[i]; }
  /// A level as it gathers, and what it gathers to.
  Level<S> const& fine(std::size_t i) const {
    return work_.shared == nullptr ? level(i) : work_.shared->down(i);
  }
  Level<S> gathered_to(std::size_t i) const {
    return is_cut(i - 1) ? work_.shared->own(i) : level(i);
  }
  bool is_cut(std::size_t i) const { return work_.shared != nullptr && work_.shared->is_cut(i); }
  /// Queues that this rank has what a level's visit looks at, after it has gathered its own of it.
  void complete_right(std::size_t i) const {
    if (!is_cut(i - 1)) return;
    flush();
    work_.shared->complete_right(i);
  }
  /// Queues what has been collected.
  void flush() const {
    if constexpr (requires { run_.flush(); }) run_.flush();
  }
  void visit(std::size_t i, Visit how) const {
    if (i > 0 && is_cut(i - 1) && !is_cut(i)) {
      flush();
      return work_.visit_whole(how);
    }
    if (how == Visit::full) return full(i);
    down_and_up(i, how == Visit::from_zero);
  }
  /// Whether a level is the last one that is visited: it is solved directly.
  bool is_last(std::size_t i) const {
    return i + 1 == work_.levels.size() || static_cast<int>(i) == work_.modes.level;
  }
  void solve(std::size_t i) const {
    if (static_cast<int>(i) != work_.modes.level)
      return run_(SolveDirectly<S>{level(i), work_.inverse});
    SolveByModes<S> const by_modes{level(i), work_.modes};
    if constexpr (takes_visits)
      run_(by_modes);
    else
      solve_by_modes(by_modes, run_);
  }

  void relax(Level<S> const& of, bool from_zero) const {
    if (!of.has_seam()) {
      run_(Relax<S>{of, 0, from_zero});
      run_(Relax<S>{of, 1, false});
      return;
    }
    if (from_zero) run_(Clear<S>{of});
    for (int phase = 0; phase < RelaxPhase<S>::phases; ++phase) run_(RelaxPhase<S>{of, phase});
  }

  int sweeps_of(std::size_t i, int sweeps) const {
    return i < work_.once ? sweeps : std::min(sweeps, 1);
  }

  /// u of the level from its f; from 0, or from what u is.
  void down_and_up(std::size_t i, bool from_zero) const {
    Part const part = i == work_.first ? work_.part : Part::all;
    if (is_last(i)) return part == Part::descent ? void() : solve(i);
    if (part != Part::rest) {
      descend(fine(i), gathered_to(i + 1), sweeps_of(i, work_.before), from_zero);
      complete_right(i + 1);
    }
    if (part == Part::descent) return;
    visit(i + 1, Visit::from_zero);
    bool const again = work_.cycle == Cycle::w || i + 1 == work_.twice;
    if (again && !is_last(i + 1)) visit(i + 1, Visit::from_u);
    ascend(level(i), level(i + 1), sweeps_of(i, work_.after));
    // Those of the finest level are right as far as anybody looks.
    if (i == 0 || !is_cut(i)) return;
    flush();
    work_.shared->complete_solution(i);
  }

  void descend(Level<S> const& fine, Level<S> const& coarse, int sweeps, bool from_zero) const {
    if constexpr (takes_visits)
      if (run_.takes_visits_of(fine)) return run_(Descend<S>{fine, coarse, sweeps, from_zero});
    for (int sweep = 0; sweep < sweeps; ++sweep)
      relax(for_sweep(fine, false, sweep, sweeps), from_zero && sweep == 0);
    run_(KeepResidual<S>{fine});
    run_(Gather<S>{fine, coarse, fine.r});
  }

  void ascend(Level<S> const& fine, Level<S> const& coarse, int sweeps) const {
    if constexpr (takes_visits)
      if (run_.takes_visits_of(fine)) return run_(Ascend<S>{fine, coarse, sweeps});
    // Points of the first colour are relaxed next, mostly from the others alone.
    bool const both = fine.has_seam() || fine.smooths > 1 || sweeps == 0;
    run_(Correct<S>{fine, coarse, both ? 3 : 2, true});
    for (int sweep = 0; sweep < sweeps; ++sweep) relax(for_sweep(fine, true, sweep, sweeps), false);
  }

  void full(std::size_t i) const {
    if (is_last(i)) return solve(i);
    run_(Gather<S>{fine(i), gathered_to(i + 1), level(i).f});
    complete_right(i + 1);
    visit(i + 1, Visit::full);
    run_(Correct<S>{level(i), level(i + 1), 3, false});
    down_and_up(i, false);
  }

  CycleWork<S> const& work_;
  Run const& run_;
};

}  // namespace gridstride::multigrid
