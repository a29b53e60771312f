#pragma once

namespace gridstride::io {

/// Whether several runs of a process may use files of HDF5 at the same time: whether the library
/// takes care itself that one thread at a time is in it. A run alone does so where it does not.
bool serves_several_runs();

}  // namespace gridstride::io
