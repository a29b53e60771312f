#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "core/console.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/host_limits.hpp"
#include "core/processors.hpp"
#include "core/text.hpp"
#include "core/thread_pool.hpp"

namespace gridstride::gpu {

namespace {

void check(cudaError_t status, char const* call, int line) {
  if (status != cudaSuccess) throw CudaError(call, __FILE__, line, cudaGetErrorString(status));
}
#define GRIDSTRIDE_CHECK(call) check((call), #call, __LINE__)

/// For destructors, which cannot throw.
void log_failure(cudaError_t status, char const* call) {
  // The driver may already be gone when statics are destroyed; then there is nothing to release.
  if (status != cudaSuccess && status != cudaErrorCudartUnloading)
    tell(fmt::format("gridstride: {} failed: {}\n", call, cudaGetErrorString(status)));
}

/// For calls whose fault leaves the device as it was: the next launch is not to meet it again.
void check_and_forget(cudaError_t status, char const* call, int line) {
  if (status != cudaSuccess) cudaGetLastError();
  check(status, call, line);
}
#define GRIDSTRIDE_TRY(call) check_and_forget((call), #call, __LINE__)

cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

[[noreturn]] void out_of_memory(char const* kind, std::size_t bytes, std::string const& there_is) {
  cudaGetLastError();
  throw Error(fmt::format("{} of {} memory are needed, {}",
                          format_bytes(static_cast<double>(bytes)), kind, there_is));
}

}  // namespace

int count(std::string& reason) {
  int devices = 0;
  cudaError_t const status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return devices;
  reason = status == cudaSuccess ? "the driver reports no GPU" : cudaGetErrorString(status);
  cudaGetLastError();
  return 0;
}

Properties properties(int ordinal) {
  cudaDeviceProp found{};
  GRIDSTRIDE_CHECK(cudaGetDeviceProperties(&found, ordinal));
  int clock_khz = 0;
  GRIDSTRIDE_CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, ordinal));
  int const capability = 10 * found.major + found.minor;
  Capabilities capabilities = capabilities_of(capability);
  capabilities.shared_bytes = found.sharedMemPerBlockOptin;
  capabilities.shared_bytes_of_processor = found.sharedMemPerMultiprocessor;
  int clusters = 0;
  GRIDSTRIDE_CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, ordinal));
  capabilities.clusters = clusters != 0;
  return {found.name, found.totalGlobalMem, found.multiProcessorCount,
          capability, 1e3 * clock_khz,      capabilities};
}

std::array<std::byte, 16> identity(int ordinal) {
  cudaDeviceProp found{};
  GRIDSTRIDE_CHECK(cudaGetDeviceProperties(&found, ordinal));
  return std::bit_cast<std::array<std::byte, 16>>(found.uuid);
}

std::size_t free_memory(int ordinal) {
  std::size_t free = 0, total = 0;
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  GRIDSTRIDE_CHECK(cudaMemGetInfo(&free, &total));
  // What the pool holds in reserve can be used again.
  cudaMemPool_t pool = nullptr;
  GRIDSTRIDE_CHECK(cudaDeviceGetDefaultMemPool(&pool, ordinal));
  unsigned long long reserved = 0, used = 0;
  GRIDSTRIDE_CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  GRIDSTRIDE_CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  return free + static_cast<std::size_t>(reserved - used);
}

void use_device(int ordinal) { GRIDSTRIDE_CHECK(cudaSetDevice(ordinal)); }

Range::Range(char const* name) { nvtxRangePushA(name); }
Range::~Range() { nvtxRangePop(); }

std::shared_ptr<void> make_stream(int ordinal, bool urgent) {
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  // The pool keeps what was freed, so that buffers of one size are not mapped again and again.
  cudaMemPool_t pool = nullptr;
  GRIDSTRIDE_CHECK(cudaDeviceGetDefaultMemPool(&pool, ordinal));
  unsigned long long keep = std::numeric_limits<unsigned long long>::max();
  GRIDSTRIDE_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  int lowest = 0, highest = 0;
  GRIDSTRIDE_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  cudaStream_t stream = nullptr;
  GRIDSTRIDE_CHECK(
      cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, urgent ? highest : lowest));
  return {stream,
          [](void* s) { log_failure(cudaStreamDestroy(as_stream(s)), "cudaStreamDestroy"); }};
}

