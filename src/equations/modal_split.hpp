#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "equations/modal.hpp"
#include "equations/system.hpp"
#include "grid/grid.hpp"

/// From a system's equations to its modes.
namespace gridstride::equations {

/// What takes the place of derivatives.
struct ModalSpace {
  Symbols symbols = Symbols::exact;
  int order = 2;  ///< of differences
  std::array<double, 3> dealias = {1, 1, 1};
};

/// An equation or a constraint that modes do not take.
class ModalError : public Error {
 public:
  enum class In { equation, constraint };
  ModalError(In where, int which, std::string const& what) : Error(what), in(where), index(which) {}
  In in;
  int index;  ///< of the component, or of the constraint
};

/// The most arrays that products are made of.
inline constexpr int max_arrays = max_components;

struct ModalSplit {
  ModalSystem system;
  /// What has to be 0 in the mean at every moment, since constraints leave that of their fields open:
  /// of constraints what they have beside those. The mean of these fields is 0.
  std::vector<Term> balances;
  std::vector<int> balanced;  ///< the constraint of each
  Terms terms;                ///< of these
};

/// Splits a system. With exact symbols all that is linear with constant coefficients goes by modes;
/// what is left is sums of derivatives of products at points, of which there are as few as are
/// independent, as are arrays that the products are made of. With differences it is the system of
/// `discretise`: of what is linear, that goes by modes which has the unknown's own.
///
/// `sides`: of all components, then of fields that constraints hold. Throws `ModalError`, and
/// `Error` for what all equations together need.
ModalSplit split_into_modes(System const& system, Grid const& grid, ModalSpace const& space,
                            std::vector<BeyondSides> const& sides);

/// Transforms that an evaluation of N takes, to points and back.
int transforms_of(ModalSystem const& system);

/// A mode along an axis.
struct AxisMode {
  double waves = 0;  ///< over the length of the axis; less than 0 for exp(iθj) with θ < 0
  double angle = 0;  ///< θ, from point to point
  bool is_nyquist = false;
};
std::vector<AxisMode> modes_of(Grid const& grid, int axis, std::array<Beyond, 2> const& sides);

/// A mode that an operator is 0 at, beside that of the mean: `3 waves along x, 0 waves along y`;
/// empty: there is none.
std::string resonance_of(Operator const& of, Grid const& grid, ModalSpace const& space,
                         BeyondSides const& sides);

}  // namespace gridstride::equations
