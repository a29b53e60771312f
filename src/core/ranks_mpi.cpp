// The processes of an MPI launcher: the one file that knows MPI, and a module of its own.

#define OMPI_SKIP_MPICXX 1  // the bindings that MPI has given up
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/ranks.hpp"
#include "core/ranks_module.hpp"

namespace gridstride {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;  // of a message: MPI counts in int

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    find_machines();
  }

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  std::span<int const> machines() const override { return machines_; }

  std::string transport() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    std::string const version(text.data(), static_cast<std::size_t>(length));
    return "mpi (" + version.substr(0, version.find_first_of(",\n")) + ")";
  }

  void broadcast(std::span<std::byte> bytes) override {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), most_bytes))) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ibcast(bytes.data(), static_cast<int>(std::min(bytes.size(), most_bytes)), MPI_BYTE, 0,
                 MPI_COMM_WORLD, &request);
      wait({&request, 1});
    }
  }

  void exchange(std::span<RankMessage const> sent, std::span<RankMessage const> received) override {
    std::vector<MPI_Request> requests;
    for (auto const& message : received)
      for_each_part(message.bytes, [&](std::span<std::byte> part) {
        MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE,
                  message.rank == any_rank ? MPI_ANY_SOURCE : message.rank, message.tag,
                  MPI_COMM_WORLD, &requests.emplace_back());
      });
    for (auto const& message : sent)
      for_each_part(message.bytes, [&](std::span<std::byte> part) {
        MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, message.rank, message.tag,
                  MPI_COMM_WORLD, &requests.emplace_back());
      });
    wait(requests);
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

  void finish() override { MPI_Finalize(); }

 private:
  /// A machine's number is that of its first rank. So that tests may take one for several, those that
  /// name different ones by GRIDSTRIDE_MACHINE are apart.
  void find_machines() {
    char const* const name = std::getenv("GRIDSTRIDE_MACHINE");
    auto const hash = std::hash<std::string_view>()(name == nullptr ? "" : name);
    int const colour = static_cast<int>(hash % std::numeric_limits<int>::max());
    MPI_Comm sharing = MPI_COMM_NULL, here = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sharing);
    MPI_Comm_split(sharing, colour, 0, &here);
    int first = rank_;
    MPI_Bcast(&first, 1, MPI_INT, 0, here);
    machines_.resize(static_cast<std::size_t>(count_));
    MPI_Allgather(&first, 1, MPI_INT, machines_.data(), 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Comm_free(&here);
    MPI_Comm_free(&sharing);
  }

  template <class Use>
  static void for_each_part(std::span<std::byte> bytes, Use const& use) {
    for (std::size_t at = 0; at < bytes.size(); at += most_bytes)
      use(bytes.subspan(at, std::min(most_bytes, bytes.size() - at)));
  }

  /// MPI's own waits keep a processor busy, which others may need: those who wait for long sleep.
  static void wait(std::span<MPI_Request> requests) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds awake{20};
    auto const begin = Clock::now();
    int done = 0;
    while (true) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) return;
      timespec const nap{0, 200'000};
      if (Clock::now() - begin < awake)
        sched_yield();
      else
        nanosleep(&nap, nullptr);
    }
  }

  int rank_ = 0, count_ = 1;
  std::vector<int> machines_;
};

}  // namespace

}  // namespace gridstride

extern "C" gridstride::Ranks* gridstride_open_ranks() { return new gridstride::MpiRanks; }
