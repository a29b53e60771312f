#pragma once

namespace gridstride {

/// The processors that this process may use: those of its affinity, but not more than the quotas
/// of its control groups allow (a container's share, a batch job's), and at least one.
int available_processors();

/// The number of threads that share the host's work: `OMP_NUM_THREADS` where it is set, else one
/// for each available processor; of a thread with a `HostShare`, the share's. Throws `Error` for a setting that is no number of threads, or far
/// beyond what the machine has. Results do not depend on it.
int host_threads();

/// Which of these threads serve the loops of a thread, itself among them.
struct HostShare {
  int first = 0;
  int threads = 0;  ///< 0: all
};

/// That of the calling thread; a new thread has all.
HostShare host_share();
/// Gives the calling thread a part: `host_threads()` is then the part's number. For threads that
/// work side by side, each with another part.
void set_host_share(HostShare share);

/// For tests: another number from now on.
void set_host_threads(int count);

/// Throws `Error` where the limit of the stack is too small for the program to run in.
void require_stack();

}  // namespace gridstride
