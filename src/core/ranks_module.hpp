#pragma once

/// What the module with MPI in it offers to the program, which loads it only under a launcher, so
/// that it needs no MPI without one.
namespace gridstride {

class Ranks;

inline constexpr char ranks_module_file[] = "gridstride_mpi.so";
inline constexpr char open_ranks_name[] = "gridstride_open_ranks";

/// Begins MPI. The one who calls it owns what it returns.
using OpenRanks = Ranks*();

}  // namespace gridstride
