#pragma once

#include <vector>

#include "config/run_config.hpp"
#include "core/stream.hpp"
#include "equations/modal_split.hpp"
#include "kernels/system/system.hpp"

namespace gridstride::pde {

/// Throws `ConfigError` where the mean of what constraints leave open is not 0 but for rounding: no
/// field makes them hold then. Waits for the device. Instantiated for float and double.
template <class T>
void check_balances(config::RunConfig const& run, equations::ModalSplit const& split,
                    Stream const& stream, std::vector<system::Input<T>> const& inputs);

}  // namespace gridstride::pde
