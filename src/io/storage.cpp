#include "io/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace gridstride::io::hdf5 {

std::filesystem::path file_of(Object const& dataset) {
  auto const size = dataset.check(H5Fget_name(dataset.id(), nullptr, 0), "inspecting");
  std::string name(static_cast<std::size_t>(size) + 1, '\0');
  dataset.check(H5Fget_name(dataset.id(), name.data(), name.size()), "inspecting");
  name.pop_back();
  return name;
}

namespace {

namespace fs = std::filesystem;

/// Of virtual datasets whose sources are virtual.
constexpr int most_levels = 16;

[[noreturn]] void refuse(Object const& dataset, std::string const& name, std::string_view why) {
  throw IoError(dataset.path(), fmt::format("'{}' {}", name, why));
}

/// Filters that HDF5 itself does not have, by the numbers that the HDF Group gave them.
std::string_view name_of_filter(H5Z_filter_t number) {
  constexpr std::pair<H5Z_filter_t, std::string_view> known[] = {{H5Z_FILTER_SZIP, "szip"},
                                                                 {307, "bzip2"},
                                                                 {32000, "lzf"},
                                                                 {32001, "blosc"},
                                                                 {32004, "lz4"},
                                                                 {32008, "bitshuffle"},
                                                                 {32013, "zfp"},
                                                                 {32015, "zstd"},
                                                                 {32017, "sz"},
                                                                 {32026, "blosc2"}};
  for (auto const& [id, name] : known)
    if (id == number) return name;
  return "unknown name";
}

void require_filters(Object const& dataset, Handle const& creation, std::string const& name) {
  int const count = static_cast<int>(dataset.check(H5Pget_nfilters(creation.id()), "inspecting"));
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    H5Z_filter_t const number = H5Pget_filter2(creation.id(), static_cast<unsigned>(i), &flags,
                                               &values, nullptr, 0, nullptr, nullptr);
    dataset.check(number, "inspecting");
    if (H5Zfilter_avail(number) > 0) continue;
    refuse(dataset, name,
           fmt::format("is packed by a filter that HDF5 does not have here (number {}, {}); "
                       "`h5repack -f NONE OLD NEW` unpacks it where it does",
                       number, name_of_filter(number)));
  }
}

/// The folders that HDF5 looks into for a name that is not absolute, as a variable of the
/// environment lists them, where `${ORIGIN}` is the folder of the file.
std::vector<fs::path> folders_of(char const* variable, fs::path const& file) {
  constexpr std::string_view origin = "${ORIGIN}";
  std::vector<fs::path> folders;
  char const* const value = std::getenv(variable);
  for (std::string_view left = value == nullptr ? "" : value; !left.empty();) {
    std::string_view const folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
    if (folder.starts_with(origin))
      folders.push_back(file.parent_path() / fmt::format("./{}", folder.substr(origin.size())));
    else if (!folder.empty())
      folders.emplace_back(folder);
  }
  return folders;
}

/// The first of the folders' files of that name; empty when there is none.
fs::path find_in(std::vector<fs::path> const& folders, fs::path const& name) {
  std::error_code ignored;
  for (auto const& folder : folders)
    if (fs::exists(folder / name, ignored)) return folder / name;
  return {};
}

