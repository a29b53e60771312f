#include "io/dataset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/dataset_numbers.hpp"
#include "io/hdf5.hpp"
#include "io/storage.hpp"

namespace gridstride::io {

namespace {

herr_t collect_dataset(hid_t, char const* name, H5O_info_t const* info, void* names) {
  if (info->type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(names)->push_back(fmt::format("/{}", name));
  return 0;
}

std::vector<std::string> datasets_of(hdf5::Object const& file) {
  std::vector<std::string> names;
  file.check(
      H5Ovisit2(file.id(), H5_INDEX_NAME, H5_ITER_INC, collect_dataset, &names, H5O_INFO_BASIC),
      "listing the datasets");
  return names;
}

[[noreturn]] void fail_missing(hdf5::Object const& file, std::string const& dataset) {
  constexpr std::size_t most_listed = 12;
  std::vector<std::string> const names = datasets_of(file);
  std::string message = fmt::format("there is no dataset '{}'", dataset);
  if (names.empty()) throw IoError(file.path(), message + " (the file holds no datasets)");
  std::vector<std::string_view> const views(names.begin(), names.end());
  auto const shown = std::min(views.size(), most_listed);
  message += fmt::format(" (there {} {}{})", names.size() == 1 ? "is" : "are",
                         fmt::join(views.begin(), views.begin() + static_cast<long>(shown), ", "),
                         shown < views.size() ? ", …" : "");
  std::string const rooted = dataset.starts_with('/') ? dataset : "/" + dataset;
  if (auto const nearest = nearest_name(rooted, views); !nearest.empty())
    message += fmt::format("; did you mean '{}'?", nearest);
  throw IoError(file.path(), message);
}

/// An object that is there: damaged, or of a format that came later.
[[noreturn]] void fail_to_open(hdf5::Object const& file, std::string const& dataset) {
  std::string const reason = hdf5::last_error();
  unsigned major = 0, minor = 0, release = 0;
  file.check(H5get_libversion(&major, &minor, &release), "asking for HDF5's version");
  throw IoError(
      file.path(),
      fmt::format(
          "'{}' cannot be opened by HDF5 {}.{}.{} ({}): it is damaged, or a later HDF5 wrote "
          "it, as with libver='latest'; `h5repack --high=1 OLD NEW` of that one makes it "
          "readable",
          dataset, major, minor, release, reason.empty() ? "unknown reason" : reason));
}

[[noreturn]] void refuse_packed(hdf5::Object const& dataset, std::string const& name,
                                std::string const& attribute, std::string const& value) {
  throw IoError(dataset.path(),
                fmt::format("the numbers of '{}' stand for others, by its attribute {} ({}), "
                            "which is not applied (write the values themselves, as xarray "
                            "has them, into a file of their own)",
                            name, attribute, value));
}

/// Integers of netCDF that have a sign in the file, and none by an attribute, or the other way round.
void require_told_sign(hdf5::Object const& dataset, std::string const& name) {
  std::string const key = "_Unsigned";
  if (!dataset.has_text_attribute(key)) return;
  hdf5::Handle const type = dataset.type();
  if (H5Tget_class(type.id()) != H5T_INTEGER) return;
  std::string const told = dataset.read_text_attribute(key);
  bool const is_unsigned = H5Tget_sign(type.id()) == H5T_SGN_NONE;
  if (told == (is_unsigned ? "false" : "true")) refuse_packed(dataset, name, key, told);
}

/// Numbers of netCDF that stand for others: what is meant is number·scale_factor + add_offset.
void require_unpacked(hdf5::Object const& dataset, std::string const& name) {
  require_told_sign(dataset, name);
  constexpr std::pair<std::string_view, double> plain[] = {{"scale_factor", 1}, {"add_offset", 0}};
  for (auto const& [key, value] : plain) {
    std::string const attribute(key);
    if (!dataset.has_attribute(attribute)) continue;
    if (dataset.has_text_attribute(attribute))
      refuse_packed(dataset, name, attribute,
                    fmt::format("the text '{}'", dataset.read_text_attribute(attribute)));
    auto const told = dataset.read_attribute<double>(attribute);
    if (told.size() != 1 || told[0] != value)
      refuse_packed(dataset, name, attribute, fmt::format("{}", fmt::join(told, ", ")));
  }
}

/// The number that a text is but for blanks around it, if it is one.
std::vector<double> number_of_text(std::string_view text) {
  constexpr std::string_view blank = " \t\n\r";
  auto const first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(blank) + 1 - first);
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return {value};
}

/// The type of numbers, as far as it matters to what they are equal to.
struct KindOfNumbers {
  H5T_class_t kind = H5T_NO_CLASS;
  std::size_t bytes = 0;
  bool has_sign = true;

