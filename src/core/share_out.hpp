#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace gridstride {

/// Work in pieces, for all processes together. Its functions do not throw.
struct SharedWork {
  std::int64_t pieces = 0;
  /// Does one, in any process; what it returns is for the first one.
  std::function<std::string(std::int64_t piece)> work;
  /// In the first process, one call at a time: `rank` has done that piece.
  std::function<void(std::int64_t piece, int rank, std::string const& told)> done;
  /// In the first process: whether what has not begun is to be left.
  std::function<bool()> is_over;
};

/// Gives each piece, in their order, to the process that is free next; the first process does its
/// own in another thread than that of the call. All processes call it. In the first one it returns
/// when every piece that began is done, in the others when there is nothing left for them.
void share_out(SharedWork const& shared);

}  // namespace gridstride
