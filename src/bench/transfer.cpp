#include "kernels/transfer/transfer.hpp"

#include <map>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_transfer {

/// Host arrays of every kind of memory that a variant wants, each made when it is first wanted.
template <class T>
class HostArrays {
 public:
  HostArrays(Stream& stream, std::int64_t size, int sets)
      : stream_(stream), size_(size), sets_(sets) {}

  struct Pair {
    Arrays<T> x, y;
  };
  Pair const& in(MemorySpace space) {
    auto found = pairs_.find(space);
    if (found == pairs_.end()) {
      found =
          pairs_
              .emplace(space, Pair{{stream_, size_, sets_, space}, {stream_, size_, sets_, space}})
              .first;
      for (int set = 0; set < sets_; ++set) fill(found->second, set);
    }
    last_ = space;
    return found->second;
  }
  Pair const& last() { return in(last_); }
  void fill_all(int set) {
    for (auto const& [space, pair] : pairs_) fill(pair, set);
  }

 private:
  void fill(Pair const& pair, int set) {
    machine::fill_random(host_, pair.x(set), static_cast<std::uint64_t>(set));
    machine::fill_random(host_, pair.y(set), 77);
  }

  Stream stream_;
  Stream host_{Device::open(Backend::cpu)};
  std::int64_t size_;
  int sets_;
  std::map<MemorySpace, Pair> pairs_;
  MemorySpace last_ = MemorySpace::host;
};

template <class T>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  auto const arrays = std::make_shared<HostArrays<T>>(stream, size, sets);
  return {.prepare =
              [=, &stream](int set) {
                stream.synchronize();  // the host writes what earlier runs read
                arrays->fill_all(set);
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                auto const& [x, y] = arrays->in(transfer::host_space(stream.backend(), variant));
                transfer::round_trip(stream, T(0.7), T(0.2), x.constant(set), y(set), variant);
              },
          .result =
              [=, &stream](int set) {
                stream.synchronize();
                Values values;
                sample(stream, arrays->last().y.constant(set), values);
                return values;
              }};
}

template <class T>
Workload workload(Backend backend) {
  constexpr double one_way = sizeof(T);
  constexpr std::int64_t gpu_bytes = std::int64_t{1} << 28;
  return {.family = "transfer",
          .operation = "round trip",
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, gpu_bytes / static_cast<std::int64_t>(sizeof(T))),
          .work = per_element({.bytes = 2 * one_way,
                               .flops = 2,
                               .asks = {{machine::duplex_roof, 2 * one_way, machine::copy_roof}},
                               .set_bytes = 2 * sizeof(T)}),
          .rows = rows_of(transfer::variants<T>(), backend, transfer::default_variant(backend)),
          .make = problem<T>};
}

}  // namespace of_transfer

std::vector<Workload> transfer_workloads(Backend backend) {
  using namespace of_transfer;
  return {workload<float>(backend), workload<double>(backend)};
}

}  // namespace gridstride::bench
