#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "support/convert_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using convert::all_finite;
using convert::Stored;

Stream host_stream() { return Stream(Device::open(Backend::cpu)); }

template <class S>
Stored stored(std::vector<S> const& numbers) {
  return {std::as_bytes(std::span(numbers)), number_type_of<S>()};
}

template <class T, class S>
std::vector<T> by_reference(std::vector<S> const& numbers) {
  auto stream = host_stream();
  return test::converted<T>(stream, stored(numbers), numbers.size(), "reference").values;
}

TEST(ConvertReference, IntegersAreThemselves) {
  EXPECT_EQ((by_reference<double, std::int8_t>({-128, 0, 127})),
            (std::vector<double>{-128, 0, 127}));
  EXPECT_EQ((by_reference<float, std::uint8_t>({0, 255})), (std::vector<float>{0, 255}));
  EXPECT_EQ((by_reference<float, std::int16_t>({-32768, 7})), (std::vector<float>{-32768, 7}));
  EXPECT_EQ((by_reference<double, std::uint16_t>({65535})), (std::vector<double>{65535}));
  EXPECT_EQ((by_reference<double, std::int32_t>({-2147483647 - 1, 5})),
            (std::vector<double>{-2147483648.0, 5}));
  EXPECT_EQ((by_reference<double, std::uint32_t>({4294967295U})),
            (std::vector<double>{4294967295.0}));
}

TEST(ConvertReference, WhatIsLongerIsRoundedToNearest) {
  std::int64_t const odd = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ((by_reference<double, std::int64_t>({odd, odd + 2, -odd})),
            (std::vector<double>{0x1p53, 0x1p53 + 4, -0x1p53}));
  EXPECT_EQ((by_reference<double, std::uint64_t>({~std::uint64_t{0}})),
            (std::vector<double>{0x1p64}));
  // Through float64: just above a tie of float32, which is lost on the way.
  std::int64_t const tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  EXPECT_EQ((by_reference<float, std::int64_t>({tie})), (std::vector<float>{0x1p60F}));
  EXPECT_EQ((by_reference<float, double>({1 + 0x1p-25, 1 + 3 * 0x1p-25, 1e-46, -1e300})),
            (std::vector<float>{1, 1 + 0x1p-23F, 0, -std::numeric_limits<float>::infinity()}));
}

TEST(ConvertReference, HalfPrecisionByHand) {
  std::vector<std::uint16_t> const bits = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x8000, 0x3555};
  auto stream = host_stream();
  Stored half{std::as_bytes(std::span(bits)), number_type_called("float16").value()};
  auto const found = test::converted<double>(stream, half, bits.size(), "reference");
  EXPECT_EQ(found.values,
            (std::vector<double>{1, -2, 65504, 0x1p-14, 0x1p-24, -0.0, 0x555 * 0x1p-12}));
  EXPECT_TRUE(std::signbit(found.values[5]));
  EXPECT_EQ(found.first_non_finite, all_finite);
  std::vector<std::uint16_t> const wild = {0x3c00, 0xfc00, 0x7c01};
  half.bytes = std::as_bytes(std::span(wild));
  auto const infinite = test::converted<double>(stream, half, wild.size(), "reference");
  EXPECT_EQ(infinite.first_non_finite, 1);
  EXPECT_EQ(infinite.values[1], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(infinite.values[2]));
}

TEST(ConvertReference, OtherOrderOfBytes) {
  auto stream = host_stream();
  std::vector<std::uint32_t> const bits = {0x0000803f, 0x000000c0};  // 1 and -2 in float32
  NumberType type = number_type_of<float>();
  type.swapped = true;
  auto const found = test::converted<double>(stream, {std::as_bytes(std::span(bits)), type},
                                             bits.size(), "reference");
  EXPECT_EQ(found.values, (std::vector<double>{1, -2}));
}

TEST(ConvertReference, SquaresAreRoundedOnce) {
  auto stream = host_stream();
  std::vector<double> const numbers = {1 + 0x1p-25, -3};
  Stored squares = stored(numbers);
  squares.squares = true;
  auto const found = test::converted<float>(stream, squares, 2, "reference");
  EXPECT_EQ(found.values, (std::vector<float>{1 + 0x1p-23F, 9}));  // in float32 it would be 1
}

TEST(ConvertReference, TheFirstOfSeveralIsKept) {
  auto stream = host_stream();
  float const nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  std::vector<float> const numbers = {1, infinity, 2, nan};
  Stored part = stored(numbers);
  part.first = 5;
  EXPECT_EQ(test::converted<double>(stream, part, 10, "reference").first_non_finite, 6);
}

TEST(ConvertReference, TilesGoToTheirPlaces) {
  // Tiles of 2 x 2 in an array of 3 x 3: those at the ends reach beyond it.
  std::vector<std::int16_t> const numbers = {0, 1, 3, 4, 2, -1, 5, -1, 6, 7, -1, -1, 8, -1, -1, -1};
  auto stream = host_stream();
  Stored tiled = stored(numbers);
  tiled.order = StoredOrder{{1, 3, 3}, {1, 2, 2}, false};
  std::vector<double> counted(9);
  std::iota(counted.begin(), counted.end(), 0.0);
  EXPECT_EQ(test::converted<double>(stream, tiled, 9, "reference").values, counted);
  // The middle of them alone.
  tiled.bytes = tiled.bytes.subspan(2 * 2, 2 * 5);
  tiled.first = 2;
  auto const part = test::converted<double>(stream, tiled, 9, "reference").values;
  EXPECT_EQ(part, (std::vector<double>{-77, -77, 2, 3, 4, 5, -77, -77, -77}));
}

