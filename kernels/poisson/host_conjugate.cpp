// Conjugate gradients on the host: what conjugate_steps.hpp has for each point, in pieces shared
// among threads; the sums of a part's pieces are put together in their order.

#include "kernels/poisson/host_pieces.hpp"
#include "kernels/poisson/matrix_steps.hpp"

namespace gridstride::poisson {

template <class Step>
void host_step(Step const& step, double* sums) {
  if (*step.stop != 0) return;
  using Number = std::remove_cvref_t<decltype(*step.q)>;
  auto const factor = static_cast<Number>(*step.factor);
  for_each_part(
      step.a, [&](double& sum, std::int64_t const(&at)[3]) { sum += step(factor, at); },
      sums + Parts::of(step.a).first);
}

template <class Visit>
void host_visit(Visit const& visit) {
  struct Nothing {};
  for_each_piece<Nothing>(visit.a, [&](Nothing&, std::int64_t const(&at)[3]) { visit(at); });
}

template <class T>
Largest host_survey(Survey<T> const& survey) {
  return largest_of_pieces(
      survey.a, [&](Largest& own, std::int64_t const(&at)[3]) { raise(own, survey(at)); });
}

#define GRIDSTRIDE_STEP(...) template void host_step(__VA_ARGS__ const&, double*);
#define GRIDSTRIDE_VISIT(...) template void host_visit(__VA_ARGS__ const&);
#define GRIDSTRIDE_SURVEY(T) template Largest host_survey(Survey<T> const&);
GRIDSTRIDE_CONJUGATE_STEPS(GRIDSTRIDE_STEP, GRIDSTRIDE_VISIT, GRIDSTRIDE_SURVEY, float)
GRIDSTRIDE_CONJUGATE_STEPS(GRIDSTRIDE_STEP, GRIDSTRIDE_VISIT, GRIDSTRIDE_SURVEY, double)
GRIDSTRIDE_MATRIX_VISITS(GRIDSTRIDE_VISIT, float)
GRIDSTRIDE_MATRIX_VISITS(GRIDSTRIDE_VISIT, double)

}  // namespace gridstride::poisson
