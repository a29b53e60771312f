// Collectives and the spin lock, in kernels that each test but one of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/spin_lock.cuh"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Memory for a kernel's results; what it does not write stays zero.
template <class T>
Buffer<T> zeros(Stream& stream, std::size_t size) {
  Buffer<T> buffer(stream, MemorySpace::device, size);
  zero_async(buffer.span(), stream);
  return buffer;
}

// ----------------------------------------------------------------------- reductions and scans

/// The numbers from `first` to `last`. They combine in their order alone: anything left out, taken
/// twice or swapped breaks the range.
struct Range {
  int first, last, broken;

  bool operator==(Range const&) const = default;
};

struct Join {
  __device__ Range operator()(Range a, Range b) const {
    return {a.first, b.last, a.broken | b.broken | (a.last + 1 != b.first ? 1 : 0)};
  }
};

/// What each thread gets.
struct RangeResults {
  Range warp_up_to, warp_of_first, block, before, total;
};

template <int threads>
__global__ void range_kernel(RangeResults* results, int first_lanes, int rounds) {
  __shared__ Range shared[threads / warp_size];
  int const t = threadIdx.x;
  Range const own{t, t, 0};
  RangeResults result;
  result.warp_up_to = warp_inclusive_scan(own, Join{});
  result.warp_of_first = warp_reduce(own, Join{}, first_lanes);
  for (int round = 0; round < rounds; ++round) {
    result.block = block_reduce<threads>(own, Join{}, shared);
    result.before =
        block_exclusive_scan<threads>(own, Range{-1, -1, 0}, Join{}, shared, result.total);
  }
  results[t] = result;
}

template <int threads>
void check_ranges(Stream& stream) {
  for (int const first_lanes : {1, 2, 3, 17, 31, 32}) {
    auto results = zeros<RangeResults>(stream, threads);
    range_kernel<threads>
        <<<1, threads, 0, native(stream)>>>(results.data(), first_lanes, /*rounds=*/3);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "ranges");
    auto const host = test::to_host(results.span(), stream);
    for (int t = 0; t < threads; ++t) {
      int const warp = t / warp_size * warp_size;
      EXPECT_EQ(host[t].warp_up_to, (Range{warp, t, 0})) << threads << ' ' << t;
      EXPECT_EQ(host[t].warp_of_first, (Range{warp, warp + first_lanes - 1, 0})) << first_lanes;
      EXPECT_EQ(host[t].block, (Range{0, threads - 1, 0})) << threads << ' ' << t;
      EXPECT_EQ(host[t].before, t == 0 ? (Range{-1, -1, 0}) : (Range{0, t - 1, 0})) << threads;
      EXPECT_EQ(host[t].total, (Range{0, threads - 1, 0})) << threads << ' ' << t;
    }
  }
}

TEST(CollectivesGpu, CombineInOrder) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  check_ranges<32>(stream);
  check_ranges<64>(stream);
  check_ranges<96>(stream);
  check_ranges<256>(stream);
  check_ranges<1024>(stream);
}

template <class T>
__global__ void sum_kernel(T const* values, T* sums, T* before) {
  __shared__ T shared[8];
  auto const add = [](T a, T b) { return a + b; };
  int const i = blockIdx.x * 256 + threadIdx.x;
  T total;
  before[i] = block_exclusive_scan<256>(values[i], T(0), add, shared, total);
  T const sum = block_reduce<256>(values[i], add, shared);
  if (threadIdx.x == 0) {
    sums[2 * blockIdx.x] = sum;
    sums[2 * blockIdx.x + 1] = total;
  }
}

