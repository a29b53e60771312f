#include "io/pvd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/placed_file.hpp"
#include "io/xml.hpp"

namespace gridstride::io {

namespace {

constexpr std::string_view head =
    "<?xml version=\"1.0\"?>\n"
    "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
    "  <Collection>\n";
constexpr std::string_view tail = "  </Collection>\n</VTKFile>\n";
constexpr std::string_view entry_start = "<DataSet timestep=\"";

std::string element_of(SeriesEntry const& entry) {
  return fmt::format("{}{}\" group=\"\" part=\"0\" file=\"{}\"/>", entry_start,
                     format_exact(entry.time), xml_escaped(entry.file));
}

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
  PlacedFile const file(path_, path_, PlacedFile::How::written);
  if (file.size() != end_ + tail.size())
    throw IoError(path_, "was changed by another program while it grew");
  file.write(start + 1, element.substr(1) + "\n");
  file.write(start, element.substr(0, 1));
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
