#include "driver/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/console.hpp"
#include "core/text.hpp"

namespace gridstride {

namespace {

constexpr double seconds_between_bars = 0.2;
constexpr double seconds_between_lines = 10;

std::string format_duration(double seconds) {
  auto const whole = static_cast<long>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

Progress::Progress(double end, std::int64_t grid_points, bool quiet)
    : end_(end),
      grid_points_(static_cast<double>(grid_points)),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_(terminal_ ? 0 : seconds_between_lines) {}

Progress::~Progress() { finish(); }

void Progress::update(Clock const& now) {
  if (first_step_ < 0) {
    first_step_ = now.step;
    first_time_ = now.time;
    timer_.restart();
    return;
  }
  if (quiet_ || timer_.seconds() < next_) return;
  next_ = timer_.seconds() + (terminal_ ? seconds_between_bars : seconds_between_lines);
  tell(fmt::format("{}{}{}", terminal_ ? "\r" : "", line(now), terminal_ ? "\033[K" : "\n"));
  drawn_ = terminal_;
}

void Progress::finish() {
  if (drawn_) tell("\r\033[K");
  drawn_ = false;
}

std::string Progress::line(Clock const& now) const {
  double const seconds = timer_.seconds();
  double const share = std::clamp(now.time / end_, 0.0, 1.0);
  double const gained = (now.time - first_time_) / end_;
  std::string const eta = gained > 0 ? format_duration((1 - share) * seconds / gained) : "?";
  double const rate = static_cast<double>(now.step - first_step_) / std::max(seconds, 1e-9);
  std::string bar;
  if (terminal_) {
    constexpr int width = 24;
    int const filled = static_cast<int>(share * width);
    bar = fmt::format("[{:=<{}}{: <{}}] ", "", filled, "", width - filled);
  }
  return fmt::format("{}{:3.0f} %  t = {:.4g}  step {}  {} steps/s  {} updates/s  ETA {}", bar,
                     100 * share, now.time, now.step, format_si(rate),
                     format_si(rate * grid_points_), eta);
}

}  // namespace gridstride