/// Sums of whole numbers, which are exact in every order.
template <class T>
void check_sums(Stream& stream) {
  constexpr int blocks = 7, size = 256 * blocks;
  std::mt19937 generator(3);
  std::vector<T> values(size);
  for (T& x : values) x = static_cast<T>(static_cast<int>(generator() % 2001) - 1000);
  auto const input = test::to_device(std::span(values), stream);
  auto sums = zeros<T>(stream, 2 * blocks), before = zeros<T>(stream, size);
  sum_kernel<<<blocks, 256, 0, native(stream)>>>(input.data(), sums.data(), before.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "sums");
  auto const host_sums = test::to_host(sums.span(), stream);
  auto const host_before = test::to_host(before.span(), stream);
  for (int block = 0; block < blocks; ++block) {
    T sum = 0;
    for (int i = 256 * block; i < 256 * (block + 1); ++i) {
      EXPECT_EQ(host_before[i], sum) << i;
      sum += values[i];
    }
    EXPECT_EQ(host_sums[2 * block], sum);
    EXPECT_EQ(host_sums[2 * block + 1], sum);
  }
}

TEST(CollectivesGpu, SumsOfEveryType) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  check_sums<std::int32_t>(stream);
  check_sums<std::int64_t>(stream);
  check_sums<float>(stream);
  check_sums<double>(stream);
}

// ------------------------------------------------------------------------------ shuffles, votes

struct Wide {
  double real;
  std::int64_t integer;
  int word[3];
};

__device__ Wide wide_of(int lane) { return {0.5 * lane, -(1LL << 40) * lane, {lane, -lane, 7}}; }

__device__ bool is_wide_of(Wide const& value, int lane) {
  Wide const want = wide_of(lane);
  return value.real == want.real && value.integer == want.integer &&
         value.word[0] == want.word[0] && value.word[1] == want.word[1] &&
         value.word[2] == want.word[2];
}

__global__ void shuffle_kernel(int* wrong) {
  int const lane = lane_index();
  Wide const own = wide_of(lane);
  int faults = 0;
  for (int k = 0; k < warp_size; ++k) {
    faults += !is_wide_of(shuffle(own, k), k);
    faults += !is_wide_of(shuffle(own, (lane + k) % warp_size), (lane + k) % warp_size);
    faults += !is_wide_of(shuffle_up(own, k), lane >= k ? lane - k : lane);
    faults += !is_wide_of(shuffle_down(own, k), lane + k < warp_size ? lane + k : lane);
  }
  wrong[threadIdx.x] = faults;
}

TEST(CollectivesGpu, ShufflesMoveWholeStructures) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::vector<int> const unset(64, -1);
  auto wrong = test::to_device(std::span(unset), stream);
  shuffle_kernel<<<1, 64, 0, native(stream)>>>(wrong.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "shuffles");
  EXPECT_EQ(test::to_host(wrong.span(), stream), std::vector<int>(64, 0));
}

__global__ void vote_kernel(int holds_below, int* votes) {
  int const t = threadIdx.x;
  bool const holds = t < holds_below;
  bool const any = block_any(holds), all = block_all(holds);
  votes[t] = block_count(holds) * 4 + (any ? 2 : 0) + (all ? 1 : 0);
}

TEST(CollectivesGpu, Votes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr int threads = 96;
  for (int const holds : {0, 1, 32, 33, 95, 96}) {
    auto votes = zeros<int>(stream, threads);
    vote_kernel<<<1, threads, 0, native(stream)>>>(holds, votes.data());
    GRIDSTRIDE_CHECK_LAUNCH(stream, "votes");
    int const expected = holds * 4 + (holds > 0 ? 2 : 0) + (holds == threads ? 1 : 0);
    EXPECT_EQ(test::to_host(votes.span(), stream), std::vector<int>(threads, expected)) << holds;
  }
}

/// What `warp_match` tells a lane.
struct Match {
  unsigned lanes;
  int leader, is_leader, count, rank;

  bool operator==(Match const&) const = default;
};

template <class T>
__global__ void match_kernel(T const* values, unsigned lanes, Match* matches) {
  if ((lanes >> threadIdx.x & 1) == 0) return;
  Peers const peers = warp_match(values[threadIdx.x], lanes);
  matches[threadIdx.x] = {peers.lanes, peers.leader(), peers.is_leader(), peers.count(),
                          peers.rank()};
}

