// Cycles in as few and as fast kernels as they take: steps of large levels by columns of points
// (cuda_march.cu), where the equations are tables, and what is to be done on levels of a few thousand
// points by one block, in one kernel, where launches would take longer than the work. It has those
// levels in shared memory; the steps are the ones of steps.hpp.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

enum class Kind : unsigned char {
  relax,
  relax_phase,
  clear,
  keep_residual,
  gather,
  gather_f,
  correct,
  solve
};

/// A step on a small level, counted from the first one that is, and on the next coarser one.
struct Order {
  Kind kind;
  unsigned char level, colours;
  bool flag;
};

constexpr int most_orders = 500;
struct Orders {
  int count = 0;
  Order list[most_orders];
};

/// The small levels, where they lie, and what of them goes to shared memory.
template <class S>
struct Small {
  int first = 0, count = 0;
  Level<S> const* levels = nullptr;  ///< the first of them
  S const* tables = nullptr;
  int const* numbers = nullptr;
  int table_size = 0, number_size = 0, values = 0;

  GRIDSTRIDE_HOST_DEVICE std::size_t bytes() const {
    return count * sizeof(Level<S>) + sizeof(S) * (std::size_t(values) + table_size) +
           sizeof(int) * std::size_t(number_size);
  }
};

/// Those of at most `points` points whose bytes fit; there is always the coarsest.
template <class S>
Small<S> small_levels(CycleWork<S> const& work, std::int64_t points, std::size_t most_bytes) {
  Small<S> small, last;
  auto const all = static_cast<int>(work.levels.size());
  for (int l = all - 1; l >= 0; --l) {
    auto const& level = work.levels[static_cast<std::size_t>(l)];
    if (l + 1 < all && level.size() > points) break;
    small.first = l;
    small.count = all - l;
    small.levels = work.on_device + l;
    small.tables = level.lower[0];
    small.table_size = static_cast<int>(work.tables_end - level.lower[0]);
    small.numbers = l + 1 < all ? level.transfer[0].left : work.numbers_end;
    small.number_size = static_cast<int>(work.numbers_end - small.numbers);
    small.values += static_cast<int>(3 * 2 * level.colour);
    if (l + 1 < all && small.bytes() > most_bytes) break;
    last = small;
  }
  return last;
}

constexpr int threads_of_tail = 512;

template <class Step>
__device__ void call_all(Step const& step) {
  Extent const points = step.extent();
  int const all = points.x * points.y * points.z;
  for (int at = static_cast<int>(threadIdx.x); at < all; at += threads_of_tail) {
    int const line = at / points.x;
    step(at - line * points.x, line % points.y, line / points.y);
  }
}

template <class Value>
__device__ void copy_all(Value* to, Value const* from, int size) {
  for (int at = static_cast<int>(threadIdx.x); at < size; at += threads_of_tail) to[at] = from[at];
}

/// One block does what is ordered, with a barrier after each step.
template <class S>
__global__ void __launch_bounds__(threads_of_tail)
    small_kernel(__grid_constant__ Orders const orders, __grid_constant__ Small<S> const small,
                 S const* inverse) {
  extern __shared__ __align__(16) unsigned char shared_levels[];
  auto* const levels = reinterpret_cast<Level<S>*>(shared_levels);
  auto* const values = reinterpret_cast<S*>(levels + small.count);
  S* const tables = values + small.values;
  int* const numbers = reinterpret_cast<int*>(tables + small.table_size);
  copy_all(reinterpret_cast<int*>(levels), reinterpret_cast<int const*>(small.levels),
           static_cast<int>(small.count * sizeof(Level<S>) / sizeof(int)));
  copy_all(tables, small.tables, small.table_size);
  copy_all(numbers, small.numbers, small.number_size);
  __syncthreads();
  // What the levels' pointers point to has moved; what is stored of equations stays where it is.
  if (static_cast<int>(threadIdx.x) < small.count) {
    Level<S>& level = levels[threadIdx.x];
    int before = 0;
    for (int l = 0; l < static_cast<int>(threadIdx.x); ++l)
      before += static_cast<int>(6 * small.levels[l].colour);
    int const size = static_cast<int>(2 * level.colour);
    level.u = values + before;
    level.f = level.u + size;
    level.r = level.f + size;
    auto const moved = [&](auto const*& pointer, auto const* from, auto const* to) {
      pointer = to + (pointer - from);
    };
    for (int axis = 0; axis < 3; ++axis) {
      moved(level.lower[axis], small.tables, tables);
      moved(level.upper[axis], small.tables, tables);
      moved(level.sum[axis], small.tables, tables);
      if (static_cast<int>(threadIdx.x) + 1 == small.count) continue;
      auto& transfer = level.transfer[axis];
      moved(transfer.left, small.numbers, numbers);
      moved(transfer.right, small.numbers, numbers);
      moved(transfer.kept, small.numbers, numbers);
      moved(transfer.to_left, small.tables, tables);
      moved(transfer.to_right, small.tables, tables);
      moved(transfer.gather, small.tables, tables);
    }
  }
  __syncthreads();
  Level<S> const& global = small.levels[0];
  int const size = static_cast<int>(2 * global.colour);
  copy_all(levels[0].u, global.u, size);
  copy_all(levels[0].f, global.f, size);
  __syncthreads();
  for (int at = 0; at < orders.count; ++at) {
    Order const order = orders.list[at];
    Level<S> const& fine = levels[order.level];
    Level<S> const& coarse = levels[order.kind == Kind::solve ? order.level : order.level + 1];
    switch (order.kind) {
      case Kind::relax:
        call_all(Relax<S>{fine, order.colours, order.flag});
        break;
      case Kind::relax_phase:
        call_all(RelaxPhase<S>{fine, order.colours});
        break;
      case Kind::clear:
        call_all(Clear<S>{fine});
        break;
      case Kind::keep_residual:
        call_all(KeepResidual<S>{fine});
        break;
      case Kind::gather:
        call_all(Gather<S>{fine, coarse, fine.r});
        break;
      case Kind::gather_f:
        call_all(Gather<S>{fine, coarse, fine.f});
        break;
      case Kind::correct:
        call_all(Correct<S>{fine, coarse, order.colours, order.flag});
        break;
      case Kind::solve:
        call_all(SolveDirectly<S>{fine, inverse});
        break;
    }
    __syncthreads();
  }
  copy_all(global.u, levels[0].u, size);
  copy_all(global.f, levels[0].f, size);
}

