// The format of numpy.save: "\x93NUMPY", two bytes of version, the header's length, and the header,
// a Python dictionary such as
//   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
// Source: numpy.lib.format.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/plain_numbers.hpp"

namespace gridstride::io {

namespace {

constexpr char const* not_numpys = "has a header that is not numpy's";

struct NpyHeader {
  std::string descr;
  bool has_descr = false, fortran = false, has_fortran = false, has_shape = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header's dictionary from left to right.
class NpyHeaderReader {
 public:
  NpyHeaderReader(std::filesystem::path const& path, std::string_view text)
      : path_(path), left_(text) {}

  NpyHeader read() {
    NpyHeader header;
    expect('{');
    while (!take('}')) {
      std::string const key = quoted();
      expect(':');
      if (key == "descr") {
        read_descr(header);
      } else if (key == "fortran_order") {
        header.fortran = truth();
        header.has_fortran = true;
      } else if (key == "shape") {
        header.shape = extents();
        header.has_shape = true;
      } else {
        fail();
      }
      if (!take(',') && !next_is('}')) fail();
    }
    skip();
    if (!left_.empty() || !header.has_descr || !header.has_fortran || !header.has_shape) fail();
    return header;
  }

 private:
  [[noreturn]] void fail() const { throw IoError(path_, not_numpys); }

  void skip() { left_.remove_prefix(std::min(left_.find_first_not_of(" \n"), left_.size())); }
  bool next_is(char c) {
    skip();
    return left_.starts_with(c);
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string quoted() {
    skip();
    char const quote = left_.empty() ? '\0' : left_.front();
    if (quote != '\'' && quote != '"') fail();
    auto const end = left_.find(quote, 1);
    if (end == left_.npos) fail();
    std::string text(left_.substr(1, end - 1));
    left_.remove_prefix(end + 1);
    return text;
  }
  void read_descr(NpyHeader& header) {
    if (next_is('['))
      throw IoError(path_,
                    "holds records of several fields (numbers are needed: save one field, "
                    "as a['u'])");
    header.descr = quoted();
    header.has_descr = true;
  }
  bool truth() {
    skip();
    for (auto const& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!left_.starts_with(word)) continue;
      left_.remove_prefix(word.size());
      return value;
    }
    fail();
  }
  std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> list;
    expect('(');
    while (!take(')')) {
      skip();
      std::int64_t extent = 0;
      auto const [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), extent);
      if (error != std::errc() || extent < 0) fail();
      left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
      take('L');  // as Python 2 wrote long ones
      list.push_back(extent);
      if (!take(',') && !next_is(')')) fail();
    }
    return list;
  }

  std::filesystem::path const& path_;
  std::string_view left_;
};

/// What numpy calls the kinds of its types that are no real numbers.
std::string_view kind_of(char letter) {
  constexpr std::pair<char, std::string_view> kinds[] = {
      {'b', "booleans (a.astype('u1') makes numbers of them)"},
      {'c', "complex numbers (a.real and a.imag are real ones)"},
      {'m', "differences of times"},
      {'M', "times"},
      {'O', "Python objects"},
      {'S', "text"},
      {'U', "text"},
      {'V', "bytes of no type"}};
  for (auto const& [name, kind] : kinds)
    if (name == letter) return kind;
  return "an unknown type";
}

/// Of a type without a byte order, as `f8`, that of the machine is meant.
NumberType type_of(std::filesystem::path const& path, std::string descr) {
  auto const is_plain = [](char letter) { return letter > ' ' && letter <= '~'; };
  if (!std::ranges::all_of(descr, is_plain)) throw IoError(path, not_numpys);
  auto const refuse = [&](std::string_view what) {
    throw IoError(path, fmt::format("holds {}: '{}' (real numbers are needed)", what, descr));
  };
  if (descr.size() > 1 && std::string_view("iuf").find(descr[0]) != std::string_view::npos)
    descr.insert(0, 1, '=');
  if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    refuse("an unknown type");
  int bytes = 0;
  auto const [end, error] = std::from_chars(&descr[2], descr.data() + descr.size(), bytes);
  if (error != std::errc() || end != descr.data() + descr.size()) refuse(kind_of(descr[1]));
  std::string_view const kind = descr[1] == 'i'   ? "int"
                                : descr[1] == 'u' ? "uint"
                                : descr[1] == 'f' ? "float"
                                                  : "";
  if (kind.empty()) refuse(kind_of(descr[1]));
  auto type = number_type_called(fmt::format("{}{}", kind, 8 * bytes));
  if (!type) refuse(fmt::format("{}{}", kind, 8LL * bytes));
  type->swapped = descr[0] == '>' && bytes > 1;
  return *type;
}

}  // namespace

std::unique_ptr<NumberSource> open_npy(std::filesystem::path const& path) {
  constexpr std::string_view magic = "\x93NUMPY";
  constexpr std::int64_t most_header_bytes = 1 << 20;
  InputFile file(path);
  std::array<char, 12> start = {};
  auto const refuse = [&](std::string_view why) {
    throw IoError(path, fmt::format("is no .npy file ({})", why));
  };
  if (file.bytes() < static_cast<std::int64_t>(start.size())) refuse("it is too short");
  file.read(0, std::as_writable_bytes(std::span(start)));
  if (!std::string_view(start.data(), start.size()).starts_with(magic))
    refuse("it does not begin as one");
  int const version = start[6];
  if (version < 1 || version > 3)
    throw IoError(path, fmt::format("is of version {} of the .npy format (1 to 3 are known)",
                                    static_cast<int>(static_cast<unsigned char>(start[6]))));
  int const length_bytes = version == 1 ? 2 : 4;
  std::int64_t length = 0;
  for (int i = length_bytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(start[8 + static_cast<std::size_t>(i)]);
  std::int64_t const begin = 8 + length_bytes;
  if (length > most_header_bytes || begin + length > file.bytes()) refuse("its header is cut");
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(begin, std::as_writable_bytes(std::span(text)));
  NpyHeader const header = NpyHeaderReader(path, text).read();
  NumberType const type = type_of(path, header.descr);
  std::int64_t const there = file.bytes() - begin - length;
  std::int64_t const needed = bytes_of(path, type, header.shape);
  if (there != needed)
    throw IoError(path, fmt::format("has {} bytes of numbers; {} of {} are {}", there,
                                    format_shape(header.shape), name_of(type), needed));
  return plain_numbers(std::move(file), begin + length, type, header.shape, header.fortran);
}

}  // namespace gridstride::io