/// `values`: one for each lane.
template <class T>
void check_match(Stream& stream, std::vector<T> const& values, unsigned lanes) {
  auto const input = test::to_device(std::span(values), stream);
  auto matches = zeros<Match>(stream, warp_size);
  match_kernel<<<1, warp_size, 0, native(stream)>>>(input.data(), lanes, matches.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "matches");
  auto const host = test::to_host(matches.span(), stream);
  for (int lane = 0; lane < warp_size; ++lane) {
    Match expected{0, -1, 0, 0, 0};
    for (int other = 0; other < warp_size; ++other) {
      auto const same = std::as_bytes(std::span(&values[lane], 1));
      if ((lanes >> other & 1) == 0 ||
          !std::ranges::equal(same, std::as_bytes(std::span(&values[other], 1))))
        continue;
      expected.lanes |= 1u << other;
      if (expected.leader < 0) expected.leader = other;
      if (other < lane) ++expected.rank;
      ++expected.count;
    }
    expected.is_leader = expected.leader == lane;
    EXPECT_EQ(host[lane], (lanes >> lane & 1) != 0 ? expected : Match{}) << "lane " << lane;
  }
}

TEST(CollectivesGpu, MatchFindsEqualValues) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::mt19937 generator(5);
  for (unsigned const different : {1u, 2u, 5u, 1000u})
    for (unsigned const lanes : {whole_warp, 0x80000000u, 0x0f0ff001u}) {
      std::vector<int> words(warp_size);
      for (int& word : words) word = static_cast<int>(generator() % different) - 1;
      check_match(stream, words, lanes);
      check_match(stream, std::vector<std::int64_t>(words.begin(), words.end()), lanes);
      check_match(stream, std::vector<double>(words.begin(), words.end()), lanes);
    }
  std::vector<float> zero_of_both_signs(warp_size, 0.0f);
  zero_of_both_signs[3] = zero_of_both_signs[30] = -0.0f;
  check_match(stream, zero_of_both_signs, whole_warp);
}

// ------------------------------------------------------------------------------------ spin lock

struct Counter {
  SpinLock lock;
  int count;
};

__global__ void count_kernel(Counter* counter, int rounds) {
  for (int round = 0; round < rounds; ++round) with(counter->lock, [&] { ++counter->count; });
}

TEST(SpinLockGpu, CountsExactly) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr int blocks = 64, threads = 96, rounds = 2;
  auto counter = zeros<Counter>(stream, 1);
  count_kernel<<<blocks, threads, 0, native(stream)>>>(counter.data(), rounds);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "count");
  auto const host = test::to_host(counter.span(), stream);
  EXPECT_EQ(host[0].count, blocks * threads * rounds);
  EXPECT_EQ(host[0].lock.taken, 0u);
}

struct List {
  SpinLock lock;
  int head;  // an index; −1 ends the list
};
struct Node {
  unsigned key;
  int next;
};

/// Every thread puts its node where its key belongs, through what the others have written.
__global__ void insert_kernel(List* list, Node* nodes, int size) {
  int const own = blockIdx.x * blockDim.x + threadIdx.x;
  if (own >= size) return;
  with(list->lock, [&] {
    int* link = &list->head;
    while (*link >= 0 && nodes[*link].key < nodes[own].key) link = &nodes[*link].next;
    nodes[own].next = *link;
    *link = own;
  });
}

TEST(SpinLockGpu, KeepsASortedList) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr int size = 500, threads = 32;
  std::vector<Node> nodes(size);
  for (int i = 0; i < size; ++i) nodes[i] = {static_cast<unsigned>(i) * 2654435761u, -2};
  std::vector<List> const empty = {{{}, -1}};
  auto list = test::to_device(std::span(empty), stream);
  auto memory = test::to_device(std::span(nodes), stream);
  insert_kernel<<<blocks_for(size, threads), threads, 0, native(stream)>>>(list.data(),
                                                                           memory.data(), size);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "insert");
  nodes = test::to_host(memory.span(), stream);
  std::vector<unsigned> keys;
  for (int at = test::to_host(list.span(), stream)[0].head; at >= 0 && keys.size() <= size;
       at = nodes[at].next)
    keys.push_back(nodes[at].key);
  EXPECT_EQ(keys.size(), size);
  EXPECT_TRUE(std::ranges::is_sorted(keys));
}

}  // namespace
}  // namespace gridstride
