// What the tensor cores can do at most. Nothing but products of small matrices, from operands that
// stay where they are.
//
//   mma_kernel     a warp multiplies fragments in its registers (mma.sync), in some independent
//                  chains of accumulators. This is all there is but on Hopper, where it reaches
//                  about 60 % of the peak in float16 and tf32, and is the way to the peak in
//                  float64.
//   wgmma_kernel   four warps together multiply a 64 x k by a k x 128 matrix, both in shared memory
//                  (wgmma.mma_async of sm_90a), four products in flight; a multiprocessor has four
//                  such groups. Both operands are K-major without swizzle: 8 rows of 16 bytes are a
//                  core matrix of 128 bytes, two of them make the k of an instruction.
//
// The operands are random, for zeros would let the chip run faster than data do.

#include <memory>

#include "core/buffer.hpp"
#include "kernels/machine/cuda_parts.cuh"

namespace gridstride::machine {

namespace {

constexpr int tensor_threads = 256;
constexpr int warps = tensor_threads / 32;

/// Two float16 numbers, or one of tf32 or float64, of either sign between 1 and 2.
__device__ unsigned random_halves(unsigned i) { return 0x3c003c00u | (mix(i) & 0x83ff83ffu); }
__device__ unsigned random_tf32(unsigned i) { return 0x3f800000u | (mix(i) & 0x807fe000u); }
__device__ double random_double(unsigned i) {
  return __hiloint2double(static_cast<int>(0x3ff00000u | (mix(i) & 0x800fffffu)),
                          static_cast<int>(mix(~i)));
}

// ------------------------------------------------------------------------------------- mma.sync

/// One multiply-accumulate of a warp: D (16 x 8) += A (16 x 16)·B (16 x 8).
struct Float16Mma {
  using Accumulator = float;
  static constexpr double operations = 2.0 * 16 * 8 * 16;
  static constexpr int chains = 8, rounds = 1024;
  unsigned a[4], b[2];

  __device__ explicit Float16Mma(unsigned lane) {
    for (unsigned k = 0; k < 4; ++k) a[k] = random_halves(lane + 32 * k);
    for (unsigned k = 0; k < 2; ++k) b[k] = random_halves(lane + 32 * (k + 4));
  }
  __device__ void operator()([[maybe_unused]] float (&d)[4]) const {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
  }
};

/// D (16 x 8) += A (16 x 8)·B (8 x 8).
struct Tf32Mma {
  using Accumulator = float;
  static constexpr double operations = 2.0 * 16 * 8 * 8;
  static constexpr int chains = 8, rounds = 1024;
  unsigned a[4], b[2];

  __device__ explicit Tf32Mma(unsigned lane) {
    for (unsigned k = 0; k < 4; ++k) a[k] = random_tf32(lane + 32 * k);
    for (unsigned k = 0; k < 2; ++k) b[k] = random_tf32(lane + 32 * (k + 4));
  }
  __device__ void operator()([[maybe_unused]] float (&d)[4]) const {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
  }
};

/// D (16 x 8) += A (16 x 16)·B (16 x 8), which Hopper brought.
struct Float64Mma {
  using Accumulator = double;
  static constexpr double operations = 2.0 * 16 * 8 * 16;
  static constexpr int chains = 4, rounds = 256;
  double a[8], b[4];

  __device__ explicit Float64Mma(unsigned lane) {
    for (unsigned k = 0; k < 8; ++k) a[k] = random_double(lane + 32 * k);
    for (unsigned k = 0; k < 4; ++k) b[k] = random_double(lane + 32 * (k + 8));
  }
  __device__ void operator()([[maybe_unused]] double (&d)[4]) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
          "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#endif
  }
};

/// D (8 x 8) += A (8 x 4)·B (4 x 8), of Ampere. Two accumulators of four are in use.
struct SmallFloat64Mma {
  using Accumulator = double;
  static constexpr double operations = 2.0 * 8 * 8 * 4;
  static constexpr int chains = 8, rounds = 256;
  double a, b;

  __device__ explicit SmallFloat64Mma(unsigned lane)
      : a(random_double(lane)), b(random_double(lane + 32)) {}
  __device__ void operator()([[maybe_unused]] double (&d)[4]) const {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a), "d"(b));
#endif
  }
};

template <class Mma>
__global__ void __launch_bounds__(tensor_threads) mma_kernel(typename Mma::Accumulator* out) {
  using T = typename Mma::Accumulator;
  Mma const multiply(threadIdx.x % 32);
  T d[Mma::chains][4] = {};
#pragma unroll 4
  for (int r = 0; r < Mma::rounds; ++r) {
#pragma unroll
    for (int c = 0; c < Mma::chains; ++c) multiply(d[c]);
  }
  T sum = 0;
#pragma unroll
  for (int c = 0; c < Mma::chains; ++c) sum += d[c][0] + d[c][1] + d[c][2] + d[c][3];
  out[blockIdx.x * tensor_threads + threadIdx.x] = sum;
}

template <class Mma>
Probe mma_probe(Stream& stream, std::string_view name, std::string_view how) {
  using T = typename Mma::Accumulator;
  unsigned const blocks = 8 * stream.device().processors();
  auto const out =
      std::make_shared<Buffer<T>>(stream, MemorySpace::device, blocks * tensor_threads);
  return {{name, "FLOP/s", 0, how},
          Mma::operations * Mma::chains * Mma::rounds * warps * blocks,
          [=](Stream& s) {
            mma_kernel<Mma><<<blocks, tensor_threads, 0, native(s)>>>(out->data());
            GRIDSTRIDE_CHECK_LAUNCH(s, "machine mma");
          }};
}

