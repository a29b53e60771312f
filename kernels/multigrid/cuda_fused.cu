// Cycles in as few and as fast kernels as they take: large levels by columns of points
// (cuda_march.cu, cuda_gather.cu; cuda_stored.cu where equations are stored), and small ones at once:
// with the same coefficients everywhere by the modes of their axes (cuda_separable.cu), else one block
// makes the steps of steps.hpp on levels of up to a few thousand points, in one kernel, where launches would
// take longer than the work.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/rows.hpp"
#include "kernels/multigrid/small.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int threads_of_tail = 512;

/// One block does what is ordered, with a barrier after each step.
template <class S>
__global__ void __launch_bounds__(threads_of_tail)
    small_kernel(__grid_constant__ Orders const orders, __grid_constant__ Small<S> const small) {
  InShared<S> const shared = take_to_shared(small, orders);
  for (int at = 0; at < orders.count; ++at) {
    Order const order = orders.list[at];
    Level<S> fine = shared.levels[order.level];
    fine.over = static_cast<S>(order.over);
    Level<S> const& coarse = shared.levels[min(order.level + 1, small.count - 1)];
    switch (order.kind) {
      case Kind::relax:
        call_all(Relax<S>{fine, order.number, order.flag});
        break;
      case Kind::relax_phase:
        call_all(RelaxPhase<S>{fine, order.number});
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
        call_all(Correct<S>{fine, coarse, order.number, order.flag});
        break;
      case Kind::solve:
        if (shared.inverse != nullptr)
          call_all(SolveDirectly<S, S>{fine, shared.inverse});
        else
          call_all(SolveDirectly<S>{fine, small.inverse});
        break;
    }
    __syncthreads();
  }
  put_back(small, orders, shared);
}

/// Whether the coarsest level is one block's for too long, and no other one is small.
template <class S>
bool solves_by_many_blocks(CycleWork<S> const& work) {
  auto const& levels = work.levels;
  return levels.back().is_stored() && levels.back().size() > most_inverted_of_few &&
         std::all_of(levels.begin() + static_cast<std::ptrdiff_t>(work.first), levels.end() - 1,
                     [](Level<S> const& level) { return can_march_stored(level); });
}

/// Launches steps on large levels, and collects those on small ones until another one comes.
template <class S>
class Launcher {
 public:
  Launcher(Stream& stream, CycleWork<S> const& work) : stream_(stream), work_(work) {
    auto const bytes = stream.device().capabilities().shared_bytes;
    // Those that ranks cut are large. Where the coarsest level has many unknowns all go by columns.
    if (work.modes.level >= 0 || work.shared != nullptr || solves_by_many_blocks(work))
      small_.first = static_cast<int>(work.levels.size());
    else
      for (std::int64_t const most : {most_small_stored, most_small}) {
        small_ = small_levels(work, bytes, [&](Level<S> const& level) {
          return level.number >= static_cast<int>(work.first) && level.size() <= most;
        });
        is_stored_ = has_small_stored(stream, small_);
        if (is_stored_) break;
      }
  }

  bool takes_visits_of(Level<S> const& level) const {
    return level.number < small_.first && (can_march(level) || can_march_stored(level));
  }
  void operator()(Descend<S> const& visit) const { go_by_columns(visit, visit.fine); }
  void operator()(Ascend<S> const& visit) const { go_by_columns(visit, visit.fine); }
  void operator()(SolveByModes<S> const& solve) const { march(stream_, solve); }
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
  void operator()(Correct<S> const& step) const {
    take(step, step.fine, Kind::correct, step.colours, step.adds);
  }
  void operator()(SolveDirectly<S> const& step) const { take(step, step.level, Kind::solve); }
  void flush() const {
    if (orders_.count == 0) return;
    if (is_stored_)
      small_stored(stream_, orders_, small_);
    else
      make_step_by_step();
    orders_.count = 0;
    orders_.begins_amid = orders_.ends_amid = false;
  }

 private:
  void make_step_by_step() const {
    auto const bytes = small_.bytes();
    allow_shared_bytes(small_kernel<S>, bytes);
    small_kernel<<<1, threads_of_tail, bytes, native(stream_)>>>(orders_, small_);
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "multigrid small levels");
  }
  template <class Visit>
  void go_by_columns(Visit const& visit, Level<S> const& level) const {
    flush();
    if (level.is_stored())
      march_stored(stream_, visit);
    else
      march(stream_, visit);
  }
  template <class Step>
  void take(Step const& step, Level<S> const& level, Kind kind, int number = 0,
            bool flag = false) const {
    if (level.number < small_.first) {
      flush();
      if constexpr (requires { march(stream_, step); })
        if (can_march(level)) return march(stream_, step);
      if constexpr (requires { march_stored(stream_, step); })
        if (can_march_stored(level) || kind == Kind::solve) return march_stored(stream_, step);
      return cuda_each(stream_, step);
    }
    if (orders_.count == most_orders) {
      orders_.ends_amid = true;
      flush();
      orders_.begins_amid = true;
    }
    orders_.list[orders_.count++] = {kind, static_cast<unsigned char>(level.number - small_.first),
                                     static_cast<unsigned char>(number), flag, level.over};
  }

  Stream& stream_;
  CycleWork<S> const& work_;
  Small<S> small_;
  bool is_stored_ = false;  // and small levels go as such
  mutable Orders orders_;
};

}  // namespace

template <class S>
void cuda_fused(Stream& stream, CycleWork<S> const& work) {
  Launcher<S> const launcher(stream, work);
  Cycles<S, Launcher<S>>(work, launcher).all();
  launcher.flush();
}

template void cuda_fused(Stream&, CycleWork<float> const&);
template void cuda_fused(Stream&, CycleWork<double> const&);

}  // namespace gridstride::multigrid