/// Launches steps on large levels, and collects those on small ones until another one comes.
template <class S>
class Launcher {
 public:
  Launcher(Stream& stream, CycleWork<S> const& work)
      : stream_(stream),
        work_(work),
        small_(small_levels(work, 6000, stream.device().capabilities().shared_bytes)) {}

  void operator()(Relax<S> const& step) const {
    take(step, step.level, Kind::relax, step.colour, step.from_zero);
  }
  void operator()(RelaxPhase<S> const& step) const {
    take(step, step.level, Kind::relax_phase, step.phase);
  }
  void operator()(Clear<S> const& step) const { take(step, step.level, Kind::clear); }
  void operator()(KeepResidual<S> const& step) const {
    take(step, step.level, Kind::keep_residual);
  }
  void operator()(Gather<S> const& step) const {
    take(step, step.fine, step.values == step.fine.f ? Kind::gather_f : Kind::gather);
  }
  void operator()(GatherResidual<S> const& step) const {
    // A few threads would find residuals one after the other.
    if (step.fine.number >= small_.first) {
      (*this)(KeepResidual<S>{step.fine});
      return (*this)(Gather<S>{step.fine, step.coarse, step.fine.r});
    }
    take(step, step.fine, Kind::gather);
  }
  void operator()(Correct<S> const& step) const {
    take(step, step.fine, Kind::correct, step.colours, step.adds);
  }
  void operator()(SolveDirectly<S> const& step) const { take(step, step.level, Kind::solve); }
  void flush() const {
    if (orders_.count == 0) return;
    auto const bytes = static_cast<int>(small_.bytes());
    GRIDSTRIDE_CUDA(
        cudaFuncSetAttribute(small_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    small_kernel<<<1, threads_of_tail, static_cast<std::size_t>(bytes), native(stream_)>>>(
        orders_, small_, work_.inverse);
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "multigrid small levels");
    orders_.count = 0;
  }

 private:
  template <class Step>
  void take(Step const& step, Level<S> const& level, Kind kind, int colours = 0,
            bool flag = false) const {
    if (level.number < small_.first) {
      flush();
      if constexpr (requires { march(stream_, step); })
        if (can_march(level)) return march(stream_, step);
      return cuda_each(stream_, step);
    }
    if (orders_.count == most_orders) flush();
    orders_.list[orders_.count++] = {kind, static_cast<unsigned char>(level.number - small_.first),
                                     static_cast<unsigned char>(colours), flag};
  }

  Stream& stream_;
  CycleWork<S> const& work_;
  Small<S> small_;
  mutable Orders orders_;
};

}  // namespace

template <class S>
void cuda_fused(Stream& stream, CycleWork<S> const& work) {
  Launcher<S> const launcher(stream, work);
  Cycles<S, Launcher<S>>(work, launcher, true).all();
  launcher.flush();
}

template void cuda_fused(Stream&, CycleWork<float> const&);
template void cuda_fused(Stream&, CycleWork<double> const&);

}  // namespace gridstride::multigrid
