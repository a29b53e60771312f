#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/support/barrier.cuh"

/// The instructions of sm_90a that a product on its tensor cores is made of. Addresses in shared
/// memory are numbers.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL

namespace gridstride::matmul::wgmma {

/// Copies the box of a matrix that begins at (row, column) and counts its bytes at `barrier`.
__device__ inline void load_box(unsigned target, CUtensorMap const& map, int row, int column,
                                unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(target),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

/// Copies a box from shared memory to where the matrix has it. What is beyond the matrix stays, but
/// for what shares 16 bytes with it.
__device__ inline void store_box(unsigned source, CUtensorMap const& map, int row, int column) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
      "r"(column), "r"(row), "r"(source)
      : "memory");
}

/// Waits until the thread's stores have read shared memory.
__device__ inline void wait_stores_read() {
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/// Shows what the thread has written in shared memory to asynchronous copies.
__device__ inline void publish_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline float2 load_pair(unsigned address) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(pair.x), "=f"(pair.y)
               : "r"(address)
               : "memory");
  return pair;
}

__device__ inline void store_pair(unsigned address, float2 pair) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(pair.x), "f"(pair.y)
               : "memory");
}

// ---------------------------------------------------------------------------------------- wgmma

/// A K-major operand in shared memory, from `address` on: rows of 128 bytes that TMA has permuted.
__device__ inline std::uint64_t operand(unsigned address) {
  constexpr std::uint64_t eight_rows = 1024, permuted_128 = 1;
  return (address & 0x3ffff) >> 4 | std::uint64_t{1} << 16 | eight_rows >> 4 << 32 |
         permuted_128 << 62;
}

/// x = high + low, both TF32: makes x its high part and returns the low one.
__device__ __forceinline__ unsigned split_off_low(unsigned& x) {
  unsigned high, low;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(high) : "f"(__uint_as_float(x)));
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(low) : "f"(__uint_as_float(x) - __uint_as_float(high)));
  x = high;
  return low;
}

/// To be called before products that use registers which have been written since.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most `pending` of the groups of products are not done.
template <int pending>
__device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// To be called after the wait: keeps the compiler from reading sums before it.
template <int n>
__device__ __forceinline__ void settle(float (&d)[n]) {
#pragma unroll
  for (float& value : d) asm volatile("" : "+f"(value)::"memory");
}

#define GRIDSTRIDE_EIGHT(d, i)                                                                \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define GRIDSTRIDE_SIXTEEN(d, i) GRIDSTRIDE_EIGHT(d, i), GRIDSTRIDE_EIGHT(d, i + 8)

/// d (64 x 128) += a (64 x 8, registers)·b (8 x 128, shared memory), or only the product.
__device__ __forceinline__ void multiply_add(float (&d)[64], unsigned const (&a)[4],
                                             std::uint64_t b, bool add) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %69, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
      "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, add, 1, 1; }"
      : GRIDSTRIDE_SIXTEEN(d, 0), GRIDSTRIDE_SIXTEEN(d, 16), GRIDSTRIDE_SIXTEEN(d, 32),
        GRIDSTRIDE_SIXTEEN(d, 48)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}

/// d (64 x 256) += a (64 x 8, registers)·b (8 x 256, shared memory), or only the product.
__device__ __forceinline__ void multiply_add(float (&d)[128], unsigned const (&a)[4],
                                             std::uint64_t b, bool add) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %133, 0; "
      "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
      "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, "
      "%66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "
      "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "
      "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "
      "%126, %127}, "
      "{%128, %129, %130, %131}, %132, add, 1, 1; }"
      : GRIDSTRIDE_SIXTEEN(d, 0), GRIDSTRIDE_SIXTEEN(d, 16), GRIDSTRIDE_SIXTEEN(d, 32),
        GRIDSTRIDE_SIXTEEN(d, 48), GRIDSTRIDE_SIXTEEN(d, 64), GRIDSTRIDE_SIXTEEN(d, 80),
        GRIDSTRIDE_SIXTEEN(d, 96), GRIDSTRIDE_SIXTEEN(d, 112)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}

#undef GRIDSTRIDE_SIXTEEN
#undef GRIDSTRIDE_EIGHT

}  // namespace gridstride::matmul::wgmma

#endif
