#pragma once

#include <semaphore>

namespace gridstride::io {

/// Lets two at a time of the threads that write to one file. The system's lock of the file lets one
/// through, and each further one that waits for it slows that one down.
class WritingTurns {
 public:
  /// Calls `work` when it has a turn.
  template <class Work>
  void take(Work const& work) {
    Turn const turn(turns_);
    work();
  }

 private:
  using Turns = std::counting_semaphore<2>;
  struct Turn {
    explicit Turn(Turns& turns) : turns_(turns) { turns_.acquire(); }
    Turn(Turn const&) = delete;
    Turn& operator=(Turn const&) = delete;
    ~Turn() { turns_.release(); }

    Turns& turns_;
  };

  Turns turns_{2};
};

}  // namespace gridstride::io