TEST(ConvertReference, FortranOrderIsTurned) {
  std::vector<std::int32_t> const numbers = {0, 3, 1, 4, 2, 5};  // of [[0, 1, 2], [3, 4, 5]]
  auto stream = host_stream();
  Stored turned = stored(numbers);
  turned.order = StoredOrder{{1, 2, 3}, {1, 2, 3}, true};
  EXPECT_EQ(test::converted<float>(stream, turned, 6, "reference").values,
            (std::vector<float>{0, 1, 2, 3, 4, 5}));
  // Of 2 x 3 x 2: the first axis is the fastest.
  std::vector<std::uint8_t> cube(12);
  for (std::size_t z = 0; z < 2; ++z)
    for (std::size_t y = 0; y < 3; ++y)
      for (std::size_t x = 0; x < 2; ++x)
        cube[z + 2 * (y + 3 * x)] = static_cast<std::uint8_t>((z * 3 + y) * 2 + x);
  turned = stored(cube);
  turned.order = StoredOrder{{2, 3, 2}, {2, 3, 2}, true};
  std::vector<float> counted(12);
  std::iota(counted.begin(), counted.end(), 0.0F);
  EXPECT_EQ(test::converted<float>(stream, turned, 12, "reference").values, counted);
}

template <class T>
void compare_rows(NumberType const& type, std::size_t size, std::optional<StoredOrder> order,
                  std::size_t target_size) {
  auto stream = host_stream();
  auto const bytes = test::random_numbers(type, size);
  for (bool const squares : {false, true}) {
    Stored const numbers{bytes, type, 0, order, squares};
    auto const expected = test::converted<T>(stream, numbers, target_size, "reference");
    EXPECT_EQ(expected, test::converted<T>(stream, numbers, target_size, "threads"))
        << name_of(type) << (type.swapped ? " swapped, " : ", ") << size;
    if (type.bytes == sizeof(T) && !order) {
      for (auto const* variant : {"reference", "threads"})
        EXPECT_EQ(expected, test::converted_in_place<T>(stream, numbers, target_size, variant))
            << name_of(type) << " in place, " << size;
    }
    bool const has_infinity = type.kind == NumberKind::real && size > 3 && !order;
    if (has_infinity) {
      EXPECT_EQ(expected.first_non_finite, static_cast<std::int64_t>(size / 3));
    }
  }
}

TEST(ConvertHost, RowsEqualTheReference) {
  for (NumberType const& type : test::all_number_types())
    for (std::size_t const size : {0, 1, 31, 33, 1023, 16384, 16385, 49999}) {
      compare_rows<float>(type, size, {}, size);
      compare_rows<double>(type, size, {}, size);
    }
}

TEST(ConvertHost, RowsEqualTheReferenceInTiles) {
  StoredOrder const order{{7, 31, 37}, {3, 8, 16}, false};
  auto const size = static_cast<std::size_t>(order.tiles() * order.tile_size());
  for (auto const name : {"uint8", "int16", "float32", "float64"})
    compare_rows<float>(number_type_called(name).value(), size, order, 7 * 31 * 37);
}

TEST(Convert, RefusesBadArguments) {
  auto stream = host_stream();
  std::vector<double> target(8);
  std::vector<std::int64_t> found(2);
  std::vector<std::byte> bytes(64);
  auto const call = [&](Stored const& numbers, std::string_view variant = "auto",
                        std::size_t places = 1) {
    return test::refusal([&] {
      convert::convert<double>(stream, numbers, target, std::span(found).first(places), variant);
    });
  };
  NumberType const real = number_type_of<float>();
  EXPECT_EQ(call({std::span(bytes).first(31), real}),
            "convert::convert: 31 bytes are no whole number of float32");
  EXPECT_EQ(call({std::span(bytes).first(36), real}),
            "convert::convert: elements 0 to 9 of 8 are given");
  EXPECT_EQ(call({std::span(bytes).first(8), real, 7}),
            "convert::convert: elements 7 to 9 of 8 are given");
  EXPECT_EQ(call({std::span(bytes).first(8), real, 0, StoredOrder{{1, 3, 3}, {1, 2, 2}}}),
            "convert::convert: an array of 1 x 3 x 3 has not 8 elements");
  EXPECT_EQ(call({std::span(bytes).first(8), real, 0, StoredOrder{{1, 2, 4}, {1, 0, 2}}}),
            "convert::convert: a tile has no elements");
  EXPECT_EQ(call({std::span(bytes).first(8), real}, "fastest"),
            "convert: cpu has no variant 'fastest'");
  EXPECT_EQ(call({std::span(bytes).first(8), real}, "auto", 2),
            "convert::convert: first_non_finite has 2 elements, it needs 1");
  EXPECT_EQ(call({std::as_bytes(std::span(target)).first(32), real}),
            "convert::convert: stored (32 elements) and target (8 elements) overlap");
  auto const own = std::as_bytes(std::span(target));
  EXPECT_EQ(call({own.subspan(8, 16), number_type_of<double>(), 2}),
            "convert::convert: stored (16 elements) and target (8 elements) overlap");
  EXPECT_EQ(call({own.subspan(8, 16), number_type_of<std::int64_t>(), 1}), "nothing");
  EXPECT_EQ(call({std::span(bytes).first(8), real, 6}), "nothing");
}

}  // namespace
}  // namespace gridstride
