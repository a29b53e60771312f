// Conjugate gradients on the GPU, a point by a thread: what conjugate_steps.hpp has, for lines, planes
// and fields of coefficients. A block takes pieces of rows along x that follow one another, and leaves
// one sum. Of r + β·p the points beside take what they need themselves, from the caches.

#include "kernels/poisson/matrix_steps.hpp"
#include "kernels/poisson/pieces.cuh"

namespace gridstride::poisson {

namespace {

template <class Step>
__global__ void __launch_bounds__(threads)
    step_kernel(__grid_constant__ Step const step, __grid_constant__ Parts const parts,
                double* sums) {
  __shared__ double shared[threads / warp_size];
  if (*step.stop != 0) return;
  using Number = std::remove_cvref_t<decltype(*step.q)>;
  auto const factor = static_cast<Number>(*step.factor);
  double sum = 0;
  for_each_point_of(step.a, parts, [&](std::int64_t const(&at)[3]) { sum += step(factor, at); });
  sum = block_reduce<threads>(
      sum, [](double x, double y) { return x + y; }, shared);
  if (threadIdx.x == 0) sums[parts.first + blockIdx.x] = sum;
}

template <class Visit>
__global__ void __launch_bounds__(threads) visit_kernel(__grid_constant__ Visit const visit) {
  for_each_point(visit.a, [&](std::int64_t const(&at)[3]) { visit(at); });
}

template <class T>
__global__ void __launch_bounds__(threads)
    survey_kernel(__grid_constant__ Survey<T> const survey, Largest* found) {
  __shared__ Largest shared[threads / warp_size];
  Largest own;
  for_each_point(survey.a, [&](std::int64_t const(&at)[3]) { raise(own, survey(at)); });
  own = block_reduce<threads>(own, LargerOf(), shared);
  if (threadIdx.x == 0) found[blockIdx.x] = own;
}

}  // namespace

template <class Step>
void cuda_step(Stream& stream, Step const& step, double* sums) {
  Parts const parts = Parts::of(step.a);
  step_kernel<<<static_cast<unsigned>(parts.own), threads, 0, native(stream)>>>(step, parts, sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson step");
}

template <class Visit>
void cuda_visit(Stream& stream, Visit const& visit) {
  if (visit.a.size() == 0) return;
  visit_kernel<<<blocks_of(Pieces::of(visit.a)), threads, 0, native(stream)>>>(visit);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson visit");
}

template <class T>
Largest cuda_survey(Stream& stream, Survey<T> const& survey) {
  return largest_of_blocks(stream, survey.a, [&](unsigned blocks, Largest* found) {
    survey_kernel<<<blocks, threads, 0, native(stream)>>>(survey, found);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson survey");
  });
}

#define GRIDSTRIDE_STEP(...) template void cuda_step(Stream&, __VA_ARGS__ const&, double*);
#define GRIDSTRIDE_VISIT(...) template void cuda_visit(Stream&, __VA_ARGS__ const&);
#define GRIDSTRIDE_SURVEY(T) template Largest cuda_survey(Stream&, Survey<T> const&);
GRIDSTRIDE_CONJUGATE_STEPS(GRIDSTRIDE_STEP, GRIDSTRIDE_VISIT, GRIDSTRIDE_SURVEY, float)
GRIDSTRIDE_CONJUGATE_STEPS(GRIDSTRIDE_STEP, GRIDSTRIDE_VISIT, GRIDSTRIDE_SURVEY, double)
GRIDSTRIDE_MATRIX_VISITS(GRIDSTRIDE_VISIT, float)
GRIDSTRIDE_MATRIX_VISITS(GRIDSTRIDE_VISIT, double)

}  // namespace gridstride::poisson
