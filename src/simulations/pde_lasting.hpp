#pragma once

#include <cstddef>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/system/system.hpp"
#include "model/state.hpp"

/// What of the equations depends on space alone and is held by arrays.
namespace gridstride::pde {

/// Adds the arrays, with what they hold beyond sides that do not wrap.
void add_lasting(std::vector<Row>& rows, config::RunConfig const& run,
                 equations::Stencil const& stencil);

/// How many of the arrays a program reads.
std::size_t lasting_read(config::RunConfig const& run, equations::StencilProgram const& program);

/// The arrays of a stencil, made once, by the programs and the arithmetic of the device that else
/// would find them in each evaluation. Instantiated for float and double.
template <class T>
class LastingArrays {
 public:
  /// Queues what makes them. `other` is any array over the grid.
  LastingArrays(Stream const& stream, config::RunConfig const& run,
                equations::Stencil const& stencil, T const* other);

  /// What evaluations read after components and names.
  std::vector<system::Input<T>> const& inputs() const { return inputs_; }

 private:
  Stream stream_;
  std::vector<Buffer<T>> arrays_, beyond_;
  std::vector<system::Input<T>> inputs_;
};

}  // namespace gridstride::pde
