#include "unit/order/queues.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/gpu.hpp"

namespace gridstride::test {

namespace {

std::atomic<unsigned> next_seed = 1, longest_pause = 100, next_gpu = 0;
std::atomic<bool> are_apart = false;

/// That a queue has come to a point.
class Point {
 public:
  void reach() {
    {
      std::scoped_lock const lock(mutex_);
      reached_ = true;
    }
    changed_.notify_all();
  }
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
};

/// The last point that it was recorded at, which is the one that those who ask wait for.
struct RecordedPoint {
  std::shared_ptr<Point> get() {
    std::scoped_lock const lock(mutex);
    return point;
  }
  std::mutex mutex;
  std::shared_ptr<Point> point;
};

class Queue {
 public:
  Queue() : random_(next_seed += 7919), pause_(longest_pause), thread_([this] { work(); }) {}
  Queue(Queue const&) = delete;
  Queue& operator=(Queue const&) = delete;
  ~Queue() {
    {
      std::scoped_lock const lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void add(std::function<void()> work) {
    {
      std::scoped_lock const lock(mutex_);
      queued_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

 private:
  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !queued_.empty(); });
      if (queued_.empty()) return;
      auto const next = std::move(queued_.front());
      queued_.pop_front();
      lock.unlock();
      if (random_() % 4 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random_() % pause_));
      next();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queued_;
  bool ends_ = false;
  std::minstd_rand random_;
  unsigned pause_;
  std::thread thread_;
};

Queue& queue_of(void* stream) { return *static_cast<Queue*>(stream); }
RecordedPoint& recorded(void* event) { return *static_cast<RecordedPoint*>(event); }

/// Memory that nobody has any more, though a stream may have it yet.
class Released {
 public:
  void add(void* memory) {
    std::scoped_lock const lock(mutex_);
    all_.push_back(memory);
  }
  void free() {
    std::scoped_lock const lock(mutex_);
    for (void* const memory : all_) std::free(memory);
    all_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<void*> all_;
};
/// There to the end, for what is destroyed last may have memory, too.
Released& released = *new Released;

std::shared_ptr<void> make_memory(std::size_t bytes) {
  constexpr std::size_t line = 256;
  void* const memory = std::aligned_alloc(line, (bytes / line + 1) * line);
  std::memset(memory, 0xff, bytes);
  return {memory, [](void* given) { released.add(given); }};
}

template <class Handle>
Handle handle_of(void* pointer) {
  Handle handle{};
  std::memcpy(handle.data(), &pointer, sizeof(pointer));
  return handle;
}

std::shared_ptr<void> opened(gpu::IpcHandle const& handle) {
  void* pointer = nullptr;
  std::memcpy(&pointer, handle.data(), sizeof(pointer));
  return {pointer, [](void*) {}};
}

[[noreturn]] void refuse() { throw Error("streams of threads have no kernels"); }

}  // namespace

void set_pauses(unsigned seed, unsigned microseconds) {
  released.free();
  next_seed = seed;
  longest_pause = microseconds;
}

void set_apart(bool apart) { are_apart = apart; }

void queue_work(void* stream, std::function<void()> work) { queue_of(stream).add(std::move(work)); }

}  // namespace gridstride::test

namespace gridstride::gpu {

using test::Point;

int count(std::string&) { return 1; }
Properties properties(int) {
  Properties found{};
  found.name = "streams of threads";
  found.compute_capability = 90;
  found.multiprocessors = 1;
  found.total_memory = std::size_t{1} << 36;
  return found;
}
std::size_t free_memory(int) { return std::size_t{1} << 36; }
std::array<std::byte, 16> identity(int) {
  std::array<std::byte, 16> found{};
  if (test::are_apart) found[0] = static_cast<std::byte>(++test::next_gpu);
  return found;
}
void use_device(int) {}
Range::Range(char const*) {}
Range::~Range() = default;

std::shared_ptr<void> make_stream(int, bool) { return std::make_shared<test::Queue>(); }
void synchronize(void* stream) {
  auto const point = std::make_shared<Point>();
  test::queue_work(stream, [point] { point->reach(); });
  point->await();
}
std::shared_ptr<void> make_event(int, bool) { return std::make_shared<test::RecordedPoint>(); }
void record(void* event, void* stream) {
  auto const point = std::make_shared<Point>();
  {
    auto& where = test::recorded(event);
    std::scoped_lock const lock(where.mutex);
    where.point = point;
  }
  test::queue_work(stream, [point] { point->reach(); });
}
void wait(void* stream, void* event) {
  if (auto const point = test::recorded(event).get())
    test::queue_work(stream, [point] { point->await(); });
}
void synchronize_event(void* event) {
  if (auto const point = test::recorded(event).get()) point->await();
}
double elapsed_seconds(void*, void*) { return 0; }

std::shared_ptr<void> allocate_device(std::shared_ptr<void>, int, std::size_t bytes) {
  return test::make_memory(bytes);
}
std::shared_ptr<void> allocate_pinned(std::size_t bytes) { return test::make_memory(bytes); }
std::shared_ptr<void> pin(void* memory, std::size_t) {
  return {memory, [](void*) {}};
}
std::shared_ptr<void> allocate_managed(int, std::size_t bytes) { return test::make_memory(bytes); }
bool is_on_host(void const*) { return true; }
void copy_async(void* target, void const* source, std::size_t bytes, void* stream) {
  test::queue_work(stream, [=] {
    std::size_t const half = bytes / 2;
    std::memcpy(target, source, half);
    std::this_thread::yield();
    std::memcpy(static_cast<std::byte*>(target) + half,
                static_cast<std::byte const*>(source) + half, bytes - half);
  });
}
void zero_async(void* target, std::size_t bytes, void* stream) {
  test::queue_work(stream, [=] { std::memset(target, 0, bytes); });
}

std::shared_ptr<void> allocate_shared(int, std::size_t bytes) { return test::make_memory(bytes); }
std::shared_ptr<void> make_shared_event(int) { return make_event(0, false); }
IpcHandle handle_of_memory(void* memory) { return test::handle_of<IpcHandle>(memory); }
IpcHandle handle_of_event(void* event) { return test::handle_of<IpcHandle>(event); }
std::shared_ptr<void> open_memory(int, IpcHandle const& handle) { return test::opened(handle); }
std::shared_ptr<void> open_event(int, IpcHandle const& handle) { return test::opened(handle); }

std::shared_ptr<void> capture(void*, std::function<void()> const&) { test::refuse(); }
void launch_graph(void*, void*) { test::refuse(); }
std::shared_ptr<void> load_library(int, std::string const&) { test::refuse(); }
Kernel find_kernel(void*, char const*) { test::refuse(); }
void launch(Kernel const&, std::array<unsigned, 3>, std::array<unsigned, 3>, std::size_t,
            std::span<void const* const>, void*) {
  test::refuse();
}
int resident_blocks(Kernel const&, int, std::size_t) { test::refuse(); }
std::size_t local_bytes(Kernel const&) { test::refuse(); }
std::vector<KernelInfo> captured_kernels(void*, std::function<void()> const&) { test::refuse(); }

}  // namespace gridstride::gpu
