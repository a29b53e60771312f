#pragma once

#include "kernels/reduce/running.hpp"

/// What running.cpp and field.cpp have done by a backend; for the family's own files only.
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

template <class Operation>
void find_tiles([[maybe_unused]] Stream& stream, Tiles<Operation> const& tiles) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_tiles(stream, tiles);
#endif
  host_tiles(tiles);
}

template <class Operation>
void combine_tiles([[maybe_unused]] Stream& stream, Operation const& operation,
                   typename Operation::Value const* partials, std::int64_t count,
                   typename Operation::Value* result) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_combine_tiles(stream, operation, partials, count, result);
#endif
  auto value = Operation::identity();
  for (std::int64_t t = 0; t < count; ++t) Operation::combine(value, partials[t]);
  *result = operation.finish(value);
}

/// Calls the macro with each operation of data that come piece by piece.
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
  instantiate(IntegralOperation<double>)
/// The same with those of a grid.
#define GRIDSTRIDE_FOR_TILED_OPERATIONS(instantiate) \
  GRIDSTRIDE_FOR_RUNNING_OPERATIONS(instantiate);    \
  instantiate(FieldOperation<float>);                \
  instantiate(FieldOperation<double>)

}  // namespace gridstride::reduce
