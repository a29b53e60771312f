// Cycles on the GPU: what steps.hpp has for each point, by a thread. Values lie colour by colour, so
// that relaxation of a colour moves 1.5 numbers a point of the level (that colour's f and u, the
// other's u), each once from memory: neighbours along y and z come from the caches, since a block
// is a brick of points.
//
//   steps   a kernel for each step
//   fused   residuals are found where they are gathered, which saves to write and read them; and
//           what is to be done on levels of a few thousand points, one after another, a single block
//           does in one kernel, where launches would take longer than the work.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "kernels/multigrid/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int threads = 256;

/// A brick of threads, and bricks enough for the points; where blocks are to be few, each takes
/// several along z, or y.
struct Bricks {
  dim3 block, grid;

  static Bricks of(Extent points, bool few) {
    Bricks bricks;
    bricks.block = points.z > 1 ? dim3(32, 4, 2) : points.y > 1 ? dim3(32, 8, 1) : dim3(256, 1, 1);
    auto const count = [](int all, unsigned each) {
      return (static_cast<unsigned>(all) + each - 1) / each;
    };
    constexpr unsigned most = 65535;
    unsigned const x = count(points.x, bricks.block.x);
    unsigned y = std::min(most, count(points.y, bricks.block.y));
    unsigned z = std::min(most, count(points.z, bricks.block.z));
    constexpr unsigned enough = 4096;  // a number that depends on no device
    if (few) {
      y = std::min(y, std::max(1u, enough / x));
      z = std::min(z, std::max(1u, enough / (x * y)));
    }
    bricks.grid = dim3(x, y, z);
    return bricks;
  }
};

/// Calls `visit(i, j, k)` for the thread's points.
template <class Visit>
__device__ void for_own_points(Extent points, Visit const& visit) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= points.x) return;
  for (int k = static_cast<int>(blockIdx.z * blockDim.z + threadIdx.z); k < points.z;
       k += static_cast<int>(gridDim.z * blockDim.z))
    for (int j = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y); j < points.y;
         j += static_cast<int>(gridDim.y * blockDim.y))
      visit(i, j, k);
}

template <class Step>
__global__ void __launch_bounds__(threads) each_kernel(__grid_constant__ Step const step) {
  for_own_points(step.extent(), [&](int i, int j, int k) { step(i, j, k); });
}

template <class Step>
__global__ void __launch_bounds__(threads)
    find_kernel(__grid_constant__ Step const step, Found* largest) {
  __shared__ Found shared[threads / warp_size];
  Found own;
  for_own_points(step.extent(), [&](int i, int j, int k) { raise(own, step(i, j, k)); });
  // Threads of a brick in the order of their numbers: the largest of all is the same in any.
  int const lane =
      static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    raise(own, shuffle_down(own, distance));
  if (lane % warp_size == 0) shared[lane / warp_size] = own;
  __syncthreads();
  if (lane != 0) return;
  for (int warp = 1; warp < threads / warp_size; ++warp) raise(own, shared[warp]);
  using Word = unsigned long long;
  atomicMax(reinterpret_cast<Word*>(&largest->first), static_cast<Word>(own.first));
  atomicMax(reinterpret_cast<Word*>(&largest->second), static_cast<Word>(own.second));
}

template <class Step>
void launch(Stream& stream, Step const& step) {
  auto const bricks = Bricks::of(step.extent(), false);
  each_kernel<<<bricks.grid, bricks.block, 0, native(stream)>>>(step);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid step");
}

// ------------------------------------------------------------------------------- small levels

enum class Kind : unsigned char {
  relax,
  relax_phase,
  clear,
  keep_residual,
  gather,
  gather_f,
  gather_residual,
  correct,
  solve
};

/// A step on a small level, and on the next coarser one.
struct Order {
  Kind kind;
  unsigned char level, colour;
  bool flag;
};

constexpr int most_orders = 500;
struct Orders {
  int count = 0;
  Order list[most_orders];
};

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

