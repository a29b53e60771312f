#include "driver/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/console.hpp"
#include "core/text.hpp"

namespace gridstride {

namespace {

constexpr double seconds_between_bars = 0.2;
constexpr double seconds_between_lines = 10;

constexpr double window_seconds = 30;
constexpr double least_span = 0.5;  // the first steps are often slower than the rest

std::string bar(double share, int width) {
  if (width <= 0) return {};
  int const filled = static_cast<int>(share * width);
  return fmt::format("[{:=<{}}{: <{}}] ", "", filled, "", width - filled);
}

std::string format_remaining(double seconds) {
  if (seconds >= 24 * 3600) return format_seconds(seconds);
  auto const whole = static_cast<long>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

void Pace::note(double seconds, Clock const& clock) {
  // Now replaces the last moment while that is close to the one before it, so that few are kept.
  constexpr double spacing = window_seconds / 32;
  auto const count = moments_.size();
  if (count > 1 && moments_[count - 1].seconds - moments_[count - 2].seconds < spacing)
    moments_.pop_back();
  moments_.push_back({seconds, clock});
  while (moments_.size() > 2 && seconds - moments_[1].seconds >= window_seconds)
    moments_.pop_front();
}

double Pace::span() const {
  return moments_.empty() ? 0 : moments_.back().seconds - moments_.front().seconds;
}

double Pace::steps_per_second() const {
  if (span() <= 0) return 0;
  return static_cast<double>(moments_.back().clock.step - moments_.front().clock.step) / span();
}

std::optional<double> Pace::seconds_until(double end) const {
  if (span() < least_span) return {};
  double const gained = moments_.back().clock.time - moments_.front().clock.time;
  double const seconds = std::max(end - moments_.back().clock.time, 0.0) / gained * span();
  if (gained <= 0 || !std::isfinite(seconds)) return {};
  return seconds;
}

std::string progress_line(Clock const& now, double end, double grid_points, Pace const& pace,
                          int bar_width) {
  double const share = std::clamp(now.time / end, 0.0, 1.0);
  double const rate = pace.steps_per_second();
  std::string line = bar(share, bar_width);
  std::string const rejected =
      now.rejected > 0 ? fmt::format(" ({} rejected)", now.rejected) : std::string();
  line += fmt::format("{:3.0f} %  t = {:.4g}  step {}{}  {} steps/s  {} updates/s", 100 * share,
                      now.time, now.step, rejected, format_si(rate), format_si(rate * grid_points));
  if (auto const seconds = pace.seconds_until(end))
    line += fmt::format("  ETA {}", format_remaining(*seconds));
  return line;
}

std::string progress_line(Headway const& now, Pace const& pace, int bar_width) {
  auto line = fmt::format("{}{:3.0f} %  {}  {}B/s", bar(now.share, bar_width), 100 * now.share,
                          now.part, format_si(pace.steps_per_second()));
  if (auto const seconds = pace.seconds_until(1))
    line += fmt::format("  ETA {}", format_remaining(*seconds));
  return line;
}

std::string progress_line(SweepHeadway const& now, Pace const& pace, int bar_width) {
  auto line = fmt::format("{}{:3.0f} %  {} of {} runs ended", bar(now.share, bar_width),
                          100 * now.share, now.ended, now.runs);
  if (now.failed > 0) line += fmt::format(" ({} failed)", now.failed);
  if (auto const seconds = pace.seconds_until(1))
    line += fmt::format("  ETA {}", format_remaining(*seconds));
  return line;
}

Progress::Progress(double end, std::int64_t grid_points, bool quiet,
                   std::function<void(double)> listener)
    : end_(end),
      grid_points_(static_cast<double>(grid_points)),
      quiet_(quiet),
      listener_(std::move(listener)),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_(terminal_ ? seconds_between_bars : seconds_between_lines) {}

Progress::~Progress() { finish(); }

template <class Line>
void Progress::say(Clock const& now, Line const& line) {
  if (quiet_) return;
  double const seconds = timer_.seconds();
  pace_.note(seconds, now);
  if (seconds < next_) return;
  next_ = seconds + (terminal_ ? seconds_between_bars : seconds_between_lines);
  tell(fmt::format("{}{}{}", terminal_ ? "\r" : "", line(terminal_ ? 24 : 0),
                   terminal_ ? "\033[K" : "\n"));
  drawn_ = terminal_;
}

void Progress::update(Clock const& now) {
  if (listener_) return listener_(std::clamp(now.time / end_, 0.0, 1.0));
  say(now, [&](int width) { return progress_line(now, end_, grid_points_, pace_, width); });
}

void Progress::update(Headway const& now) {
  if (now.part != part_) pace_ = {};
  part_ = now.part;
  say({static_cast<std::int64_t>(now.bytes), now.share},
      [&](int width) { return progress_line(now, pace_, width); });
}

void Progress::update(SweepHeadway const& now) {
  say({now.ended, now.share}, [&](int width) { return progress_line(now, pace_, width); });
}

void Progress::finish() {
  if (drawn_) tell("\r\033[K");
  drawn_ = false;
}

}  // namespace gridstride