  KindOfNumbers() = default;
  explicit KindOfNumbers(hid_t type)
      : kind(H5Tget_class(type)),
        bytes(H5Tget_size(type)),
        has_sign(kind != H5T_INTEGER || H5Tget_sign(type) != H5T_SGN_NONE) {}
};

/// The numbers of an attribute, if there is one that has any; some write them as text.
struct AttributeNumbers {
  std::vector<double> values = {};
  KindOfNumbers stored = {};  ///< of no class for text
};

AttributeNumbers numbers_of_attribute(hdf5::Object const& dataset, std::string const& key) {
  if (!dataset.has_attribute(key)) return {};
  if (dataset.has_text_attribute(key)) return {number_of_text(dataset.read_text_attribute(key))};
  constexpr std::string_view what = "reading an attribute";
  auto const attribute =
      dataset.own(H5Aopen(dataset.id(), key.c_str(), H5P_DEFAULT), H5Aclose, what);
  auto const type = dataset.own(H5Aget_type(attribute.id()), H5Tclose, what);
  KindOfNumbers const stored(type.id());
  if (stored.kind != H5T_INTEGER && stored.kind != H5T_FLOAT) return {};
  return {dataset.read_attribute<double>(key), stored};
}

/// A number that says that there is none: as an attribute tells it, and as a dataset holds it.
struct MissingNumber {
  double told, held;
  bool in_float32;  ///< the attribute has it in float32, the dataset in more
  std::string key;  ///< the attribute

