#pragma once

#include <sys/resource.h>

#include <csignal>

namespace gridstride::test {

/// As long as it lives, the system gives no memory for several processes: files may not grow.
class WithoutSharedMemory {
 public:
  WithoutSharedMemory() : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    rlimit none = limit_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
  }
  WithoutSharedMemory(WithoutSharedMemory const&) = delete;
  WithoutSharedMemory& operator=(WithoutSharedMemory const&) = delete;
  ~WithoutSharedMemory() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit limit_{};
  void (*signal_)(int);
};

}  // namespace gridstride::test