void synchronize(void* stream) { GRIDSTRIDE_CHECK(cudaStreamSynchronize(as_stream(stream))); }

std::shared_ptr<void> make_event(int ordinal, bool sleeps) {
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  cudaEvent_t event = nullptr;
  GRIDSTRIDE_CHECK(
      cudaEventCreateWithFlags(&event, sleeps ? cudaEventBlockingSync : cudaEventDefault));
  return {event, [](void* e) { log_failure(cudaEventDestroy(as_event(e)), "cudaEventDestroy"); }};
}

void record(void* event, void* stream) {
  GRIDSTRIDE_CHECK(cudaEventRecord(as_event(event), as_stream(stream)));
}

void wait(void* stream, void* event) {
  GRIDSTRIDE_CHECK(cudaStreamWaitEvent(as_stream(stream), as_event(event), 0));
}

void synchronize_event(void* event) { GRIDSTRIDE_CHECK(cudaEventSynchronize(as_event(event))); }

double elapsed_seconds(void* start, void* stop) {
  float milliseconds = 0;
  GRIDSTRIDE_CHECK(cudaEventSynchronize(as_event(stop)));
  GRIDSTRIDE_CHECK(cudaEventElapsedTime(&milliseconds, as_event(start), as_event(stop)));
  return milliseconds * 1e-3;
}

std::shared_ptr<void> allocate_device(std::shared_ptr<void> stream, int ordinal,
                                      std::size_t bytes) {
  void* memory = nullptr;
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  cudaError_t const status = cudaMallocAsync(&memory, bytes, as_stream(stream.get()));
  if (status == cudaErrorMemoryAllocation) {
    auto const free = static_cast<double>(free_memory(ordinal));
    out_of_memory("device", bytes, "the device has " + format_bytes(free) + " free");
  }
  GRIDSTRIDE_CHECK(status);
  return {memory, [stream](void* m) {
            cudaError_t const freed = cudaFreeAsync(m, as_stream(stream.get()));
            // What a capture allocates goes with it when it fails, which whoever captures is told.
            if (freed != cudaErrorStreamCaptureInvalidated) log_failure(freed, "cudaFreeAsync");
          }};
}

namespace {

constexpr std::size_t small_page = std::size_t{4} << 10, huge_page = std::size_t{2} << 20;

/// Asks for every page of some memory, by several threads where it is much: most of what that takes
/// is zeroing them.
void make_pages(char volatile* memory, std::size_t bytes) {
  constexpr std::size_t part = huge_page, much = 4 * part;
  auto const touch = [&](std::int64_t first, std::int64_t last) {
    std::size_t const end = std::min(static_cast<std::size_t>(last) * part, bytes);
    for (std::size_t i = static_cast<std::size_t>(first) * part; i < end; i += small_page)
      memory[i] = 0;
  };
  auto const parts = static_cast<std::int64_t>((bytes + part - 1) / part);
  if (bytes < much) return touch(0, parts);
  auto const call = [](void const* body, std::int64_t first, std::int64_t last) {
    (*static_cast<decltype(touch) const*>(body))(first, last);
  };
  share_out(parts, available_processors(), {&touch, call});
}

/// Memory of the host that begins with a huge page, if there are any, and has all its pages.
std::shared_ptr<void> allocate_in_huge_pages(std::size_t bytes) {
  // Pages beyond what there are would end the process. Of less, asking takes longer than it is worth.
  constexpr std::size_t worth_asking = std::size_t{64} << 20;
  std::size_t const size = (bytes + huge_page - 1) / huge_page * huge_page, area = size + huge_page;
  constexpr int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
  bool const fits = bytes < worth_asking || bytes <= free_host_memory();
  void* const begin = fits ? mmap(nullptr, area, access, kind, -1, 0) : MAP_FAILED;
  if (begin == MAP_FAILED)
    out_of_memory("pinned host", bytes,
                  format_bytes(static_cast<double>(free_host_memory())) + " are free");
  std::shared_ptr<void> const owner(begin, [area](void* m) { munmap(m, area); });
  void* first = begin;
  std::size_t space = area;
  std::align(huge_page, size, first, space);
  madvise(first, size, MADV_HUGEPAGE);
  make_pages(static_cast<char volatile*>(first), bytes);
  return {owner, first};
}

void check_locked(cudaError_t status, char const* call, std::size_t bytes) {
  if (status == cudaErrorMemoryAllocation)
    out_of_memory("pinned host", bytes, "the system refused to lock them");
  check(status, call, __LINE__);
}

}  // namespace

