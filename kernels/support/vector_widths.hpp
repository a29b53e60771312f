#pragma once

/// Before a function: its loops are compiled for several vector widths, and the processor takes the
/// widest that it has. They give the same bits as long as every lane does the same operations, none
/// of them fused. Not with the address sanitizer: on the stack that it watches for use after
/// return, GCC 12 does not align 64-byte vectors.
#if defined(__SANITIZE_ADDRESS__)
#define GRIDSTRIDE_VECTOR_WIDTHS
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define GRIDSTRIDE_VECTOR_WIDTHS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GRIDSTRIDE_VECTOR_WIDTHS
#endif
