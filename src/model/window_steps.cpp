#include "model/window_steps.hpp"

#include <stdexcept>
#include <utility>

#include "core/ranks.hpp"
#include "model/rank_steps.hpp"
#include "model/sweep.hpp"

namespace gridstride {

template <class T>
void WindowSteps<T>::look(std::span<T* const>, LooksAt, Pass const&) {
  throw std::logic_error("a look at a state whose arrays are all here");
}

template <class T>
void WindowSteps<T>::with_own(std::span<T* const>, UseOwn const&) {
  throw std::logic_error("parts of a state whose arrays are all here");
}

template <class T>
void WindowSteps<T>::begin_with(std::span<T* const>, Pass const&) {
  throw std::logic_error("parts of a state whose arrays are all here");
}

template <class T>
void WindowSteps<T>::reverse() {
  throw std::logic_error("parts of a state whose arrays are all here");
}

template <class T>
std::unique_ptr<WindowSteps<T>> make_window_steps(Stream const& stream, SweepPlan const& plan,
                                                  typename WindowSteps<T>::NextPass next) {
  if (plan.ranks > 1) return std::make_unique<RankSteps<T>>(stream, plan, std::move(next), ranks());
  return std::make_unique<Sweep<T>>(stream, plan, std::move(next));
}

template class WindowSteps<float>;
template class WindowSteps<double>;
template std::unique_ptr<WindowSteps<float>> make_window_steps(Stream const&, SweepPlan const&,
                                                               WindowSteps<float>::NextPass);
template std::unique_ptr<WindowSteps<double>> make_window_steps(Stream const&, SweepPlan const&,
                                                                WindowSteps<double>::NextPass);

}  // namespace gridstride
