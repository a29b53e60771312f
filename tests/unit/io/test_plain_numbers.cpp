// Files of bare numbers, and those of numpy.save.

#include "io/plain_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "numbers.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

template <class S>
std::string text_of(std::vector<S> const& numbers, bool swapped = false) {
  std::string text(numbers.size() * sizeof(S), '\0');
  std::memcpy(text.data(), numbers.data(), text.size());
  for (std::size_t i = 0; swapped && i < text.size(); i += sizeof(S))
    std::reverse(text.begin() + static_cast<long>(i),
                 text.begin() + static_cast<long>(i + sizeof(S)));
  return text;
}

NumberType type_of(std::string_view name) { return number_type_called(name).value(); }

class PlainNumbers : public testing::Test {
 protected:
  void expect_refusal(RawLayout const& layout, std::vector<std::string> const& parts) {
    expect_io_error([&] { open_raw(path, layout); }, parts);
  }
  /// A file as numpy writes it, of a version of its format.
  void write_npy(std::string const& header, std::string const& numbers, char version = 1) {
    auto const length = static_cast<unsigned>(header.size());
    std::string text = "\x93NUMPY";
    text += version;
    text += '\0';
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(length >> 8 * i);
    write_bytes(npy, text + header + numbers);
  }
  static std::string header(std::string const& descr, std::string const& shape,
                            bool fortran = false) {
    return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}      \n", descr,
                       fortran ? "True" : "False", shape);
  }
  std::vector<double> read_npy() { return values_of(*open_npy(npy)); }

  TemporaryFolder const folder;
  std::filesystem::path const path = folder / "a.bin", npy = folder / "a.npy";
};

TEST_F(PlainNumbers, BareOnesOfEveryType) {
  std::vector<double> const expected = {1, 2, 3, 4, 5, 6};
  auto const expect = [&]<class S>(std::string_view name, S) {
    std::vector<S> const numbers = {1, 2, 3, 4, 5, 6};
    for (bool const swapped : {false, true}) {
      write_bytes(path, "head" + text_of(numbers, swapped) + "tail.");
      auto type = type_of(name);
      type.swapped = swapped && sizeof(S) > 1;
      auto const source = open_raw(path, {type, {2, 3}, 4, 5});
      EXPECT_EQ(source->shape(), (std::vector<std::int64_t>{2, 3}));
      EXPECT_EQ(source->order(), std::nullopt);
      EXPECT_EQ(values_of(*source), expected) << name;
    }
  };
  expect("int8", std::int8_t());
  expect("uint8", std::uint8_t());
  expect("int16", std::int16_t());
  expect("uint16", std::uint16_t());
  expect("int32", std::int32_t());
  expect("uint32", std::uint32_t());
  expect("int64", std::int64_t());
  expect("uint64", std::uint64_t());
  expect("float32", float());
  expect("float64", double());
}

TEST_F(PlainNumbers, TheFileHasExactlyTheBytesThatAreTold) {
  write_bytes(path, std::string(100, '\1'));
  auto const type = type_of("float32");
  expect_refusal({type, {5, 5}, 4, 0}, {"a.bin", "has 100 bytes, 4 too few",
                                        "[5][5] of float32 are 100 bytes, 4 before them"});
  expect_refusal({type, {5, 5}, 0, 8}, {"8 too few", "100 bytes, 8 after them"});
  expect_refusal({type, {4, 5}, 4, 0}, {"16 too many", "`rest: 16` leaves them out"});
  expect_refusal({type, {4, 5}, 4, 6}, {"10 too many", "`rest: 16`"});
  EXPECT_EQ(open_raw(path, {type, {4, 5}, 4, 16})->size(), 20);
  expect_refusal({type, {std::int64_t{1} << 40, std::int64_t{1} << 40}, 0, 0}, {"cannot hold"});
  expect_refusal({type, {25}, std::int64_t{1} << 62, std::int64_t{1} << 62}, {"cannot hold"});
  std::filesystem::remove(path);
  expect_refusal({type, {25}, 0, 0}, {"a.bin", "cannot be opened"});
}

TEST_F(PlainNumbers, AFileThatIsCutMeanwhileIsNamed) {
  write_bytes(path, std::string(80, '\1'));
  auto const source = open_raw(path, {type_of("float64"), {10}, 0, 0});
  std::filesystem::resize_file(path, 75);
  std::vector<double> values(10);
  source->read(0, 9, values.data());
  expect_io_error([&] { source->read(0, 10, values.data()); },
                  {"a.bin", "ends at byte 75", "it had 80 when it was opened"});
  expect_io_error([&] { source->check_unchanged(); }, {"a.bin", "it had 80 bytes, now 75"});
}

TEST_F(PlainNumbers, AFileThatIsWrittenToMeanwhileIsNamed) {
  write_bytes(path, std::string(80, '\1'));
  auto const source = open_raw(path, {type_of("float64"), {10}, 0, 0});
  source->check_unchanged();
  std::filesystem::last_write_time(
      path, std::filesystem::last_write_time(path) + std::chrono::milliseconds(1));
  expect_io_error([&] { source->check_unchanged(); }, {"a.bin", "changed", "written to"});
}