/// One block does what is ordered, with a barrier after each step.
template <class S>
__global__ void __launch_bounds__(threads_of_tail)
    tail_kernel(__grid_constant__ Orders const orders, Level<S> const* levels, S const* inverse) {
  for (int at = 0; at < orders.count; ++at) {
    Order const order = orders.list[at];
    Level<S> const& fine = levels[order.level];
    Level<S> const& coarse = levels[order.kind == Kind::solve ? order.level : order.level + 1];
    switch (order.kind) {
      case Kind::relax:
        call_all(Relax<S>{fine, order.colour, order.flag});
        break;
      case Kind::relax_phase:
        call_all(RelaxPhase<S>{fine, order.colour});
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
      case Kind::gather_residual:
        call_all(GatherResidual<S>{fine, coarse});
        break;
      case Kind::correct:
        call_all(Correct<S>{fine, coarse, order.colour, order.flag});
        break;
      case Kind::solve:
        call_all(SolveDirectly<S>{fine, inverse});
        break;
    }
    __syncthreads();
  }
}

/// Launches steps on large levels, and collects those on small ones until another one comes.
template <class S>
class Launcher {
 public:
  Launcher(Stream& stream, CycleWork<S> const& work) : stream_(stream), work_(work) {}

  void operator()(Relax<S> const& step) const {
    take(step, step.level, {Kind::relax, number(step.level), colour(step.colour), step.from_zero});
  }
  void operator()(RelaxPhase<S> const& step) const {
    take(step, step.level, {Kind::relax_phase, number(step.level), colour(step.phase), false});
  }
  void operator()(Clear<S> const& step) const {
    take(step, step.level, {Kind::clear, number(step.level), 0, false});
  }
  void operator()(KeepResidual<S> const& step) const {
    take(step, step.level, {Kind::keep_residual, number(step.level), 0, false});
  }
  void operator()(Gather<S> const& step) const {
    Kind const kind = step.values == step.fine.f ? Kind::gather_f : Kind::gather;
    take(step, step.fine, {kind, number(step.fine), 0, false});
  }
  void operator()(GatherResidual<S> const& step) const {
    take(step, step.fine, {Kind::gather_residual, number(step.fine), 0, false});
  }
  void operator()(Correct<S> const& step) const {
    take(step, step.fine, {Kind::correct, number(step.fine), colour(step.colour), step.adds});
  }
  void operator()(SolveDirectly<S> const& step) const {
    take(step, step.level, {Kind::solve, number(step.level), 0, false});
  }
  void flush() const {
    if (orders_.count == 0) return;
    tail_kernel<<<1, threads_of_tail, 0, native(stream_)>>>(orders_, work_.on_device,
                                                            work_.inverse);
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "multigrid small levels");
    orders_.count = 0;
  }

 private:
  static unsigned char number(Level<S> const& level) {
    return static_cast<unsigned char>(level.number);
  }
  static unsigned char colour(int value) { return static_cast<unsigned char>(value); }
  template <class Step>
  void take(Step const& step, Level<S> const& level, Order const& order) const {
    constexpr std::int64_t small = 6000;
    if (level.size() > small) {
      flush();
      return launch(stream_, step);
    }
    if (orders_.count == most_orders) flush();
    orders_.list[orders_.count++] = order;
  }

  Stream& stream_;
  CycleWork<S> const& work_;
  mutable Orders orders_;
};

}  // namespace

template <class S>
void cuda_steps(Stream& stream, CycleWork<S> const& work) {
  auto const run = [&](auto const& step) { launch(stream, step); };
  Cycles<S, decltype(run)>(work, run, false).all();
}

template <class S>
void cuda_fused(Stream& stream, CycleWork<S> const& work) {
  Launcher<S> const launcher(stream, work);
  Cycles<S, Launcher<S>>(work, launcher, true).all();
  launcher.flush();
}

template <class Step>
void cuda_each(Stream& stream, Step const& step) {
  launch(stream, step);
}

template <class Step>
void cuda_find(Stream& stream, Step const& step, Found* largest) {
  auto const bricks = Bricks::of(step.extent(), true);
  find_kernel<<<bricks.grid, bricks.block, 0, native(stream)>>>(step, largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid step");
}

template void cuda_steps(Stream&, CycleWork<float> const&);
template void cuda_steps(Stream&, CycleWork<double> const&);
template void cuda_fused(Stream&, CycleWork<float> const&);
template void cuda_fused(Stream&, CycleWork<double> const&);
#define GRIDSTRIDE_EACH(...) template void cuda_each(Stream&, __VA_ARGS__ const&);
#define GRIDSTRIDE_FIND(...) template void cuda_find(Stream&, __VA_ARGS__ const&, Found*);
GRIDSTRIDE_MULTIGRID_STEPS(GRIDSTRIDE_EACH, GRIDSTRIDE_FIND)
#undef GRIDSTRIDE_EACH
#undef GRIDSTRIDE_FIND

}  // namespace gridstride::multigrid
