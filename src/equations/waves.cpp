#include "equations/waves.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "core/processors.hpp"
#include "core/thread_pool.hpp"

namespace gridstride::equations {
namespace {

/// θ along each axis that the differences reach along; the other half has the conjugate symbol.
std::vector<std::array<double, 3>> wave_numbers(std::array<bool, 3> const& reaches) {
  constexpr int parts_of[] = {1, 32, 16, 8};
  int const parts = parts_of[std::ranges::count(reaches, true)];
  std::array<std::vector<double>, 3> along;
  bool first = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!reaches[axis]) {
      along[axis] = {0};
      continue;
    }
    for (int i = first ? 0 : 1 - parts; i <= parts; ++i)
      along[axis].push_back(std::numbers::pi * i / parts);
    first = false;
  }
  std::vector<std::array<double, 3>> all;
  for (double const x : along[0])
    for (double const y : along[1])
      for (double const z : along[2]) all.push_back({x, y, z});
  return all;
}

Waves::Factors factors_of(std::array<double, 3> const& wave, Offset const& offset) {
  double phase = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) phase += wave[axis] * offset[axis];
  double const half = std::sin(0.5 * phase);
  return {-4 * half * half, 2 * std::sin(phase)};
}

/// The sums, so that what differs by rounding alone is the same.
std::vector<std::int64_t> rounded(std::span<Waves::Factors const> factors,
                                  std::vector<Waves::Sum> const& sums) {
  constexpr double scale = 1e10;
  std::vector<std::int64_t> all;
  for (auto const& [is_odd, offsets] : sums) {
    double sum = 0;
    for (std::size_t const offset : offsets)
      sum += is_odd ? factors[offset].odd : factors[offset].even;
    all.push_back(std::llround(scale * sum));
  }
  return all;
}

}  // namespace

Waves::Waves(std::vector<Offset> const& offsets, std::vector<Sum> const& sums)
    : offsets_(offsets.size()) {
  std::array<bool, 3> reaches = {false, false, false};
  for (Offset const& offset : offsets)
    for (std::size_t axis = 0; axis < 3; ++axis) reaches[axis] = reaches[axis] || offset[axis] != 0;
  std::set<std::vector<std::int64_t>> known;
  std::vector<Factors> factors(offsets_);
  for (auto const& place : wave_numbers(reaches)) {
    std::ranges::transform(offsets, factors.begin(),
                           [&](Offset const& offset) { return factors_of(place, offset); });
    if (!known.insert(rounded(factors, sums)).second) continue;
    places_.push_back(place);
    factors_.insert(factors_.end(), factors.begin(), factors.end());
  }
}

void Waves::for_each(double nanoseconds, std::function<void(std::size_t)> const& body) const {
  constexpr double worth_a_thread = 5e4;  // ns; threads that sleep come after as long
  using Body = std::function<void(std::size_t)>;
  auto const call = [](void const* given, std::int64_t first, std::int64_t last) {
    for (std::int64_t w = first; w < last; ++w)
      (*static_cast<Body const*>(given))(static_cast<std::size_t>(w));
  };
  double const threads = static_cast<double>(size()) * nanoseconds / worth_a_thread;
  share_out(static_cast<std::int64_t>(size()),
            static_cast<int>(std::clamp<double>(threads, 1, host_threads())), {&body, call});
}

}  // namespace gridstride::equations