TEST_F(PlainNumbers, NpyOfEveryTypeAndVersion) {
  std::vector<double> const expected = {1, 2, 3, 4, 5, 6};
  auto const expect = [&]<class S>(std::string const& name, S) {
    std::vector<S> const numbers = {1, 2, 3, 4, 5, 6};
    std::string const orders = sizeof(S) == 1 ? "|" : "<>=";
    for (char const order : orders)
      for (char const version : {1, 2, 3}) {
        write_npy(header(order + name, "(2, 3)"), text_of(numbers, order == '>'), version);
        EXPECT_EQ(open_npy(npy)->shape(), (std::vector<std::int64_t>{2, 3}));
        EXPECT_EQ(read_npy(), expected) << order << name;
      }
  };
  expect("i1", std::int8_t());
  expect("u1", std::uint8_t());
  expect("i2", std::int16_t());
  expect("u2", std::uint16_t());
  expect("i4", std::int32_t());
  expect("u4", std::uint32_t());
  expect("i8", std::int64_t());
  expect("u8", std::uint64_t());
  expect("f4", float());
  expect("f8", double());
  write_npy(header("<f2", "(2,)"), text_of<std::uint16_t>({0x3c00, 0xc000}));
  EXPECT_EQ(read_npy(), (std::vector<double>{1, -2}));
}

TEST_F(PlainNumbers, NpyShapes) {
  std::string const one = text_of<double>({7});
  write_npy(header("<f8", "()"), one);
  EXPECT_TRUE(open_npy(npy)->shape().empty());
  EXPECT_EQ(read_npy(), std::vector<double>{7});
  write_npy(header("<f8", "(1,)"), one);
  EXPECT_EQ(open_npy(npy)->shape(), std::vector<std::int64_t>{1});
  write_npy(header("<f8", "(0, 3)"), "");
  EXPECT_EQ(open_npy(npy)->size(), 0);
  write_npy(header("f8", "(1L, 1L)"), one);
  EXPECT_EQ(open_npy(npy)->shape(), (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(read_npy(), std::vector<double>{7});
  write_npy("{'shape': (1,1), 'fortran_order': True, \"descr\": '<f8'}", one);
  EXPECT_EQ(read_npy(), std::vector<double>{7});
}

TEST_F(PlainNumbers, NpyInFortranOrder) {
  std::string const plane = text_of<float>({1, 4, 2, 5, 3, 6});
  write_npy(header("<f4", "(2, 3)", true), plane);
  EXPECT_EQ(read_npy(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  write_npy(header("<f4", "(2, 1, 3)", true), plane);
  EXPECT_EQ(read_npy(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  write_npy(header("<f4", "(6,)", true), plane);
  EXPECT_EQ(read_npy(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  std::vector<std::int16_t> cube(30), sorted(30);
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 5; ++x)
        cube[static_cast<std::size_t>(z + 2 * (y + 3 * x))] =
            static_cast<std::int16_t>((z * 3 + y) * 5 + x);
  write_npy(header("<i2", "(2, 3, 5)", true), text_of(cube));
  auto const values = read_npy();
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(values[i], static_cast<double>(i));
  write_npy(header("<i2", "(5, 3, 2, 1)", true), text_of(cube));
  EXPECT_EQ(open_npy(npy)->size(), 30);
  write_npy(header("|i1", "(2, 2, 2, 2)", true), std::string(16, '\1'));
  expect_io_error([&] { open_npy(npy); }, {"a.npy", "4 axes in Fortran order"});
}

TEST_F(PlainNumbers, NpyOfOtherThingsIsRefused) {
  auto const expect = [&](std::string const& descr, std::string const& what) {
    write_npy(header(descr, "(1,)"), std::string(16, '\0'));
    expect_io_error([&] { open_npy(npy); }, {"a.npy", what, "'" + descr + "'"});
  };
  expect("<c16", "complex numbers");
  expect("|O", "an unknown type");
  expect("|O8", "Python objects");
  expect("|b1", "booleans");
  expect("<U4", "text");
  expect("|S16", "text");
  expect("<M8[s]", "times");
  expect("|V16", "bytes of no type");
  expect("<f16", "float128");
  expect("<i3", "int24");
  write_npy("{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (2,), }",
            std::string(16, '\0'));
  expect_io_error([&] { open_npy(npy); }, {"a.npy", "records of several fields"});
}

TEST_F(PlainNumbers, NpyThatIsDamagedIsRefused) {
  auto const expect = [&](std::string const& text, std::string const& what) {
    write_npy(text, text_of<double>({1, 2}));
    expect_io_error([&] { open_npy(npy); }, {"a.npy", what});
  };
  for (auto const* text :
       {"", "{}", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)",
        "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<c1\xc5', 'fortran_order': False, 'shape': (2,)}"})  // no text to show
    expect(text, "a header that is not numpy's");
  expect(header("<f8", "(3,)"), "has 16 bytes of numbers; [3] of float64 are 24");
  expect(header("<f8", "(1,)"), "has 16 bytes of numbers; [1] of float64 are 8");
  expect(header("<f8", "(4611686018427387904, 4)"), "cannot hold an array");
  write_npy(header("<f8", "(2,)"), text_of<double>({1, 2}), 4);
  expect_io_error([&] { open_npy(npy); }, {"version 4"});
  write_npy(header("<f8", "(2,)"), text_of<double>({1, 2}));
  std::string const whole = read_bytes(npy);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_bytes(npy, whole.substr(0, length));
    expect_io_error([&] { open_npy(npy); }, {"a.npy"});
  }
  write_bytes(npy, "simulation: heat and more");
  expect_io_error([&] { open_npy(npy); }, {"is no .npy file"});
}

}  // namespace
}  // namespace gridstride::io
