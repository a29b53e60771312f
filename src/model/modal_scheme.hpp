#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/modes/functions.hpp"

namespace gridstride {

/// Schemes for u_t = L·u + N(u, t) in the modes of a grid, with z = h·L for a step of h. Arrays are
/// numbered from that of the state, 0.

/// N of an array, or L·u + N, at t + time·h.
struct ModalRate {
  int in;
  int out;
  double time;
  bool is_whole = false;  ///< with L·u
};

/// out = Σ function(z)·(Σ weight·array), all of which is read before anything is written.
struct ModalUpdate {
  struct Term {
    int array;
    double weight;
    bool times_step = false;  ///< the weight is h times this
  };
  struct Target {
    int function;  ///< −1: 1
    int out;
  };
  struct Group {
    std::vector<Term> terms;
    std::vector<Target> targets;
  };
  std::vector<Group> groups;
};

/// What one step queues, one after the other: of each pair the rate first.
struct ModalStage {
  ModalRate rate;
  ModalUpdate update;
};

struct ModalScheme {
  std::vector<modes::MatrixFunction> functions = {};
  std::vector<ModalStage> stages;
  ModalUpdate start = {};  ///< before them; without groups there is none
  int arrays = 1;
};

/// The schemes in modes beside those of `schemes()`, which have their names there:
///
///   imex_euler  (1 − z)·u' = u + h·N(u)
///   imex_bdf2   two steps, of lengths that may differ: with ω = h/h₋,
///               (1 + 2ω)/(1 + ω)·u' − (1 + ω)·u + ω²/(1 + ω)·u₋ = z·u' + h·((1 + ω)·N − ω·N₋)
///               (D. Wang and S. J. Ruuth, J. Comput. Math. 26 (2008)); the first step is that of
///               imex_euler, of second order by itself
///   ark3        ARK3(2)4L[2]SA (C. A. Kennedy and M. H. Carpenter, Appl. Numer. Math. 44 (2003)):
///               four stages, whose implicit part is L-stable
///   etdrk4      S. M. Cox and P. C. Matthews, J. Comput. Phys. 176 (2002), with functions as by A.-K.
///               Kassam and L. N. Trefethen, SIAM J. Sci. Comput. 26 (2005); exact for N = 0
///
/// `ratio` is ω of imex_bdf2, 0 for the first step. Throws `std::invalid_argument` for another name.
ModalScheme modal_scheme(std::string_view name, double ratio = 1);

/// Whether the scheme has functions of z, and so takes L exactly or by a solve.
bool is_implicit_in_modes(std::string_view name);

/// The names of those.
std::span<std::string_view const> implicit_modal_schemes();

/// The explicit (first) and the implicit matrix of ark3, their weights, those of order 2 that tell the
/// error of a step, and the times of the stages.
struct AdditiveTable {
  static constexpr int stages = 4;
  std::array<std::array<double, stages>, stages> explicit_part, implicit_part;
  std::array<double, stages> weights, second_weights, times;
};
AdditiveTable const& ark3_table();

}  // namespace gridstride