void require_external_files(Object const& dataset, Handle const& creation, std::string const& name,
                            hsize_t bytes) {
  auto folders = folders_of("HDF5_EXTFILE_PREFIX", file_of(dataset));
  if (folders.empty()) folders.emplace_back();
  folders.resize(1);
  int const count =
      static_cast<int>(dataset.check(H5Pget_external_count(creation.id()), "inspecting"));
  for (int i = 0; i < count && bytes > 0; ++i) {
    std::string file(4096, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    dataset.check(H5Pget_external(creation.id(), static_cast<unsigned>(i), file.size(), file.data(),
                                  &offset, &size),
                  "inspecting");
    file.resize(file.find('\0'));
    hsize_t const part = std::min(size, bytes);
    bytes -= part;
    fs::path const found = find_in(folders, file);
    if (found.empty())
      refuse(dataset, name, fmt::format("lies in the file '{}', which is missing", file));
    std::error_code failed;
    auto const there = fs::file_size(found, failed);
    hsize_t const needed = static_cast<hsize_t>(offset) + part;
    if (failed || there < needed)
      refuse(dataset, name,
             fmt::format("lies in the file '{}', which has {} bytes, not {}", found.string(),
                         failed ? 0 : there, needed));
  }
}

std::string text_of(Object const& dataset, hid_t creation, std::size_t mapping,
                    ssize_t (*get)(hid_t, std::size_t, char*, std::size_t)) {
  auto const size = dataset.check(get(creation, mapping, nullptr, 0), "inspecting");
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  dataset.check(get(creation, mapping, text.data(), text.size()), "inspecting");
  text.pop_back();
  return text;
}

/// The file of a virtual dataset's source, as HDF5 finds it.
Object open_source_file(Object const& dataset, std::string const& name, std::string const& file) {
  fs::path const home = file_of(dataset);
  if (file == ".") return open_file(home);
  auto folders = folders_of("HDF5_VDS_PREFIX", home);
  folders.push_back(home.parent_path());
  folders.emplace_back();
  fs::path const wanted = file;
  fs::path found = find_in(folders, wanted);
  if (found.empty() && wanted.is_absolute()) found = find_in(folders, wanted.filename());
  if (found.empty())
    refuse(dataset, name,
           fmt::format("is virtual, and the file '{}' of its values is missing", file));
  return open_file(found);
}

/// Whether the block that a source gives lies within it.
bool lies_within(Handle const& selection, Shape const& shape) {
  auto const rank = H5Sget_simple_extent_ndims(selection.id());
  if (rank < 0 || static_cast<std::size_t>(rank) != shape.size()) return false;
  Shape first(shape.size()), last(shape.size());
  if (H5Sget_select_bounds(selection.id(), first.data(), last.data()) < 0) return false;
  return std::equal(last.begin(), last.end(), shape.begin(), std::less<>());
}

hsize_t values_of(Shape const& shape) {
  return std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>());
}

/// Adds a selection to another of the same extents.
void add_to(Object const& dataset, Handle const& all, Handle const& selection) {
  auto const rank = static_cast<std::size_t>(H5Sget_simple_extent_ndims(selection.id()));
  if (H5Sget_select_type(selection.id()) == H5S_SEL_ALL) {
    dataset.check(H5Sselect_all(all.id()), "inspecting");
  } else if (H5Sis_regular_hyperslab(selection.id()) > 0) {
    Shape start(rank), stride(rank), count(rank), block(rank);
    dataset.check(H5Sget_regular_hyperslab(selection.id(), start.data(), stride.data(),
                                           count.data(), block.data()),
                  "inspecting");
    dataset.check(H5Sselect_hyperslab(all.id(), H5S_SELECT_OR, start.data(), stride.data(),
                                      count.data(), block.data()),
                  "inspecting");
  } else {
    auto const blocks = dataset.check(H5Sget_select_hyper_nblocks(selection.id()), "inspecting");
    Shape corners(2 * rank * static_cast<std::size_t>(blocks));
    dataset.check(H5Sget_select_hyper_blocklist(selection.id(), 0, static_cast<hsize_t>(blocks),
                                                corners.data()),
                  "inspecting");
    Shape const once(rank, 1);
    for (auto first = corners.begin(); first != corners.end();
         first += 2 * static_cast<std::ptrdiff_t>(rank)) {
      Shape extent(rank);
      for (std::size_t axis = 0; axis < rank; ++axis)
        extent[axis] = first[static_cast<std::ptrdiff_t>(rank + axis)] -
                       first[static_cast<std::ptrdiff_t>(axis)] + 1;
      dataset.check(H5Sselect_hyperslab(all.id(), H5S_SELECT_OR, &*first, nullptr, once.data(),
                                        extent.data()),
                    "inspecting");
    }
  }
}

void require(Object const& dataset, std::string const& name, bool written, int level);

