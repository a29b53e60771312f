#include "core/error.hpp"
#include "core/gpu.hpp"

namespace gridstride::gpu {

namespace {

[[noreturn]] void unavailable() { throw Error("this program was built without CUDA"); }

}  // namespace

int count(std::string& reason) {
  reason = "this program was built without CUDA";
  return 0;
}

Properties properties(int) { unavailable(); }
std::size_t free_memory(int) { unavailable(); }
std::array<std::byte, 16> identity(int) { unavailable(); }
void use_device(int) { unavailable(); }
Range::Range(char const*) {}
Range::~Range() = default;
std::shared_ptr<void> make_stream(int, bool) { unavailable(); }
void synchronize(void*) { unavailable(); }
std::shared_ptr<void> make_event(int, bool) { unavailable(); }
void record(void*, void*) { unavailable(); }
void wait(void*, void*) { unavailable(); }
void synchronize_event(void*) { unavailable(); }
double elapsed_seconds(void*, void*) { unavailable(); }
std::shared_ptr<void> allocate_device(std::shared_ptr<void>, int, std::size_t) { unavailable(); }
std::shared_ptr<void> allocate_pinned(std::size_t) { unavailable(); }
std::shared_ptr<void> pin(void*, std::size_t) { unavailable(); }
std::shared_ptr<void> allocate_managed(int, std::size_t) { unavailable(); }
bool is_on_host(void const*) { return true; }
void copy_async(void*, void const*, std::size_t, void*) { unavailable(); }
void zero_async(void*, std::size_t, void*) { unavailable(); }
std::shared_ptr<void> allocate_shared(int, std::size_t) { unavailable(); }
std::shared_ptr<void> make_shared_event(int) { unavailable(); }
IpcHandle handle_of_memory(void*) { unavailable(); }
IpcHandle handle_of_event(void*) { unavailable(); }
std::shared_ptr<void> open_memory(int, IpcHandle const&) { unavailable(); }
std::shared_ptr<void> open_event(int, IpcHandle const&) { unavailable(); }
std::shared_ptr<void> capture(void*, std::function<void()> const&) { unavailable(); }
void launch_graph(void*, void*) { unavailable(); }
std::shared_ptr<void> load_library(int, std::string const&) { unavailable(); }
Kernel find_kernel(void*, char const*) { unavailable(); }
void launch(Kernel const&, std::array<unsigned, 3>, std::array<unsigned, 3>, std::size_t,
            std::span<void const* const>, void*) {
  unavailable();
}
int resident_blocks(Kernel const&, int, std::size_t) { unavailable(); }
std::size_t local_bytes(Kernel const&) { unavailable(); }
std::vector<KernelInfo> captured_kernels(void*, std::function<void()> const&) { unavailable(); }

}  // namespace gridstride::gpu
