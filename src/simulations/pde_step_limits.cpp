#include "simulations/pde_step_limits.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "simulations/pde_ill_posed.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

template <class T>
StepLimits<T>::StepLimits(Stream const& stream, config::RunConfig const& run)
    : stream_(stream), run_(run) {
  for (auto& linearisation : explicit_linearisations(run))
    finders_.emplace_back(stream_, run_, std::move(linearisation));
}

template <class T>
LimitFollows StepLimits<T>::follows() const {
  LimitFollows follows;
  for (Finder const& finder : finders_) {
    auto const of_this = finder.follows();
    follows.state = follows.state || of_this.state;
    follows.fields = follows.fields || of_this.fields;
    follows.time = follows.time || of_this.time;
    follows.steps_between = std::min(follows.steps_between, of_this.steps_between);
  }
  return follows;
}

template <class T>
void StepLimits<T>::refuse_ill_posed(std::function<typename Finder::Look(Finder&)> const& look) {
  // Of all equations, also of those parts that are implicit.
  std::optional<Finder> whole;
  if (goes_by_multigrid(run_)) whole.emplace(stream_, run_, linearisation_of(run_));
  Finder& here = whole ? *whole : finders_.front();
  auto const on_finer = [&] {
    Finder finer(stream_, run_,
                 std::make_shared<equations::Linearisation const>(finer_stability_of(run_)));
    return finer.wave_growths(look(finer));
  };
  if (auto const problem = ill_posed_problem(run_, here.wave_growths(look(here)), on_finer))
    throw ConfigError({*problem});
}

template <class T>
equations::StepLimit StepLimits<T>::least(
    std::function<equations::StepLimit(Finder&, std::size_t number)> const& find) {
  auto const ranked = [](equations::StepLimit const& limit) {
    return std::pair(!limit.hopeless, limit.step);
  };
  std::optional<equations::StepLimit> least;
  for (std::size_t number = 0; number < finders_.size(); ++number) {
    auto const limit = find(finders_[number], number);
    if (!least || ranked(limit) < ranked(*least)) least = limit;
  }
  return *least;
}

template class StepLimits<float>;
template class StepLimits<double>;

}  // namespace gridstride::pde