// ---------------------------------------------------------------------------------------- wgmma

constexpr int wgmma_rounds = 1024;
constexpr int in_flight = 4;
constexpr int group_rows = 64, group_columns = 128, depth_bytes = 32;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Of a matrix in shared memory whose core matrices lie one after the other, those along k first.
__device__ std::uint64_t descriptor(void const* matrix) {
  constexpr std::uint64_t along_k = 128, along_rows = 256;
  auto const address = static_cast<std::uint64_t>(__cvta_generic_to_shared(matrix));
  return (address & 0x3ffff) >> 4 | along_k >> 4 << 16 | along_rows >> 4 << 32;
}

#define GRIDSTRIDE_EIGHT(d, i)                                                                \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define GRIDSTRIDE_WGMMA(instruction, ending, d, a, b)                                       \
  asm volatile("{ .reg .pred add; setp.eq.u32 add, 0, 0; " instruction                       \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "    \
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, " \
               "%31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, " \
               "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, " \
               "%61, %62, %63}, %64, %65, add, 1, 1" ending "; }"                            \
               : GRIDSTRIDE_EIGHT(d, 0), GRIDSTRIDE_EIGHT(d, 8), GRIDSTRIDE_EIGHT(d, 16),    \
                 GRIDSTRIDE_EIGHT(d, 24), GRIDSTRIDE_EIGHT(d, 32), GRIDSTRIDE_EIGHT(d, 40),  \
                 GRIDSTRIDE_EIGHT(d, 48), GRIDSTRIDE_EIGHT(d, 56)                            \
               : "l"(a), "l"(b))

#endif

/// Stores 1 where this build has the instructions of sm_90a for the GPU.
__global__ void has_wgmma_kernel(int* found) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  *found = 1;
#else
  *found = 0;
#endif
}

bool has_wgmma(Stream& stream) {
  Buffer<int> found(stream, MemorySpace::device, 1);
  has_wgmma_kernel<<<1, 1, 0, native(stream)>>>(found.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "machine has_wgmma");
  int result = 0;
  copy_async(std::span(&result, 1), found.span(), stream);
  stream.synchronize();
  return result == 1;
}

template <bool float16>
__global__ void __launch_bounds__(tensor_threads, 2) wgmma_kernel([[maybe_unused]] float* out) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int a_words = group_rows * depth_bytes / 4, b_words = group_columns * depth_bytes / 4;
  __shared__ alignas(128) unsigned operands[a_words + b_words];
  for (unsigned i = threadIdx.x; i < a_words + b_words; i += tensor_threads)
    operands[i] = float16 ? random_halves(i) : random_tf32(i);
  // What was stored as usual is to be seen by the asynchronous reads of the tensor cores.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  std::uint64_t const a = descriptor(operands), b = descriptor(operands + a_words);
  float d[64];
#pragma unroll
  for (float& value : d) value = 0;
  for (int r = 0; r < wgmma_rounds; ++r) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if constexpr (float16)
        GRIDSTRIDE_WGMMA("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", ", 0, 0", d, a, b);
      else
        GRIDSTRIDE_WGMMA("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32", "", d, a, b);
    }
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float sum = 0;
#pragma unroll
  for (float const value : d) sum += value;
  out[blockIdx.x * tensor_threads + threadIdx.x] = sum;
#endif
}

template <bool float16>
Probe wgmma_probe(Stream& stream, std::string_view name) {
  constexpr int depth = depth_bytes / (float16 ? 2 : 4);
  constexpr int groups = tensor_threads / 128;
  unsigned const blocks = 2 * stream.device().processors();
  auto const out =
      std::make_shared<Buffer<float>>(stream, MemorySpace::device, blocks * tensor_threads);
  return {{name, "FLOP/s", 0, "wgmma from shared memory"},
          2.0 * group_rows * group_columns * depth * in_flight * wgmma_rounds * groups * blocks,
          [=](Stream& s) {
            wgmma_kernel<float16><<<blocks, tensor_threads, 0, native(s)>>>(out->data());
            GRIDSTRIDE_CHECK_LAUNCH(s, "machine wgmma");
          }};
}

}  // namespace

void add_tensor_probes(std::vector<Probe>& probes, Stream& stream) {
  Capabilities const& has = stream.device().capabilities();
  if (!has.async_copies) return;  // Turing has none of these products
  probes.push_back(mma_probe<Float16Mma>(stream, float16_tensor_roof, "mma.sync in registers"));
  probes.push_back(mma_probe<Tf32Mma>(stream, tf32_tensor_roof, "mma.sync in registers"));
  if (has_wgmma(stream)) {
    probes.push_back(wgmma_probe<true>(stream, float16_tensor_roof));
    probes.push_back(wgmma_probe<false>(stream, tf32_tensor_roof));
  }
  if (has.float64_products)
    probes.push_back(mma_probe<Float64Mma>(stream, float64_tensor_roof, "mma.sync in registers"));
  else
    probes.push_back(
        mma_probe<SmallFloat64Mma>(stream, float64_tensor_roof, "mma.sync in registers"));
}

}  // namespace gridstride::machine
