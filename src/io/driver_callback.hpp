#pragma once

#include <hdf5.h>

#include <exception>

namespace gridstride::io::hdf5 {

/// Runs `work` for a callback of HDF5's file drivers, which knows no exceptions: HDF5's stack of errors has
/// what it throws, as one of the kind `minor`, and −1 is returned in the place of 0.
template <class Work>
herr_t guarded(hid_t minor, Work const& work) {
  try {
    work();
    return 0;
  } catch (std::exception const& error) {
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_VFL, minor, "%s",
             error.what());
    return -1;
  }
}

}  // namespace gridstride::io::hdf5
