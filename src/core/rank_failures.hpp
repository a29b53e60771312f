#pragma once

#include <exception>
#include <utility>

#include "core/ranks.hpp"

namespace gridstride {

/// All ranks call it, with what each of them has failed in, or null. Where any has, all throw what the
/// first of these has, of its own kind (`ConfigError` with its problems, `NumericalError`,
/// `VerificationError`; of other kinds as `Error`, with the same words).
void share_failure(Ranks& ranks, std::exception_ptr const& own);

/// What all ranks have failed in together, so that they can go on with other things together.
class FailedTogether final : public std::exception {
 public:
  explicit FailedTogether(std::exception_ptr cause) : cause_(std::move(cause)) {}
  char const* what() const noexcept override { return "ranks have failed together"; }
  std::exception_ptr const& cause() const { return cause_; }

 private:
  std::exception_ptr cause_;
};

/// All ranks do `work`, which may fail on some of them: then all throw what the first of these does.
/// Alone, as it does.
template <class Work>
void fail_together(Ranks& ranks, Work const& work) {
  if (ranks.count() == 1) return work();
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  share_failure(ranks, failure);
}

}  // namespace gridstride
