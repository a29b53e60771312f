#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

/// The processes that share a run: this one alone, or as many as a launcher of MPI has started.
namespace gridstride {

/// Of a message to receive: whoever sends one of its tag first.
inline constexpr int any_rank = -1;

/// Bytes that go to, or come from, another process. Those of one `tag` between two processes arrive
/// in the order that they were sent in.
struct RankMessage {
  int rank = 0;
  int tag = 0;
  std::span<std::byte> bytes;
};

/// Ways between the processes. All calls come from one thread, and wait for their end without
/// taking a processor from others for long. Failures end all processes, as MPI has it by default.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;   ///< of this process, from 0 on
  virtual int count() const = 0;  ///< at least 1
  /// Of each process, a number of its machine. Those of one machine see each other's memory.
  virtual std::span<int const> machines() const = 0;
  virtual std::string transport() const = 0;  ///< in words, with its version

  /// Rank 0's bytes, at all. All processes call it, with as many bytes.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  /// All messages at once; returns when what is sent may change and what is received is there.
  virtual void exchange(std::span<RankMessage const> sent,
                        std::span<RankMessage const> received) = 0;
  /// Ends all processes, the program with this exit code.
  [[noreturn]] virtual void abort(int exit_code) = 0;
  /// The last call of every process.
  virtual void finish() = 0;

  bool is_first() const { return rank() == 0; }
  /// Whether another process is on the machine of this one.
  bool is_here(int rank) const;
  /// This process's place among those of its machine, and how many these are.
  int local_rank() const;
  int local_count() const;
};

/// Those of this process. Nobody but the program's `main` asks for more than one: before
/// `join_ranks` there is this process alone.
Ranks& ranks();

/// Joins the processes that a launcher (mpirun, srun) has started, as its variables in the
/// environment say; without one nothing happens. Throws `Error` where there are several and they
/// cannot find each other: the program was built without MPI, or another launcher is needed.
void join_ranks();

/// What a launcher's variables say of how many processes there are; 1 without one.
int launched_ranks();

/// Why this program cannot go over several processes; empty where it can.
std::string ranks_lacking();

}  // namespace gridstride
