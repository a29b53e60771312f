#include "core/processors.hpp"
#include "kernels/matmul/matmul.hpp"

#include <gtest/gtest.h>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/matmul_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using test::MatmulCase;

/// C after the product of matrices without gaps.
template <class T>
std::vector<T> product(T alpha, std::vector<T> a, std::int64_t a_rows, Op op_a, std::vector<T> b,
                       std::int64_t b_rows, Op op_b, T beta, std::vector<T> c,
                       std::int64_t c_rows) {
  Stream stream(Device::open(Backend::cpu));
  auto const matrix = [](std::vector<T>& of, std::int64_t rows) {
    return Matrix<T>(of.data(), rows, static_cast<std::int64_t>(of.size()) / rows);
  };
  matmul::multiply<T>(stream, alpha, {matrix(a, a_rows), op_a}, {matrix(b, b_rows), op_b}, beta,
                      matrix(c, c_rows), "reference");
  return c;
}

template <class T>
class MatmulReference : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(MatmulReference, Types);

TYPED_TEST(MatmulReference, ByHand) {
  using Values = std::vector<TypeParam>;
  Values const a = {1, 2, 3, 4, 5, 6};     // 2 x 3, or 3 x 2
  Values const b = {7, 8, 9, 10, 11, 12};  // 3 x 2, or 2 x 3
  Values const none(4), all(9);
  auto const n = Op::none, t = Op::transpose;
  EXPECT_EQ(product<TypeParam>(1, a, 2, n, b, 3, n, 0, none, 2), (Values{58, 64, 139, 154}));
  EXPECT_EQ(product<TypeParam>(1, a, 3, t, b, 3, n, 0, none, 2), (Values{89, 98, 116, 128}));
  EXPECT_EQ(product<TypeParam>(1, a, 2, n, b, 2, t, 0, none, 2), (Values{50, 68, 122, 167}));
  EXPECT_EQ(product<TypeParam>(1, a, 3, t, b, 2, t, 0, none, 2), (Values{76, 103, 100, 136}));
  EXPECT_EQ(product<TypeParam>(1, a, 3, n, b, 2, n, 0, all, 3),
            (Values{27, 30, 33, 61, 68, 75, 95, 106, 117}));
  EXPECT_EQ(product<TypeParam>(-1, a, 2, n, b, 3, n, 1, {1, 2, 3, 4}, 2),
            (Values{-57, -62, -136, -150}));
  EXPECT_EQ(product<TypeParam>(0.5, a, 2, n, b, 3, n, -2, {1, 2, 3, 4}, 2),
            (Values{27, 28, 63.5, 69}));
}

TYPED_TEST(MatmulReference, ZeroFactorsHideWhatTheyMultiply) {
  using Values = std::vector<TypeParam>;
  auto const nan = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_EQ(product<TypeParam>(1, {1, 2}, 1, Op::none, {3, 4}, 2, Op::none, 0, {nan}, 1),
            Values{11});
  EXPECT_EQ(product<TypeParam>(0, {nan, 2}, 1, Op::none, {3, nan}, 2, Op::none, 2, {5}, 1),
            Values{10});
  EXPECT_EQ(product<TypeParam>(0, {nan, 2}, 1, Op::none, {3, nan}, 2, Op::none, 0, {nan}, 1),
            Values{0});
}

TYPED_TEST(MatmulReference, NothingToAdd) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cpu));
  std::vector<T> c = {1, 2, 3, 4};
  Matrix<T> const nothing_beside(nullptr, 2, 0), nothing_above(nullptr, 0, 2), nothing;
  for (auto const name : {"auto", "reference", "threads"}) {
    matmul::multiply<T>(stream, 1, nothing_beside, nothing_above, 2, Matrix<T>(c.data(), 2, 2),
                        name);
    matmul::multiply<T>(stream, 1, nothing_beside, nothing, 3, nothing_beside, name);
  }
  EXPECT_EQ(c, (std::vector<T>{8, 16, 24, 32}));
}

template <class T>
class MatmulHost : public testing::Test {};
TYPED_TEST_SUITE(MatmulHost, Types);

TYPED_TEST(MatmulHost, VariantsEqualTheReference) {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (auto const& one : test::small_matmul_cases(test::matmul_sizes))
    test::compare_products<TypeParam>(stream, one, compared);
  // More than one block of rows and columns, and piece of k, in `threads`.
  auto const n = Op::none, t = Op::transpose;
  for (auto const& one :
       {MatmulCase{150, 140, 300, n, n, 1, 1}, MatmulCase{289, 65, 257, t, n, -1, 0},
        MatmulCase{145, 257, 256, n, t, 0.5, 0.5}, MatmulCase{5, 131, 777, t, t, 1, 0}})
    test::compare_products<TypeParam>(stream, one, compared);
  EXPECT_GE(compared, (12 * 12 * 12 + 4) * 2);
}

TYPED_TEST(MatmulHost, BitsOfThreadsDoNotDependOnTheirNumber) {
  Stream stream(Device::open(Backend::cpu));
  MatmulCase const one{301, 270, 515};
  test::MatmulData<TypeParam> const data(one);
  int const before = host_threads();
  auto const with = [&](int count) {
    set_host_threads(count);
    auto c = test::MatmulOnDevice<TypeParam>(stream, one, data).product("threads");
    set_host_threads(before);
    return c;
  };
  auto const alone = with(1);
  for (int const count : {2, 3, 7}) EXPECT_TRUE(test::same_bits(alone, with(count))) << count;
}

