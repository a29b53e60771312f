#include "io/pvd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"

namespace gridstride::io {

namespace {

constexpr std::string_view head =
    "<?xml version=\"1.0\"?>\n"
    "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
    "  <Collection>\n";
constexpr std::string_view tail = "  </Collection>\n</VTKFile>\n";
constexpr std::string_view entry_start = "<DataSet timestep=\"";

/// As the value of an attribute, which readers turn blanks other than spaces into spaces in.
std::string escaped(std::string_view text) {
  std::string safe;
  for (char const letter : text) {
    switch (letter) {
      case '\t':
      case '\n':
      case '\r':
        safe += fmt::format("&#{};", static_cast<int>(letter));
        break;
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::string element_of(SeriesEntry const& entry) {
  return fmt::format("{}{}\" group=\"\" part=\"0\" file=\"{}\"/>", entry_start,
                     format_exact(entry.time), escaped(entry.file));
}

/// A file that is there already, open for writing.
class OpenFile {
 public:
  explicit OpenFile(std::filesystem::path const& path)
      : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail("opening");
  }
  OpenFile(OpenFile const&) = delete;
  OpenFile& operator=(OpenFile const&) = delete;
  ~OpenFile() { ::close(descriptor_); }

  std::size_t size() const {
    off_t const end = ::lseek(descriptor_, 0, SEEK_END);
    if (end < 0) fail("asking for the size");
    return static_cast<std::size_t>(end);
  }
  void write(std::string_view text, std::size_t offset) const {
    while (!text.empty()) {
      ssize_t const put =
          ::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) fail("writing");
      text.remove_prefix(static_cast<std::size_t>(put));
      offset += static_cast<std::size_t>(put);
    }
  }
  void synchronize() const {
    if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("writing");
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw IoError(path_, fmt::format("{} failed ({})", what, std::strerror(errno)));
  }

  std::filesystem::path const& path_;
  int descriptor_;
};

}  // namespace

Collection::Collection(std::filesystem::path path, std::vector<SeriesEntry> entries)
    : path_(std::move(path)), entries_(std::move(entries)) {
  write(0);
}

void Collection::write(std::size_t room) {
  std::string text(head);
  for (auto const& entry : entries_) text += fmt::format("    {}\n", element_of(entry));
  next_ = text.size();
  if (room > 0) text += std::string(room - 1, ' ') + '\n';
  end_ = text.size();
  text += tail;
  write_text_file(path_, text);
}

void Collection::append(SeriesEntry entry) {
  constexpr std::size_t least_room = 4096;
  std::string const element = element_of(entry);
  entries_.push_back(std::move(entry));
  std::size_t const start = next_ + 4, stop = start + element.size();
  if (stop + 1 > end_) return write(std::max(least_room, next_ / 4));
  OpenFile const file(path_);
  if (file.size() != end_ + tail.size())
    throw IoError(path_, "was changed by another program while it grew");
  file.write(element.substr(1) + "\n", start + 1);
  file.write(element.substr(0, 1), start);
  file.synchronize();
  next_ = stop + 1;
}

void Collection::finish() { write(0); }

std::vector<double> read_pvd_times(std::filesystem::path const& path) {
  std::ifstream file(path);
  if (!file) throw IoError(path, "cannot be read");
  std::vector<double> times;
  bool ended = false;
  for (std::string line; std::getline(file, line);) {
    ended = ended || line == "</VTKFile>";
    auto const at = line.find(entry_start);
    if (at == std::string::npos) continue;
    char const* const first = line.data() + at + entry_start.size();
    auto const [last, fault] =
        std::from_chars(first, line.data() + line.size(), times.emplace_back());
    if (fault != std::errc{} || *last != '"') throw IoError(path, "has a faulty time: " + line);
  }
  if (!ended) throw IoError(path, "is not a collection that gridstride wrote, or is cut off");
  return times;
}

}  // namespace gridstride::io
