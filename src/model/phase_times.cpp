#include "model/phase_times.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gridstride {

PhaseTimes::PhaseTimes(Stream const& stream, std::initializer_list<std::string_view> phases)
    : stream_(stream) {
  for (auto const name : phases) phases_.push_back({name});
}

std::size_t PhaseTimes::index_of(std::string_view phase) const {
  auto const found = std::ranges::find(phases_, phase, &Phase::name);
  if (found == phases_.end()) throw std::out_of_range("no phase is called " + std::string(phase));
  return static_cast<std::size_t>(found - phases_.begin());
}

void PhaseTimes::measure(std::string_view phase, std::function<void()> const& work) {
  auto const index = index_of(phase);
  Event start(stream_.device()), stop(stream_.device());
  stream_.record(start);
  work();
  stream_.record(stop);
  phases_[index].seconds += elapsed_seconds(start, stop);
}

double PhaseTimes::seconds(std::string_view phase) const {
  return phases_[index_of(phase)].seconds;
}

std::vector<NamedValue> PhaseTimes::values() const {
  std::vector<NamedValue> values;
  for (auto const& [name, seconds] : phases_)
    values.push_back({"seconds." + std::string(name), seconds});
  return values;
}

}  // namespace gridstride