/// Much memory is locked in huge pages. The driver would take small ones, which takes it six times
/// as long, one thread after the other. It waits for copies before it frees them; so does this.
std::shared_ptr<void> allocate_pinned(std::size_t bytes) {
  if (bytes >= huge_page) {
    auto const owner = allocate_in_huge_pages(bytes);
    return {owner.get(), [owner, pinned = pin(owner.get(), bytes)](void*) mutable {
              pinned.reset();  // first
            }};
  }
  void* memory = nullptr;
  check_locked(cudaMallocHost(&memory, bytes), "cudaMallocHost", bytes);
  return {memory, [](void* m) { log_failure(cudaFreeHost(m), "cudaFreeHost"); }};
}

std::shared_ptr<void> pin(void* memory, std::size_t bytes) {
  check_locked(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "cudaHostRegister",
               bytes);
  return {memory, [](void* m) {
            cudaDeviceSynchronize();  // a failure belongs to what was queued
            log_failure(cudaHostUnregister(m), "cudaHostUnregister");
          }};
}

std::shared_ptr<void> allocate_managed(int ordinal, std::size_t bytes) {
  // Managed memory beyond what the card has free can hang it.
  std::size_t const free = free_memory(ordinal);
  if (bytes > free)
    out_of_memory("managed", bytes,
                  "the device has " + format_bytes(static_cast<double>(free)) + " free");
  void* memory = nullptr;
  GRIDSTRIDE_CHECK(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal));
  return {memory, [](void* m) { log_failure(cudaFree(m), "cudaFree"); }};
}

bool is_on_host(void const* memory) {
  cudaPointerAttributes found{};
  GRIDSTRIDE_CHECK(cudaPointerGetAttributes(&found, memory));
  return found.type == cudaMemoryTypeHost || found.type == cudaMemoryTypeUnregistered;
}

void copy_async(void* target, void const* source, std::size_t bytes, void* stream) {
  GRIDSTRIDE_CHECK(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, as_stream(stream)));
}

void zero_async(void* target, std::size_t bytes, void* stream) {
  GRIDSTRIDE_CHECK(cudaMemsetAsync(target, 0, bytes, as_stream(stream)));
}

namespace {

/// CUDA's handles are as many bytes, of types of their own.
template <class Handle>
Handle as_handle(IpcHandle const& bytes) {
  static_assert(sizeof(Handle) == sizeof(IpcHandle));
  return std::bit_cast<Handle>(bytes);
}

}  // namespace

/// In whole pages, which nothing else is a part of: others get whole pages.
std::shared_ptr<void> allocate_shared(int ordinal, std::size_t bytes) {
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  void* memory = nullptr;
  std::size_t const whole = (bytes + huge_page - 1) / huge_page * huge_page;
  cudaError_t const status = cudaMalloc(&memory, whole);
  if (status == cudaErrorMemoryAllocation) {
    auto const free = static_cast<double>(free_memory(ordinal));
    out_of_memory("device", whole, "the device has " + format_bytes(free) + " free");
  }
  GRIDSTRIDE_CHECK(status);
  return {memory, [](void* m) { log_failure(cudaFree(m), "cudaFree"); }};
}