/// What is said of A, B and C of these sizes.
std::string refusal_of(matmul::Operand<float> a, matmul::Operand<float> b, Matrix<float> c,
                       std::string_view variant = "auto") {
  Stream stream(Device::open(Backend::cpu));
  return test::refusal([&] { matmul::multiply<float>(stream, 1, a, b, 0, c, variant); });
}

TEST(Matmul, RefusesBadShapes) {
  std::vector<float> x(100), y(100), z(100, 1);
  auto const a = [&](auto... sizes) { return Matrix<float>(x.data(), sizes...); };
  auto const b = [&](auto... sizes) { return Matrix<float>(y.data(), sizes...); };
  auto const c = [&](auto... sizes) { return Matrix<float>(z.data(), sizes...); };
  EXPECT_EQ(refusal_of(a(3, 4), b(5, 2), c(3, 2)),
            "multiply: op(A) is 3 x 4 and op(B) is 5 x 2 (the inner sizes must agree)");
  EXPECT_EQ(refusal_of({a(3, 4), Op::transpose}, b(4, 2), c(3, 2)),
            "multiply: op(A) is 4 x 3 and op(B) is 4 x 2 (the inner sizes must agree)");
  EXPECT_EQ(refusal_of(a(3, 4), b(4, 2), c(2, 3)), "multiply: C is 2 x 3, it needs 3 x 2");
  EXPECT_EQ(refusal_of(a(3, 4), {b(4, 2), Op::transpose}, c(3, 2)),
            "multiply: op(A) is 3 x 4 and op(B) is 2 x 4 (the inner sizes must agree)");
  EXPECT_EQ(refusal_of(a(3, 4, 3), b(4, 2), c(3, 2)),
            "multiply: A has 4 columns, its leading dimension 3 is less");
  EXPECT_EQ(refusal_of(a(3, 4), b(4, 2), c(3, 2, 1)),
            "multiply: C has 2 columns, its leading dimension 1 is less");
  EXPECT_EQ(refusal_of(a(3, 4), b(-4, 2), c(3, 2)),
            "multiply: B is -4 x 2 (sizes are not negative)");
  EXPECT_EQ(refusal_of(a(3, 4), b(4, 2), c(3, 2), "fastest"),
            "matmul: cpu has no variant 'fastest'");
  EXPECT_EQ(refusal_of(a(0, 4), b(4, 2), c(0, 2), "naive"), "matmul: cpu has no variant 'naive'");
  EXPECT_EQ(z, std::vector<float>(100, 1));
}

TEST(Matmul, RefusesSharedMemory) {
  std::vector<float> x(100), y(100);
  Matrix<float> const all(x.data(), 10, 10);
  Matrix<float> const other(y.data(), 2, 2);
  EXPECT_EQ(refusal_of(all.block(0, 0, 2, 2), other, all.block(1, 1, 2, 2)),
            "multiply: A (2 x 2) and C (2 x 2) share memory");
  EXPECT_EQ(refusal_of(other, all.block(4, 5, 2, 2), all.block(3, 4, 2, 2)),
            "multiply: B (2 x 2) and C (2 x 2) share memory");
  // Rows that begin at the end of the other's rows and go on in the next.
  EXPECT_EQ(refusal_of(other, all.block(1, 0, 2, 2), Matrix<float>(x.data() + 9, 2, 2, 10)),
            "multiply: B (2 x 2) and C (2 x 2) share memory");
  EXPECT_EQ(refusal_of(all.block(0, 0, 2, 2), other, Matrix<float>(x.data() + 5, 2, 2, 4)),
            "multiply: A (2 x 2) and C (2 x 2) share memory");
  EXPECT_EQ(refusal_of(all.block(0, 0, 2, 2), all.block(1, 1, 2, 2), other), "nothing");
  EXPECT_EQ(refusal_of(all.block(0, 0, 2, 2), all.block(0, 2, 2, 2), all.block(0, 4, 2, 2)),
            "nothing");
  EXPECT_EQ(refusal_of(all.block(2, 0, 2, 2), all.block(0, 2, 2, 2), all.block(2, 2, 2, 2)),
            "nothing");
}

TEST(Matmul, BlocksOfOneMatrix) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const name : test::matmul_variants<double>(Backend::cpu)) {
    std::vector<double> x = {1, 2, 3,  //
                             4, 5, 6,  //
                             7, 8, 9};
    Matrix<double> const all(x.data(), 3, 3);
    matmul::multiply<double>(stream, -1, all.block(1, 0, 2, 1), all.block(0, 1, 1, 2), 1,
                             all.block(1, 1, 2, 2), name);
    EXPECT_EQ(x, (std::vector<double>{1, 2, 3, 4, -3, -6, 7, -6, -12})) << name;
  }
}

TEST(Matmul, ChoosesARowOfTheTable) {
  auto const host = Device::open(Backend::cpu);
  matmul::Arguments<double> work;
  work.m = work.n = work.k = work.lda = work.ldb = work.ldc = 1000;
  EXPECT_EQ(matmul::choose(host, work), matmul::default_variant<double>(Backend::cpu));
  work.lda = std::int64_t{1} << 31;  // more than the library counts to
  EXPECT_EQ(matmul::choose(host, work), "threads");
  EXPECT_FALSE(matmul::has_tf32(host));
}

}  // namespace
}  // namespace gridstride