void require_mappings(Object const& dataset, Handle const& creation, Handle const& space,
                      std::string const& name, int level) {
  if (level == most_levels)
    refuse(dataset, name, "is virtual, and so are its sources, in a circle");
  std::size_t count = 0;
  dataset.check(H5Pget_virtual_count(creation.id(), &count), "inspecting");
  Handle const covered = dataset.own(H5Scopy(space.id()), H5Sclose, "inspecting");
  dataset.check(H5Sselect_none(covered.id()), "inspecting");
  for (std::size_t i = 0; i < count; ++i) {
    Handle const target =
        dataset.own(H5Pget_virtual_vspace(creation.id(), i), H5Sclose, "inspecting");
    Handle const selection =
        dataset.own(H5Pget_virtual_srcspace(creation.id(), i), H5Sclose, "inspecting");
    if (H5Sget_select_npoints(target.id()) == static_cast<hssize_t>(H5S_UNLIMITED))
      refuse(dataset, name,
             "is virtual and grows with its sources, so that what is missing cannot be told; "
             "`h5repack` makes an ordinary dataset of it");
    auto const file = text_of(dataset, creation.id(), i, H5Pget_virtual_filename);
    auto const source = text_of(dataset, creation.id(), i, H5Pget_virtual_dsetname);
    Object const home = open_source_file(dataset, name, file);
    if (!home.contains(source))
      refuse(dataset, name,
             fmt::format("is virtual, and its source '{}' is missing in '{}'", source,
                         home.path().string()));
    Object const opened = home.open_dataset(source);
    // Of a whole source there may be no extents in the mapping.
    bool const whole = H5Sget_select_type(selection.id()) == H5S_SEL_ALL;
    auto const taken = static_cast<hsize_t>(H5Sget_select_npoints(target.id()));
    if (hsize_t const has = values_of(opened.shape()); whole && taken != has)
      refuse(
          dataset, name,
          fmt::format("is virtual and takes {} values from its source '{}' in '{}', which has {}",
                      taken, source, home.path().string(), has));
    if (!whole && !lies_within(selection, opened.shape()))
      refuse(dataset, name,
             fmt::format("is virtual and takes more from its source '{}' in '{}' than that has",
                         source, home.path().string()));
    require(opened, source, true, level + 1);
    add_to(dataset, covered, target);
  }
  if (H5Sget_select_npoints(covered.id()) != H5Sget_simple_extent_npoints(space.id()))
    refuse(dataset, name, "is virtual, and some of its values have no source");
}

/// How many chunks of a dataset were written, and how many it has; one that is not chunked is one.
std::pair<hsize_t, hsize_t> parts_of(Object const& dataset, Handle const& creation,
                                     Handle const& space) {
  if (H5Pget_layout(creation.id()) != H5D_CHUNKED) {
    H5D_space_status_t status = H5D_SPACE_STATUS_ALLOCATED;
    dataset.check(H5Dget_space_status(dataset.id(), &status), "inspecting");
    return {status == H5D_SPACE_STATUS_ALLOCATED ? 1 : 0, 1};
  }
  hsize_t there = 0;
  dataset.check(H5Dget_num_chunks(dataset.id(), space.id(), &there), "inspecting");
  Shape const shape = dataset.shape();
  Shape chunk(shape.size());
  dataset.check(H5Pget_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data()),
                "inspecting");
  hsize_t all = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    all *= (shape[axis] + chunk[axis] - 1) / chunk[axis];
  return {there, all};
}

void require(Object const& dataset, std::string const& name, bool written, int level) {
  Handle const space = dataset.own(H5Dget_space(dataset.id()), H5Sclose, "inspecting");
  auto const values = H5Sget_simple_extent_npoints(space.id());
  if (values <= 0) return;
  Handle const creation = dataset.own(H5Dget_create_plist(dataset.id()), H5Pclose, "inspecting");
  if (H5Pget_layout(creation.id()) == H5D_VIRTUAL)
    return require_mappings(dataset, creation, space, name, level);
  require_filters(dataset, creation, name);
  if (H5Pget_external_count(creation.id()) > 0)
    return require_external_files(dataset, creation, name,
                                  static_cast<hsize_t>(values) * H5Tget_size(dataset.type().id()));
  if (!written) return;
  auto const [there, all] = parts_of(dataset, creation, space);
  if (there == 0) refuse(dataset, name, "was created, but no values were ever written to it");
  if (there < all)
    refuse(dataset, name,
           fmt::format("was written in part only: {} of its {} chunks are there", there, all));
}

}  // namespace

void require_sources(Object const& dataset, std::string const& name) {
  require(dataset, name, false, 0);
}

void require_stored(Object const& dataset, std::string const& name) {
  require(dataset, name, true, 0);
}

}  // namespace gridstride::io::hdf5
