#include "core/share_out.hpp"

#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/ranks.hpp"

namespace gridstride {

namespace {

constexpr std::int64_t none = -1;  // no piece

enum Tag : int { report_tag = 1, text_tag, piece_tag };

/// What another process says when it is free.
struct Report {
  std::int64_t rank = 0;
  std::int64_t piece = none;  ///< what it has done
  std::int64_t bytes = 0;     ///< of the text that follows
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

void receive(RankMessage const& message) { ranks().exchange({}, {&message, 1}); }

/// Another process: says that it is free until there is nothing more.
void take_part(SharedWork const& shared) {
  std::string text;
  for (std::int64_t piece = none;;) {
    Report report{ranks().rank(), piece, static_cast<std::int64_t>(text.size())};
    RankMessage const sent[] = {{0, report_tag, bytes_of(report)}, {0, text_tag, bytes_of(text)}};
    RankMessage const next{0, piece_tag, bytes_of(piece)};
    ranks().exchange(sent, {&next, 1});
    if (piece == none) return;
    text = shared.work(piece);
  }
}

/// The pieces, as the first process gives them away.
class Pieces {
 public:
  explicit Pieces(SharedWork const& shared) : shared_(shared) {}

  std::int64_t take() {
    std::lock_guard const lock(mutex_);
    return next_ == shared_.pieces || shared_.is_over() ? none : next_++;
  }
  void note(std::int64_t piece, int rank, std::string const& text) {
    std::lock_guard const lock(mutex_);
    shared_.done(piece, rank, text);
  }
  /// Does what nobody else does.
  void work() {
    for (auto piece = take(); piece != none; piece = take()) note(piece, 0, shared_.work(piece));
  }
  /// Serves the other processes until each has been told that there is nothing more.
  void serve();

 private:
  SharedWork const& shared_;
  std::mutex mutex_;
  std::int64_t next_ = 0;
};

void Pieces::serve() {
  for (int others = ranks().count() - 1; others > 0;) {
    Report report;
    receive({any_rank, report_tag, bytes_of(report)});
    auto const rank = static_cast<int>(report.rank);
    std::string text(static_cast<std::size_t>(report.bytes), ' ');
    receive({rank, text_tag, bytes_of(text)});
    if (report.piece != none) note(report.piece, rank, text);
    std::int64_t next = take();
    RankMessage const answer{rank, piece_tag, bytes_of(next)};
    ranks().exchange({&answer, 1}, {});
    if (next == none) --others;
  }
}

}  // namespace

void share_out(SharedWork const& shared) {
  if (!ranks().is_first()) return take_part(shared);
  Pieces pieces(shared);
  std::jthread const own([&] { pieces.work(); });
  pieces.serve();
}

}  // namespace gridstride
