#include <gtest/gtest.h>

#include <stdexcept>

#include "support/histogram_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

constexpr int rows_of_cuda = 4;

/// Every row against the reference, with arrays that begin at and beside a boundary of 16 bytes.
template <class T>
void compare_rows(std::int64_t size) {
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  int compared = 0;
  for (auto const& one : test::histogram_cases_of<T>(size)) {
    test::HistogramProblem<T> reference(host, one);
    auto const even = reference.count_even("reference");
    auto const edges = reference.count_edges("reference");
    auto const even_sums = reference.weigh_even("reference");
    auto const edge_sums = reference.weigh_edges("reference");
    for (std::size_t const offset : {0, 1}) {
      test::HistogramProblem<T> problem(device, one, offset);
      for (auto const& row : histogram::variants<T>()) {
        if (row.backend != Backend::cuda) continue;
        SCOPED_TRACE(std::string(row.name) + ", " + one.name);
        EXPECT_EQ(problem.count_even(row.name), even);
        EXPECT_EQ(problem.count_edges(row.name), edges);
        ++compared;
        if (row.name == "cub") continue;
        EXPECT_EQ(problem.weigh_even(row.name), even_sums);
        EXPECT_EQ(problem.weigh_edges(row.name), edge_sums);
      }
    }
  }
  EXPECT_EQ(compared, 8 * 2 * rows_of_cuda);
}

TEST(HistogramGpu, RowsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const size : test::histogram_sizes) compare_rows<float>(size);
}

TEST(HistogramGpu, RowsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const size : test::histogram_sizes) compare_rows<double>(size);
}

TEST(HistogramGpu, EvenEdgesAndNumbersEqualAnyEdges) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (auto const& row : histogram::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    test::expect_even_edges<float>(stream, row.name);
    test::expect_even_edges<double>(stream, row.name);
    if (row.name == "cub") continue;
    test::expect_numbers<float>(stream, row.name);
    test::expect_numbers<double>(stream, row.name);
  }
}

TEST(HistogramGpu, LargeRowsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_rows<float>(test::large_histogram_size);
}

TEST(HistogramGpu, LargeRowsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_rows<double>(test::large_histogram_size);
}

void compare_bytes(std::int64_t size) {
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  for (unsigned const distinct : {1u, 3u, 256u}) {
    auto const bytes = test::random_bytes(size, distinct);
    auto const expected = test::count_bytes(host, bytes, "reference");
    for (auto const& row : histogram::variants<std::uint8_t>()) {
      if (row.backend != Backend::cuda) continue;
      for (std::size_t const offset : {0, 1, 15})
        EXPECT_EQ(test::count_bytes(device, bytes, row.name, offset), expected)
            << row.name << ", " << size << " bytes, " << distinct << " distinct";
    }
  }
}

TEST(HistogramGpu, BytesEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const size : test::histogram_sizes) compare_bytes(size);
}

TEST(HistogramGpu, LargeBytesEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_bytes(test::large_histogram_size);
}

TEST(HistogramGpu, LargeBeyondTwoToThe31Bytes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  // A mebibyte again and again, and seven bytes more.
  auto const chunk = test::random_bytes(1 << 20);
  auto const of_chunk = test::count_bytes(host, chunk, "reference");
  std::size_t const repeated = std::size_t{1} << 31;
  Buffer<std::uint8_t> input(device, MemorySpace::device, repeated + 7);
  copy_async(input.span().first(chunk.size()), std::span(chunk), device);
  for (std::size_t filled = chunk.size(); filled < repeated; filled *= 2)
    copy_async(input.span().subspan(filled, filled), input.span().first(filled), device);
  std::vector<std::uint8_t> const tail(7, 200);
  copy_async(input.span().subspan(repeated), std::span(tail), device);

  for (auto const& row : histogram::variants<std::uint8_t>()) {
    if (row.backend != Backend::cuda) continue;
    // Additions in global memory are slow: an eighth is enough.
    std::size_t const begin = row.name == "global_atomic" ? repeated / 8 * 7 : 0;
    auto const counts = test::results_of<std::int64_t>(device, 256, [&](auto results) {
      histogram::count_bytes(device, std::span<std::uint8_t const>(input.span()).subspan(begin),
                             results, row.name);
    });
    auto expected = of_chunk;
    for (auto& count : expected)
      count *= static_cast<std::int64_t>((repeated - begin) / chunk.size());
    expected[200] += 7;
    EXPECT_EQ(counts, expected) << row.name;
  }
}

TEST(HistogramGpu, TheSameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  for (int const bins : {64, histogram::max_bins}) {
    auto one = test::histogram_case<double>(test::HistogramData::random, 20011, bins, -1, 1);
    // Weights of all magnitudes, whose sum in float64 depends on the order.
    std::mt19937_64 generator(2);
    for (auto& w : one.weights) w = test::random_weight<double>(generator, -23) / (generator() | 1);
    test::HistogramProblem<double> problem(device, one);
    auto const counts = problem.count_even("shared_atomic");
    auto const sums = problem.weigh_even("shared_atomic");
    for (auto const& row : histogram::variants<double>()) {
      if (row.backend != Backend::cuda) continue;
      for (int run = 0; run < 100; ++run) {
        ASSERT_EQ(problem.count_even(row.name), counts) << row.name;
        if (row.name != "cub") {
          ASSERT_EQ(problem.weigh_even(row.name), sums) << row.name;
        }
      }
    }
  }
}

TEST(HistogramGpu, RowsCanBeCaptured) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  auto const one = test::histogram_case<float>(test::HistogramData::random, 1025, 64, -1, 1);
  auto const expected = test::HistogramProblem<float>(host, one).weigh_even("reference");
  auto const expected_counts = test::HistogramProblem<float>(host, one).count_even("reference");
  test::DeviceCopy<float> const values(device, one.values), weights(device, one.weights);
  Buffer<double> sums(device, MemorySpace::device, 64);
  Buffer<std::int64_t> counts(device, MemorySpace::device, 64);
  for (auto const& row : histogram::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    bool const weighs = row.name != "cub";
    auto const graph = Graph::capture(device, [&] {
      histogram::count_even(device, values.span(), -1.0f, 1.0f, counts.span(), row.name);
      if (weighs) {
        histogram::weigh_even(device, values.span(), weights.span(), -1.0f, 1.0f, sums.span(),
                              row.name);
      }
    });
    for (int launch = 0; launch < 2; ++launch) {
      zero_async(counts.span(), device);
      zero_async(sums.span(), device);
      graph.launch(device);
      EXPECT_EQ(test::to_host(counts.span(), device), expected_counts) << row.name;
      if (weighs) {
        EXPECT_EQ(test::bits_of(test::to_host(sums.span(), device)), expected) << row.name;
      }
    }
  }
}

TEST(HistogramGpu, CubRefusesWeights) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  for (std::int64_t const size : {0, 10}) {
    auto const one = test::histogram_case<float>(test::HistogramData::random, size, 4, 0, 1);
    test::HistogramProblem<float> problem(device, one);
    try {
      problem.weigh_even("cub");
      ADD_FAILURE() << "no error";
    } catch (std::invalid_argument const& error) {
      EXPECT_STREQ(error.what(), "histogram: variant 'cub' takes no weights");
    }
  }
}

}  // namespace
}  // namespace gridstride
