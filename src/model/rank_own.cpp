// What ranks do with their own planes beside the steps that they make.

#include <algorithm>

#include "model/rank_steps.hpp"

namespace gridstride {

template <class T>
void RankSteps<T>::with_own(std::span<T* const> arrays, UseOwn const& use) {
  run(arrays, 0, {});
  take_halos();
  stream_.synchronize();
  report_.seconds_steps += since_settled_.seconds();
  std::vector<std::span<T const>> own;
  for (auto const buffer : state_) own.push_back(planes_of(buffer, own_));
  use(own);
  since_settled_.restart();
}

template <class T>
void RankSteps<T>::begin_with(std::span<T* const> arrays, Pass const& fill) {
  std::ranges::copy(arrays, arrays_.begin());
  renewed_ = false;
  run(arrays, 0, {});  // all know where they are
  take_halos();
  halos_there_ = stepped_ = false;
  forget();
  auto window = window_of(held(), own_);
  set_arrays(window, held());
  fill(stream_, window);
  stream_.synchronize();
  settled_ = false;
  since_settled_.restart();
}

template <class T>
void RankSteps<T>::reverse() {
  take_halos();
  halos_there_ = settled_ = false;
  forget();
  std::ranges::reverse(state_);
  spare_ = others_than(state_);
}

template void RankSteps<float>::with_own(std::span<float* const>, UseOwn const&);
template void RankSteps<double>::with_own(std::span<double* const>, UseOwn const&);
template void RankSteps<float>::reverse();
template void RankSteps<double>::reverse();
template void RankSteps<float>::begin_with(std::span<float* const>, Pass const&);
template void RankSteps<double>::begin_with(std::span<double* const>, Pass const&);

}  // namespace gridstride
