#pragma once

#include "equations/modal_split.hpp"
#include "equations/modal_sums.hpp"

/// What `split_into_modes` is made of; for its own files only.
namespace gridstride::equations {

/// A system in modes of which nothing is known but its sides.
ModalSystem empty_system(System const& system, ModalSpace const& space,
                         std::vector<BeyondSides> const& sides);

ModalSystem split_exactly(System const& system, ModalSpace const& space,
                          std::vector<BeyondSides> const& sides, ConstraintSolution& solution);
ModalSystem split_differences(System const& system, Grid const& grid, ModalSpace const& space,
                              std::vector<BeyondSides> const& sides, ConstraintSolution& solution);

}  // namespace gridstride::equations