std::shared_ptr<void> make_shared_event(int ordinal) {
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  cudaEvent_t event = nullptr;
  GRIDSTRIDE_TRY(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
  return {event, [](void* e) { log_failure(cudaEventDestroy(as_event(e)), "cudaEventDestroy"); }};
}

IpcHandle handle_of_memory(void* memory) {
  cudaIpcMemHandle_t handle{};
  GRIDSTRIDE_TRY(cudaIpcGetMemHandle(&handle, memory));
  return std::bit_cast<IpcHandle>(handle);
}

IpcHandle handle_of_event(void* event) {
  cudaIpcEventHandle_t handle{};
  GRIDSTRIDE_TRY(cudaIpcGetEventHandle(&handle, as_event(event)));
  return std::bit_cast<IpcHandle>(handle);
}

std::shared_ptr<void> open_memory(int ordinal, IpcHandle const& handle) {
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  void* memory = nullptr;
  GRIDSTRIDE_TRY(cudaIpcOpenMemHandle(&memory, as_handle<cudaIpcMemHandle_t>(handle),
                                      cudaIpcMemLazyEnablePeerAccess));
  return {memory, [](void* m) { log_failure(cudaIpcCloseMemHandle(m), "cudaIpcCloseMemHandle"); }};
}

std::shared_ptr<void> open_event(int ordinal, IpcHandle const& handle) {
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  cudaEvent_t event = nullptr;
  GRIDSTRIDE_TRY(cudaIpcOpenEventHandle(&event, as_handle<cudaIpcEventHandle_t>(handle)));
  return {event, [](void* e) { log_failure(cudaEventDestroy(as_event(e)), "cudaEventDestroy"); }};
}

namespace {

using GraphOwner = std::unique_ptr<CUgraph_st, void (*)(cudaGraph_t)>;

/// What `work` queues on `stream`, as a graph.
GraphOwner captured_graph(void* stream, std::function<void()> const& work) {
  GRIDSTRIDE_CHECK(cudaStreamBeginCapture(as_stream(stream), cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    // The stream must leave capture before anybody can use it again.
    if (cudaStreamEndCapture(as_stream(stream), &graph) == cudaSuccess) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  cudaError_t const status = cudaStreamEndCapture(as_stream(stream), &graph);
  if (status != cudaSuccess) cudaGetLastError();
  check(status, "cudaStreamEndCapture", __LINE__);
  return {graph, [](cudaGraph_t g) { log_failure(cudaGraphDestroy(g), "cudaGraphDestroy"); }};
}

/// Calls a function of the driver by its name. The runtime's own counterparts know nothing of
/// kernels that come from a loaded library.
template <class Function, class... Arguments>
void call_driver(char const* name, Arguments... arguments) {
  constexpr unsigned version = 12030;  // whose signatures these are
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  GRIDSTRIDE_CHECK(
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess)
    throw Error(fmt::format("the GPU's driver has no {}", name));
  CUresult const status = reinterpret_cast<Function*>(found)(arguments...);
  if (status != CUDA_SUCCESS)
    throw CudaError(name, __FILE__, __LINE__, fmt::format("error {} of the driver", +status));
}
#define GRIDSTRIDE_DRIVER(function, ...) call_driver<decltype(function)>(#function, __VA_ARGS__)

KernelInfo kernel_info(cudaGraphNode_t node) {
  CUDA_KERNEL_NODE_PARAMS launch{};
  call_driver<decltype(cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams", node, &launch);
  CUfunction function = launch.func;
  if (function == nullptr) GRIDSTRIDE_DRIVER(cuKernelGetFunction, &function, launch.kern);
  char const* name = nullptr;
  GRIDSTRIDE_DRIVER(cuFuncGetName, &name, function);
  auto const attribute = [&](CUfunction_attribute which) {
    int value = 0;
    GRIDSTRIDE_DRIVER(cuFuncGetAttribute, &value, which, function);
    return value;
  };
  KernelInfo info;
  info.name = short_kernel_name(name);
  info.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  info.static_shared_bytes =
      static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  info.dynamic_shared_bytes = launch.sharedMemBytes;
  info.local_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  info.block_threads = static_cast<int>(launch.blockDimX * launch.blockDimY * launch.blockDimZ);
  int device = 0, resident = 0, blocks = 0;
  GRIDSTRIDE_CHECK(cudaGetDevice(&device));
  GRIDSTRIDE_CHECK(
      cudaDeviceGetAttribute(&resident, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  GRIDSTRIDE_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, function,
                    info.block_threads, static_cast<std::size_t>(launch.sharedMemBytes));
  constexpr int warp = 32;
  int const warps = blocks * ((info.block_threads + warp - 1) / warp);
  info.occupancy = static_cast<double>(warps) / (resident / warp);
  return info;
}

}  // namespace

std::shared_ptr<void> capture(void* stream, std::function<void()> const& work) {
  GraphOwner const graph = captured_graph(stream, work);
  cudaGraphExec_t executable = nullptr;
  GRIDSTRIDE_CHECK(cudaGraphInstantiate(&executable, graph.get(), 0));
  return {executable, [](void* g) {
            log_failure(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(g)),
                        "cudaGraphExecDestroy");
          }};
}

std::vector<KernelInfo> captured_kernels(void* stream, std::function<void()> const& work) {
  GraphOwner const graph = captured_graph(stream, work);
  std::size_t count = 0;
  GRIDSTRIDE_CHECK(cudaGraphGetNodes(graph.get(), nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  GRIDSTRIDE_CHECK(cudaGraphGetNodes(graph.get(), nodes.data(), &count));
  std::vector<KernelInfo> kernels;
  try {
    for (cudaGraphNode_t const node : nodes) {
      cudaGraphNodeType type{};
      GRIDSTRIDE_CHECK(cudaGraphNodeGetType(node, &type));
      if (type != cudaGraphNodeTypeKernel) continue;
      kernels.push_back(kernel_info(node));
    }
  } catch (...) {
    cudaGetLastError();  // it is reported; the next launch is not to meet it again
    throw;
  }
  return kernels;
}

void launch_graph(void* graph, void* stream) {
  GRIDSTRIDE_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), as_stream(stream)));
}

std::shared_ptr<void> load_library(int ordinal, std::string const& cubin) {
  GRIDSTRIDE_CHECK(cudaSetDevice(ordinal));
  cudaLibrary_t library = nullptr;
  check_and_forget(
      cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "cudaLibraryLoadData", __LINE__);
  return {library, [](void* l) {
            log_failure(cudaLibraryUnload(static_cast<cudaLibrary_t>(l)), "cudaLibraryUnload");
          }};
}

Kernel find_kernel(void* library, char const* name) {
  cudaKernel_t kernel = nullptr;
  check_and_forget(cudaLibraryGetKernel(&kernel, static_cast<cudaLibrary_t>(library), name), name,
                   __LINE__);
  Kernel found{kernel, {}};
  std::size_t offset = 0, bytes = 0;
  // There is no call for the number of parameters; the first that is none ends the list.
  while (cudaFuncGetParamInfo(kernel, found.parameter_bytes.size(), &offset, &bytes) == cudaSuccess)
    found.parameter_bytes.push_back(bytes);
  cudaGetLastError();
  return found;
}

void launch(Kernel const& kernel, std::array<unsigned, 3> blocks, std::array<unsigned, 3> threads,
            std::size_t shared_bytes, std::span<void const* const> arguments, void* stream) {
  constexpr std::size_t granted_bytes = std::size_t{48} << 10;  // more has to be asked for
  // What one thread asks for is the kernel's limit until it has launched it, whatever others ask for.
  static std::mutex mutex;
  std::unique_lock asked(mutex, std::defer_lock);
  if (shared_bytes > granted_bytes) {
    asked.lock();
    check_and_forget(
        cudaFuncSetAttribute(kernel.handle, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        "cudaFuncSetAttribute", __LINE__);
  }
  // The runtime reads the arguments before it returns, and does not write to them.
  check_and_forget(
      cudaLaunchKernel(kernel.handle, {blocks[0], blocks[1], blocks[2]},
                       {threads[0], threads[1], threads[2]}, const_cast<void**>(arguments.data()),
                       shared_bytes, as_stream(stream)),
      "cudaLaunchKernel", __LINE__);
}

int resident_blocks(Kernel const& kernel, int block_threads, std::size_t shared_bytes) {
  int blocks = 0;
  GRIDSTRIDE_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.handle,
                                                                 block_threads, shared_bytes));
  return blocks;
}

std::size_t local_bytes(Kernel const& kernel) {
  cudaFuncAttributes attributes{};
  GRIDSTRIDE_CHECK(cudaFuncGetAttributes(&attributes, kernel.handle));
  return attributes.localSizeBytes;
}

}  // namespace gridstride::gpu
