#include "io/hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/error.hpp"

namespace gridstride::io::hdf5 {

namespace {

/// Keeps the first, innermost description that says anything.
herr_t keep_first(unsigned, H5E_error2_t const* error, void* kept) {
  auto& line = *static_cast<std::string*>(kept);
  if (line.empty() && error->desc != nullptr) line = error->desc;
  return 0;
}

Handle checked(hid_t id, Handle::Close close) {
  if (id < 0) throw std::bad_alloc();
  return {id, close};
}

herr_t collect_name(hid_t, char const* name, H5L_info_t const*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// Without the zeros that pad a fixed-length text.
std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

/// Reads one text of fixed or variable length through `read_into(type, memory)`.
template <class Read>
std::string read_one_text(Object const& where, Handle const& type, std::string_view what,
                          Read const& read_into) {
  if (H5Tget_class(type.id()) != H5T_STRING)
    throw IoError(where.path(), fmt::format("{} is no text", what));
  if (H5Tis_variable_str(type.id()) <= 0) {
    std::string text(H5Tget_size(type.id()), '\0');
    where.check(read_into(type.id(), text.data()), what);
    return trimmed(std::move(text));
  }
  char* text = nullptr;
  where.check(read_into(type.id(), static_cast<void*>(&text)), what);
  std::string copy = text == nullptr ? "" : text;
  H5free_memory(text);
  return copy;
}

void require_single(Object const& where, Handle const& space, std::string_view what) {
  if (H5Sget_simple_extent_npoints(space.id()) != 1)
    throw IoError(where.path(), fmt::format("{} is no single value", what));
}

}  // namespace

void silence() {
  thread_local bool const silent = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(silent);
}

bool is_safe_for_threads() {
  hbool_t safe = false;
  return H5is_library_threadsafe(&safe) >= 0 && safe;
}

std::unique_lock<std::recursive_mutex> exclusive(bool library_is_safe) {
  static std::recursive_mutex mutex;
  return library_is_safe ? std::unique_lock<std::recursive_mutex>() : std::unique_lock(mutex);
}

std::string last_error() {
  std::string line;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &line);
  std::string_view constexpr quote = "error message = '";
  if (auto const start = line.find(quote); start != std::string::npos) {
    auto const end = line.find('\'', start + quote.size());
    return line.substr(start + quote.size(), end - start - quote.size());
  }
  return line;
}

void Object::fail(std::string_view what) const {
  std::string const reason = last_error();
  throw IoError(path(), reason.empty() ? fmt::format("{} failed", what)
                                       : fmt::format("{} failed ({})", what, reason));
}

hid_t Object::check(hid_t status, std::string_view what) const {
  if (status < 0) fail(what);
  return status;
}

Handle Object::own(hid_t id, Handle::Close close, std::string_view what) const {
  return {check(id, what), close};
}

bool Object::contains(std::string const& name) const {
  std::string link;
  for (std::size_t i = 0; i < name.size(); ++i) {
    link += name[i];
    bool const ends = i + 1 == name.size() || name[i + 1] == '/';
    if (!ends || name[i] == '/') continue;
    if (H5Oexists_by_name(id(), link.c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return true;
}

bool Object::is_group(std::string const& name) const {
  Handle const object =
      own(H5Oopen(id(), name.c_str(), H5P_DEFAULT), H5Oclose, fmt::format("opening '{}'", name));
  return H5Iget_type(object.id()) == H5I_GROUP;
}

Object Object::open_group(std::string const& name) const {
  return {path(), own(H5Gopen2(id(), name.c_str(), H5P_DEFAULT), H5Gclose,
                      fmt::format("opening group '{}'", name))};
}

Object Object::create_group(std::string const& name) const {
  Handle const creation = properties(H5P_GROUP_CREATE);
  keep_no_times(creation);
  return {path(), own(H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                      H5Gclose, fmt::format("creating group '{}'", name))};
}

Object Object::open_dataset(std::string const& name) const {
  return {path(), own(H5Dopen2(id(), name.c_str(), H5P_DEFAULT), H5Dclose,
                      fmt::format("opening dataset '{}'", name))};
}

Object Object::create_dataset(std::string const& name, hid_t type, Handle const& space,
                              hid_t given) const {
  auto const what = fmt::format("creating dataset '{}'", name);
  Handle const creation =
      given == H5P_DEFAULT ? properties(H5P_DATASET_CREATE) : own(H5Pcopy(given), H5Pclose, what);
  keep_no_times(creation);
  for (auto end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1))
    if (auto const group = name.substr(0, end); !contains(group)) create_group(group);
  return {path(), own(H5Dcreate2(id(), name.c_str(), type, space.id(), H5P_DEFAULT, creation.id(),
                                 H5P_DEFAULT),
                      H5Dclose, what)};
}

std::vector<std::string> Object::names() const {
  std::vector<std::string> names;
  check(H5Literate(id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names),
        "listing a group");
  return names;
}

void Object::write_text_attribute(std::string const& name, std::string_view text) const {
  auto const what = fmt::format("writing attribute '{}'", name);
  bool const ascii =
      std::all_of(text.begin(), text.end(), [](unsigned char letter) { return letter < 128; });
  Handle const type = text_type(text.size(), ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8);
  Handle const space = scalar_space();
  Handle const attribute =
      own(H5Acreate2(id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
          what);
  check(H5Awrite(attribute.id(), type.id(), text.empty() ? "" : text.data()), what);
}

template <class T>
void Object::write_attribute_values(std::string const& name, Handle const& space,
                                    T const* values) const {
  auto const what = fmt::format("writing attribute '{}'", name);
  Handle const attribute =
      own(H5Acreate2(id(), name.c_str(), native_type<T>(), space.id(), H5P_DEFAULT, H5P_DEFAULT),
          H5Aclose, what);
  check(H5Awrite(attribute.id(), native_type<T>(), values), what);
}

void Object::write_attribute(std::string const& name, std::int64_t value) const {
  write_attribute_values(name, scalar_space(), &value);
}

template <class T>
void Object::write_list_attribute(std::string const& name, std::span<T const> values) const {
  write_attribute_values(name, simple_space({values.size()}), values.data());
}
template void Object::write_list_attribute(std::string const&, std::span<double const>) const;
template void Object::write_list_attribute(std::string const&, std::span<std::int64_t const>) const;

void Object::update_attribute(std::string const& name, std::int64_t value) const {
  auto const what = fmt::format("writing attribute '{}'", name);
  Handle const attribute = own(H5Aopen(id(), name.c_str(), H5P_DEFAULT), H5Aclose, what);
  check(H5Awrite(attribute.id(), H5T_NATIVE_INT64, &value), what);
}

bool Object::has_attribute(std::string const& name) const {
  return check(H5Aexists(id(), name.c_str()), fmt::format("attribute '{}'", name)) > 0;
}

bool Object::has_text_attribute(std::string const& name) const {
  if (!has_attribute(name)) return false;
  auto const what = fmt::format("attribute '{}'", name);
  Handle const attribute = own(H5Aopen(id(), name.c_str(), H5P_DEFAULT), H5Aclose, what);
  return H5Tget_class(own(H5Aget_type(attribute.id()), H5Tclose, what).id()) == H5T_STRING;
}

std::string Object::read_text_attribute(std::string const& name) const {
  auto const what = fmt::format("attribute '{}'", name);
  Handle const attribute = own(H5Aopen(id(), name.c_str(), H5P_DEFAULT), H5Aclose, what);
  Handle const type = own(H5Aget_type(attribute.id()), H5Tclose, what);
  require_single(*this, own(H5Aget_space(attribute.id()), H5Sclose, what), what);
  return read_one_text(*this, type, what, [&](hid_t memory_type, void* memory) {
    return H5Aread(attribute.id(), memory_type, memory);
  });
}

template <class T>
std::vector<T> Object::read_attribute(std::string const& name) const {
  auto const what = fmt::format("reading attribute '{}'", name);
  Handle const attribute = own(H5Aopen(id(), name.c_str(), H5P_DEFAULT), H5Aclose, what);
  Handle const space = own(H5Aget_space(attribute.id()), H5Sclose, what);
  auto const size = check(H5Sget_simple_extent_npoints(space.id()), what);
  std::vector<T> values(static_cast<std::size_t>(size));
  check(H5Aread(attribute.id(), native_type<T>(), values.data()), what);
  return values;
}

template std::vector<double> Object::read_attribute(std::string const&) const;
template std::vector<std::int64_t> Object::read_attribute(std::string const&) const;

Object Object::write_text(std::string const& name, std::string_view text) const {
  Handle const type = text_type(text.size());
  Object dataset = create_dataset(name, type.id(), scalar_space());
  dataset.write(text.empty() ? "" : text.data(), type.id());
  return dataset;
}

std::string Object::read_text(std::string const& name) const {
  auto const what = fmt::format("dataset '{}'", name);
  Object const dataset = open_dataset(name);
  require_single(dataset, own(H5Dget_space(dataset.id()), H5Sclose, what), what);
  return read_one_text(dataset, dataset.type(), what, [&](hid_t memory_type, void* memory) {
    return H5Dread(dataset.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory);
  });
}

Shape Object::shape() const {
  Handle const space = own(H5Dget_space(id()), H5Sclose, "asking for a shape");
  auto const rank = check(H5Sget_simple_extent_ndims(space.id()), "asking for a shape");
  Shape extents(static_cast<std::size_t>(rank));
  check(H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr), "asking for a shape");
  return extents;
}

Handle Object::type() const { return own(H5Dget_type(id()), H5Tclose, "asking for a type"); }

void Object::resize(Shape const& shape) const {
  check(H5Dset_extent(id(), shape.data()), "growing a dataset");
}

Handle Object::select(Shape const& start, Shape const& count) const {
  Handle space = own(H5Dget_space(id()), H5Sclose, "selecting a block");
  check(
      H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
      "selecting a block");
  if (H5Sselect_valid(space.id()) <= 0) fail("selecting a block");
  return space;
}

void Object::write(void const* data, hid_t memory_type) const {
  check(H5Dwrite(id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "writing");
}

void Object::write(void const* data, hid_t memory_type, Shape const& start,
                   Shape const& count) const {
  Handle const target = select(start, count);
  Handle const source = simple_space(count);
  check(H5Dwrite(id(), memory_type, source.id(), target.id(), H5P_DEFAULT, data), "writing");
}

void Object::read(void* data, hid_t memory_type) const {
  check(H5Dread(id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "reading");
}

void Object::read(void* data, hid_t memory_type, Shape const& start, Shape const& count) const {
  Handle const source = select(start, count);
  Handle const target = simple_space(count);
  check(H5Dread(id(), memory_type, target.id(), source.id(), H5P_DEFAULT, data), "reading");
}

Object open_file(std::filesystem::path const& path) {
  silence();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw IoError(path, "there is no such file");
  if (std::filesystem::is_directory(path, ignored))
    throw IoError(path, "is a folder, not an HDF5 file");
  hid_t const id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (id < 0) {
    std::string const reason = last_error();
    if (H5Fis_hdf5(path.c_str()) == 0) throw IoError(path, "is no HDF5 file");
    throw IoError(path, fmt::format("cannot be opened ({})", reason));
  }
  return {path, Handle(id, H5Fclose)};
}

Handle simple_space(Shape const& shape) {
  return checked(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
}

Handle growing_space(Shape const& shape) {
  Shape largest = shape;
  largest.front() = H5S_UNLIMITED;
  return checked(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), largest.data()),
                 H5Sclose);
}

Handle scalar_space() { return checked(H5Screate(H5S_SCALAR), H5Sclose); }

Handle text_type(std::size_t size, H5T_cset_t characters) {
  Handle type = checked(H5Tcopy(H5T_C_S1), H5Tclose);
  if (H5Tset_size(type.id(), size == 0 ? 1 : size) < 0 ||
      H5Tset_strpad(type.id(), H5T_STR_NULLPAD) < 0 || H5Tset_cset(type.id(), characters) < 0)
    throw std::bad_alloc();
  return type;
}

Handle properties(hid_t list_class) { return checked(H5Pcreate(list_class), H5Pclose); }

void keep_no_times(Handle const& creation) {
  if (H5Pset_obj_track_times(creation.id(), false) < 0) throw std::bad_alloc();
}

}  // namespace gridstride::io::hdf5

namespace gridstride::io {

bool serves_several_runs() { return hdf5::is_safe_for_threads(); }

}  // namespace gridstride::io
