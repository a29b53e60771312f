#include "simulations/transform_endings.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/sort/out_of_core.hpp"

namespace gridstride::transform {

namespace {

std::size_t waiting_bytes(spectrum::Options const& options, Precision precision) {
  return precision == Precision::float32 ? spectrum::Welch<float>::device_bytes(options)
                                         : spectrum::Welch<double>::device_bytes(options);
}

/// Of a sort beyond the device's memory; more makes it no faster.
std::size_t serving_bytes(double device_limit) {
  constexpr double most = 1.125 * (1 << 30);
  return std::max(static_cast<std::size_t>(std::min(device_limit / 4, most)),
                  sort::least_device_bytes);
}

}  // namespace

Endings::Endings(Chain const& chain, std::vector<std::string> const& names) {
  for (auto const& ending : chain.endings())
    if (std::ranges::find(names, ending.name) != names.end()) all.push_back(ending);
}

void Endings::settle(bool keeps, Precision precision, double device_limit) {
  memory.clear();
  device_bytes = host_bytes = 0;
  double room = std::isfinite(device_limit) ? device_limit / 2 : 0;
  std::size_t in_turn = 0;
  for (auto const& ending : all) {
    auto const bytes = static_cast<std::size_t>(ending.grid.size()) * size_of(precision);
    if (ending.spectrum) {
      memory.push_back({true, bytes + waiting_bytes(*ending.spectrum, precision), 0});
    } else if (double const both = 2 * static_cast<double>(bytes); keeps || both <= room) {
      memory.push_back({true, 2 * bytes, 0});  // the values, and as many that the sort goes to
      room -= both;
    } else {
      memory.push_back({false, 0, bytes});
      in_turn = serving_bytes(device_limit);
    }
    device_bytes += memory.back().device_bytes;
    host_bytes += memory.back().host_bytes;
  }
  for (auto& one : memory)
    if (!one.kept) one.device_bytes = in_turn;
  device_bytes += in_turn;
}

std::vector<int> Endings::places() const {
  std::vector<int> places;
  for (auto const& ending : all) places.push_back(ending.of);
  return places;
}

std::vector<int> Endings::brought() const {
  std::vector<int> places;
  for (std::size_t e = 0; e < all.size(); ++e)
    if (!memory[e].kept) places.push_back(all[e].of);
  return places;
}

template <class T>
std::unique_ptr<FieldMaker<T>> make_field(Stream const& stream, Chain const& chain,
                                          Ending const& ending, EndingMemory const& memory,
                                          MomentsFinder<T> const& moments) {
  return ending.spectrum ? make_spectrum<T>(stream, chain, ending, moments)
                         : make_sort<T>(stream, chain, ending, memory);
}

#define GRIDSTRIDE_INSTANTIATE(T)                     \
  template std::unique_ptr<FieldMaker<T>> make_field( \
      Stream const&, Chain const&, Ending const&, EndingMemory const&, MomentsFinder<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)
#undef GRIDSTRIDE_INSTANTIATE

}  // namespace gridstride::transform
