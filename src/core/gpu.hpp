#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/capabilities.hpp"
#include "core/kernel_info.hpp"

/// The one seam between this project and the CUDA runtime: `gpu_cuda.cpp` implements it, and
/// `gpu_none.cpp` stands in for it in a build without CUDA. For the other files of core, and for
/// the loader of what is compiled at run time (kernels/support/runtime_compiler.cpp), only.
namespace gridstride::gpu {

struct Properties {
  std::string name;
  std::size_t total_memory;
  int multiprocessors;
  int compute_capability;
  double clock_hz;  ///< of the multiprocessors, at most
  Capabilities capabilities;
};

/// Number of usable GPUs; `reason` says why there are none.
int count(std::string& reason);
Properties properties(int ordinal);
std::size_t free_memory(int ordinal);
/// The same number of a GPU in all processes.
std::array<std::byte, 16> identity(int ordinal);
/// Makes a GPU the one that this thread's launches go to.
void use_device(int ordinal);

/// A stretch of this thread's work by its name, in the pictures that profilers draw (NVTX).
class Range {
 public:
  explicit Range(char const* name);
  ~Range();
  Range(Range const&) = delete;
  Range& operator=(Range const&) = delete;
};

/// An urgent one has the highest priority there is, others the lowest.
std::shared_ptr<void> make_stream(int ordinal, bool urgent);
void synchronize(void* stream);
/// Who waits for one that `sleeps` leaves the processor to others.
std::shared_ptr<void> make_event(int ordinal, bool sleeps);
void record(void* event, void* stream);
void wait(void* stream, void* event);
void synchronize_event(void* event);
double elapsed_seconds(void* start, void* stop);

/// From the device's pool; freed in the order of `stream`.
std::shared_ptr<void> allocate_device(std::shared_ptr<void> stream, int ordinal, std::size_t bytes);
std::shared_ptr<void> allocate_pinned(std::size_t bytes);
/// Memory that the system gave is pinned until this goes, which is before the memory goes.
std::shared_ptr<void> pin(void* memory, std::size_t bytes);
std::shared_ptr<void> allocate_managed(int ordinal, std::size_t bytes);
/// Whether memory is the host's, pinned or not.
bool is_on_host(void const* memory);
void copy_async(void* target, void const* source, std::size_t bytes, void* stream);
void zero_async(void* target, std::size_t bytes, void* stream);

/// What names memory or an event to other processes of this machine.
using IpcHandle = std::array<std::byte, 64>;
/// Memory that other processes may use as well, which what comes from the pool is not. Whoever else
/// has opened it closes it before it goes.
std::shared_ptr<void> allocate_shared(int ordinal, std::size_t bytes);
/// An event that other processes may wait for. Who waits for it does so for the last time that it
/// was recorded before.
std::shared_ptr<void> make_shared_event(int ordinal);
IpcHandle handle_of_memory(void* memory);
IpcHandle handle_of_event(void* event);
/// What another process has, as this one's GPU reaches it. Throws where it does not.
std::shared_ptr<void> open_memory(int ordinal, IpcHandle const& handle);
std::shared_ptr<void> open_event(int ordinal, IpcHandle const& handle);

/// An executable graph of what `work` queues on `stream`.
std::shared_ptr<void> capture(void* stream, std::function<void()> const& work);
void launch_graph(void* graph, void* stream);

/// Compiled code for the GPU's architecture, loaded until the handle goes.
std::shared_ptr<void> load_library(int ordinal, std::string const& cubin);

struct Kernel {
  void* handle = nullptr;
  std::vector<std::size_t> parameter_bytes;  ///< of each parameter
};

/// The `extern "C"` kernel called `name`.
Kernel find_kernel(void* library, char const* name);
void launch(Kernel const& kernel, std::array<unsigned, 3> blocks, std::array<unsigned, 3> threads,
            std::size_t shared_bytes, std::span<void const* const> arguments, void* stream);
/// How many blocks of a kernel fit a multiprocessor at a time.
int resident_blocks(Kernel const& kernel, int block_threads, std::size_t shared_bytes);
/// Local memory of each of its threads.
std::size_t local_bytes(Kernel const& kernel);

/// The kernels that `work` queues on `stream`, in their order; it is captured and not run. When it
/// cannot be captured, this throws and the stream is as before.
std::vector<KernelInfo> captured_kernels(void* stream, std::function<void()> const& work);

}  // namespace gridstride::gpu
