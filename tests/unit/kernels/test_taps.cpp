#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/convolve/taps.hpp"

namespace gridstride::convolve {
namespace {

Taps made(std::string const& filter, std::vector<double> const& arguments) {
  auto const whole = [&](std::size_t i) { return static_cast<int>(arguments[i]); };
  if (filter == "gaussian") return gaussian(arguments[0], whole(1), arguments[2]);
  if (filter == "derivative") return central_difference(whole(0), whole(1));
  return savitzky_golay(whole(0), whole(1), whole(2));
}

/// Values of scipy, and of rational arithmetic: tools/make_ndimage_reference.py.
TEST(Taps, EqualStoredValues) {
  std::ifstream file(GRIDSTRIDE_SOURCE_DIR "/tests/data/ndimage_filters.json");
  auto const stored = nlohmann::json::parse(file);
  int compared = 0;
  for (auto const& entry : stored.at("taps")) {
    auto const filter = entry.at("filter").get<std::string>();
    auto const taps = made(filter, entry.at("arguments").get<std::vector<double>>());
    auto const expected = entry.at("taps").get<std::vector<double>>();
    ASSERT_EQ(taps.values.size(), expected.size()) << entry.at("arguments");
    EXPECT_EQ(taps.center, std::ssize(expected) / 2);
    double largest = 0;
    for (double const tap : expected) largest = std::max(largest, std::fabs(tap));
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_NEAR(taps.values[k], expected[k], 1e-12 * largest)
          << filter << " " << entry.at("arguments") << ", tap " << k;
    ++compared;
  }
  EXPECT_GE(compared, 19);
}

TEST(Taps, OfTextbooks) {
  auto const values = [](Taps const& taps, double scale) {
    std::vector<double> scaled;
    for (double const tap : taps.values) scaled.push_back(std::round(tap * scale * 1e9) / 1e9);
    return scaled;
  };
  using Doubles = std::vector<double>;
  // Savitzky and Golay's tables, and the central differences of second order.
  EXPECT_EQ(values(savitzky_golay(5, 2, 0), 35), (Doubles{-3, 12, 17, 12, -3}));
  EXPECT_EQ(values(savitzky_golay(7, 3, 0), 21), (Doubles{-2, 3, 6, 7, 6, 3, -2}));
  EXPECT_EQ(values(savitzky_golay(5, 2, 1), 10), (Doubles{2, 1, 0, -1, -2}));
  EXPECT_EQ(values(central_difference(1, 2), 2), (Doubles{1, 0, -1}));
  EXPECT_EQ(values(central_difference(2, 4), 12), (Doubles{-1, 16, -30, 16, -1}));
}

TEST(Taps, OfABoxHaveTheirOrigin) {
  EXPECT_EQ(box(4, 0).values, (std::vector<double>(4, 0.25)));
  // The mean of i - 2 … i + 1, then of i - 3 … i and of i … i + 3.
  EXPECT_EQ(box(4, 0).center, 1);
  EXPECT_EQ(box(4, 1).center, 0);
  EXPECT_EQ(box(4, -2).center, 3);
  EXPECT_EQ(box(5, 0).center, 2);
}

TEST(Taps, KeepWhatTheyShould) {
  auto const moment = [](Taps const& taps, int power) {
    double sum = 0;
    for (std::int64_t k = 0; k < std::ssize(taps.values); ++k)
      sum += taps.values[static_cast<std::size_t>(k)] *
             std::pow(static_cast<double>(taps.center - k), power);
    return sum;
  };
  // The sum of a smoothing filter is 1; a wide fit of degree 3 keeps moments up to the third.
  EXPECT_NEAR(moment(gaussian(20, 0, 4), 0), 1, 1e-14);
  auto const fit = savitzky_golay(1001, 3, 0);
  EXPECT_NEAR(moment(fit, 0), 1, 1e-12);
  for (int power = 1; power <= 3; ++power)
    EXPECT_NEAR(moment(fit, power) / std::pow(500.0, power), 0, 1e-12) << power;
}

TEST(Taps, RefuseWhatIsNoFilter) {
  EXPECT_THROW(gaussian(0, 0, 4), std::invalid_argument);
  EXPECT_THROW(gaussian(-1, 0, 4), std::invalid_argument);
  EXPECT_THROW(gaussian(1, -1, 4), std::invalid_argument);
  EXPECT_THROW(gaussian(1e5, 0, 4), std::invalid_argument);
  EXPECT_THROW(gaussian(std::nan(""), 0, 4), std::invalid_argument);
  EXPECT_THROW(box(0, 0), std::invalid_argument);
  EXPECT_THROW(box(4, 2), std::invalid_argument);
  EXPECT_THROW(box(4, -3), std::invalid_argument);
  EXPECT_THROW(central_difference(0, 2), std::invalid_argument);
  EXPECT_THROW(central_difference(1, 3), std::invalid_argument);
  EXPECT_THROW(central_difference(1, 18), std::invalid_argument);
  EXPECT_THROW(savitzky_golay(4, 2, 0), std::invalid_argument);
  EXPECT_THROW(savitzky_golay(5, 5, 0), std::invalid_argument);
  EXPECT_THROW(savitzky_golay(5, 2, 3), std::invalid_argument);
  EXPECT_THROW(savitzky_golay(65537, 2, 0), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride::convolve
