#include "simulations/transform_endings.hpp"

#include <algorithm>

#include "kernels/sort/out_of_core.hpp"

namespace gridstride::transform {

namespace {

EndingMemory memory_of(Ending const& ending, bool keeps, Precision precision, double device_limit) {
  auto const bytes = static_cast<std::size_t>(ending.grid.size()) * size_of(precision);
  if (ending.spectrum) {
    std::size_t const waiting = precision == Precision::float32
                                    ? spectrum::Welch<float>::device_bytes(*ending.spectrum)
                                    : spectrum::Welch<double>::device_bytes(*ending.spectrum);
    return {true, bytes + waiting, 0};
  }
  // The values, and as many that the sort goes to.
  if (keeps) return {true, 2 * bytes, 0};
  // Beyond this, more memory makes it no faster.
  constexpr double most_bytes = 1.125 * (1 << 30);
  double const share = std::min(device_limit / 4, most_bytes);
  return {false, std::max(static_cast<std::size_t>(share), sort::least_device_bytes), bytes};
}

}  // namespace

Endings::Endings(Chain const& chain, std::vector<std::string> const& names) {
  for (auto const& ending : chain.endings())
    if (std::ranges::find(names, ending.name) != names.end()) all.push_back(ending);
}

void Endings::settle(bool keeps, Precision precision, double device_limit) {
  memory.clear();
  device_bytes = host_bytes = 0;
  std::size_t in_turn = 0;
  for (auto const& ending : all) {
    memory.push_back(memory_of(ending, keeps, precision, device_limit));
    auto const& [kept, on_device, on_host] = memory.back();
    if (kept)
      device_bytes += on_device;
    else
      in_turn = std::max(in_turn, on_device);
    host_bytes += on_host;
  }
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

}  // namespace gridstride::transform