  bool is(double value) const {
    return in_float32 ? static_cast<double>(static_cast<float>(value)) == held : value == held;
  }
};

/// A number as a floating-point type has it.
double rounded_to(hdf5::Object const& dataset, hid_t type, double number) {
  std::vector<std::byte> memory(std::max(H5Tget_size(type), sizeof number));
  std::memcpy(memory.data(), &number, sizeof number);
  for (auto const& [from, to] : {std::pair(H5T_NATIVE_DOUBLE, type), {type, H5T_NATIVE_DOUBLE}})
    dataset.check(H5Tconvert(from, to, 1, memory.data(), nullptr, H5P_DEFAULT),
                  "converting a number");
  std::memcpy(&number, memory.data(), sizeof number);
  return number;
}

/// How a dataset holds a number of an attribute: rounded, or with the same bits where integers of one length
/// differ in their sign.
MissingNumber missing_number(hdf5::Object const& dataset, KindOfNumbers const& stored,
                             std::string const& key, double told) {
  hdf5::Handle const type = dataset.type();
  KindOfNumbers const own(type.id());
  MissingNumber missing{told, told, false, key};
  if (own.kind == H5T_FLOAT) {
    missing.in_float32 = stored.kind == H5T_FLOAT && stored.bytes == 4 && own.bytes > 4;
    missing.held = rounded_to(dataset, type.id(), told);
  } else if (stored.kind == H5T_INTEGER && stored.bytes == own.bytes) {
    double const all = std::ldexp(1, static_cast<int>(8 * own.bytes));
    if (!own.has_sign && told < 0) missing.held = told + all;
    if (own.has_sign && told >= all / 2 && !stored.has_sign) missing.held = told - all;
  }
  return missing;
}

/// Calls `visit(start, counts, values)` for blocks of at most some million numbers.
template <class Visit>
void for_each_block(hdf5::Object const& dataset, Visit const& visit) {
  constexpr hsize_t most = 1 << 20;
  hdf5::Shape const shape = dataset.shape();
  if (std::ranges::find(shape, 0U) != shape.end()) return;
  hdf5::Shape extents(shape.size(), 1), start(shape.size(), 0);
  hsize_t size = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    extents[axis] = std::min(shape[axis], std::max<hsize_t>(most / size, 1));
    size *= extents[axis];
    if (extents[axis] < shape[axis]) break;
  }
  std::vector<double> values;
  for (bool more = true; more;) {
    hdf5::Shape counts = extents;
    hsize_t count = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      count *= counts[axis] = std::min(extents[axis], shape[axis] - start[axis]);
    values.resize(count);
    if (shape.empty())
      dataset.read(values.data(), H5T_NATIVE_DOUBLE);
    else
      dataset.read(values.data(), H5T_NATIVE_DOUBLE, start, counts);
    visit(start, counts, values);
    more = false;
    for (std::size_t axis = shape.size(); axis-- > 0 && !more;) {
      start[axis] += extents[axis];
      more = start[axis] < shape[axis];
      if (!more) start[axis] = 0;
    }
  }
}

/// Numbers of netCDF that say that there is none, where these are any: NaN is told by who looks at values.
void require_none_missing(hdf5::Object const& dataset, std::string const& name) {
  std::vector<MissingNumber> missing;
  for (std::string const key : {"_FillValue", "missing_value"}) {
    auto const [values, stored] = numbers_of_attribute(dataset, key);
    for (double const told : values) {
      auto const number = missing_number(dataset, stored, key, told);
      if (std::isfinite(number.held)) missing.push_back(number);
    }
  }
  if (missing.empty()) return;
  for_each_block(dataset, [&](hdf5::Shape place, hdf5::Shape const& counts,
                              std::vector<double> const& values) {
    for (auto const& number : missing) {
      auto const found =
          std::ranges::find_if(values, [&](double value) { return number.is(value); });
      if (found == values.end()) continue;
      auto rest = static_cast<hsize_t>(found - values.begin());
      for (std::size_t axis = place.size(); axis-- > 0;) {
        place[axis] += rest % counts[axis];
        rest /= counts[axis];
      }
      throw IoError(dataset.path(),
                    fmt::format("'{}' has no value at [{}]: {} stands for what is missing, by its "
                                "attribute {} (write a file in which all places have values, as "
                                "xarray's fillna makes)",
                                name, fmt::join(place, ", "), number.told, number.key));
    }
  });
}

hdf5::Object open_existing(hdf5::Object const& file, std::string const& dataset) {
  if (dataset.empty() || !file.contains(dataset)) fail_missing(file, dataset);
  hdf5::Handle const object(H5Oopen(file.id(), dataset.c_str(), H5P_DEFAULT), H5Oclose);
  if (object.id() < 0) fail_to_open(file, dataset);
  H5I_type_t const kind = H5Iget_type(object.id());
  if (kind != H5I_DATASET)
    throw IoError(file.path(), fmt::format("'{}' is a {}, not a dataset", dataset,
                                           kind == H5I_GROUP ? "group" : "type"));
  hdf5::Object opened = file.open_dataset(dataset);
  hdf5::require_stored(opened, dataset);
  require_unpacked(opened, dataset);
  return opened;
}

std::string describe(hid_t type) {
  std::size_t const bits = 8 * H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}int{}", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", bits);
    case H5T_FLOAT:
      return fmt::format("float{}", bits);
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enumeration";
    default:
      return "neither integers nor floating-point numbers";
  }
}

DatasetInfo inspect(hdf5::Object const& dataset) {
  hdf5::Handle const type = dataset.type();
  H5T_class_t const kind = H5Tget_class(type.id());
  auto const shape = dataset.shape();
  hdf5::Handle const space = dataset.own(H5Dget_space(dataset.id()), H5Sclose, "inspecting");
  bool const has_values = H5Sget_simple_extent_type(space.id()) != H5S_NULL;
  return {{shape.begin(), shape.end()},
          has_values && (kind == H5T_INTEGER || kind == H5T_FLOAT),
          has_values ? describe(type.id()) : "nothing"};
}

}  // namespace

DatasetInfo inspect_dataset(std::filesystem::path const& path, std::string const& dataset) {
  hdf5::Object const file = hdf5::open_file(path);
  return inspect(open_existing(file, dataset));
}

void require_values(std::filesystem::path const& path, std::string const& dataset) {
  auto const lock = hdf5::exclusive();
  hdf5::Object const file = hdf5::open_file(path);
  require_none_missing(open_existing(file, dataset), dataset);
}

std::unique_ptr<NumberSource> open_dataset(std::filesystem::path const& path,
                                           std::string const& dataset) {
  auto const lock = hdf5::exclusive();
  hdf5::Object const file = hdf5::open_file(path);
  hdf5::Object const opened = open_existing(file, dataset);
  DatasetInfo const info = inspect(opened);
  if (info.numeric) {
    require_none_missing(opened, dataset);
    return numbers_of(opened, dataset);
  }
  throw IoError(path, fmt::format("'{}' holds no real numbers (it holds {})", dataset, info.type));
}

}  // namespace gridstride::io
