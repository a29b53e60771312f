#include "core/nccl.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdlib>

#include "core/console.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/rank_memory.hpp"
#include "core/rank_sums.hpp"
#include "core/vendor_library.hpp"

namespace gridstride {

namespace {

/// What of its interface is called (NCCL 2.7, nccl.h), which has not changed since.
struct Id {
  std::array<char, 128> bytes;
};
constexpr int success = 0, type_byte = 0;

struct Library {
  VendorLibrary file{"libnccl.so.2"};
  int (*make_id)(Id*) = file.function<int(Id*)>("ncclGetUniqueId");
  int (*join)(void**, int, Id, int) = file.function<int(void**, int, Id, int)>("ncclCommInitRank");
  int (*leave)(void*) = file.function<int(void*)>("ncclCommDestroy");
  int (*send)(void const*, std::size_t, int, int, void*, void*) =
      file.function<int(void const*, std::size_t, int, int, void*, void*)>("ncclSend");
  int (*receive)(void*, std::size_t, int, int, void*, void*) =
      file.function<int(void*, std::size_t, int, int, void*, void*)>("ncclRecv");
  int (*begin_group)() = file.function<int()>("ncclGroupStart");
  int (*end_group)() = file.function<int()>("ncclGroupEnd");
  char const* (*text)(int) = file.function<char const*(int)>("ncclGetErrorString");
};

Library const& library() {
  // Its broadcasts through switches take memory, and are not used.
  static int const set = setenv("NCCL_NVLS_ENABLE", "0", 0);
  static_cast<void>(set);
  static Library const one;
  return one;
}

void check(int status, char const* call) {
  if (status == success) return;
  throw Error(fmt::format("{} of NCCL failed: {} (NCCL_DEBUG=WARN in the environment tells more)",
                          call, library().text(status)));
}

}  // namespace

void Nccl::require() { library(); }

/// Of ranks that share a GPU NCCL lets those fail that do, and the others wait for them, or end.
Nccl::Nccl(Ranks& ranks, Stream const& stream) {
  int const ordinal = stream.device().ordinal();
  if (is_one_shared(of_all_ranks(ranks, gpu::identity(ordinal)))) throw Error("ranks share a GPU");
  struct Offer {
    Id id;
    int status;
  } offer{};
  if (ranks.is_first()) offer.status = library().make_id(&offer.id);
  ranks.broadcast(std::as_writable_bytes(std::span(&offer, 1)));
  check(offer.status, "ncclGetUniqueId");
  gpu::use_device(ordinal);
  void* communicator = nullptr;
  check(library().join(&communicator, ranks.count(), offer.id, ranks.rank()), "ncclCommInitRank");
  communicator_ = {
      communicator, [](void* it) {
        if (int const status = library().leave(it); status != success)
          tell(fmt::format("gridstride: ncclCommDestroy failed: {}\n", library().text(status)));
      }};
}

void Nccl::exchange(std::span<RankMessage const> sent, std::span<RankMessage const> received,
                    Stream& stream) {
  auto* const communicator = communicator_.get();
  check(library().begin_group(), "ncclGroupStart");
  for (auto const& message : sent)
    check(library().send(message.bytes.data(), message.bytes.size(), type_byte, message.rank,
                         communicator, stream.native()),
          "ncclSend");
  for (auto const& message : received)
    check(library().receive(message.bytes.data(), message.bytes.size(), type_byte, message.rank,
                            communicator, stream.native()),
          "ncclRecv");
  check(library().end_group(), "ncclGroupEnd");
}

}  // namespace gridstride
