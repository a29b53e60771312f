#pragma once

#include "kernels/reduce/running.hpp"

/// What running.cpp has done by a backend; for the family's own files only.
namespace gridstride::reduce {

/// The result of each tile.
template <class Operation>
void host_tiles(Tiles<Operation> const& tiles);
template <class Operation>
void cuda_tiles(Stream& stream, Tiles<Operation> const& tiles);

/// The result of all tiles.
template <class Operation>
void cuda_combine_tiles(Stream& stream, Operation const& operation,
                        typename Operation::Value const* partials, std::int64_t count,
                        typename Operation::Value* result);

/// Calls the macro with each operation that there is.
#define GRIDSTRIDE_FOR_RUNNING_OPERATIONS(instantiate) \
  instantiate(SumOperation<float>);                    \
  instantiate(SumOperation<double>);                   \
  instantiate(DotOperation<float>);                    \
  instantiate(DotOperation<double>);                   \
  instantiate(SquaresOperation<float>);                \
  instantiate(SquaresOperation<double>);               \
  instantiate(MomentsOperation<float>);                \
  instantiate(MomentsOperation<double>);               \
  instantiate(MinimumPlace<float>);                    \
  instantiate(MinimumPlace<double>);                   \
  instantiate(MaximumPlace<float>);                    \
  instantiate(MaximumPlace<double>);                   \
  instantiate(IntegralOperation<float>);               \
  instantiate(IntegralOperation<double>);              \
  instantiate(FieldOperation<float>);                  \
  instantiate(FieldOperation<double>)

}  // namespace gridstride::reduce
