#pragma once

#include "kernels/krylov/passes_bicgstab.hpp"
#include "kernels/krylov/passes_cg.hpp"
#include "kernels/krylov/passes_chebyshev.hpp"
#include "kernels/krylov/passes_gmres.hpp"
#include "kernels/krylov/passes_minres.hpp"

/// The passes, for those who instantiate them all.
#define GRIDSTRIDE_KRYLOV_PASSES(of, T)                                                       \
  of(Residual<T>) of(Dot<T>) of(CgSums<T>) of(CgStep<T>) of(Replace<T>) of(BicgDirection<T>)  \
      of(BicgAlpha<T>) of(BicgHalf<T>) of(BicgOmega<T>) of(BicgStep<T>) of(LanczosBegin<T>)   \
          of(LanczosDelta<T>) of(LanczosVector<T>) of(LanczosRotation<T>) of(MinresStep<T>)   \
              of(ColumnProducts<T>) of(Orthogonalise<T>) of(FirstColumn<T>) of(NextColumn<T>) \
                  of(Combine<T>) of(FlexibleCgSums<T>) of(Multiply<T>) of(ChebyshevBegin<T>)  \
                      of(ChebyshevStep<T>)
