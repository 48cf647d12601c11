// What the kernels here need of CUDA, for Debian's clang, which has no CUDA toolkit; and, with -DEMULATED, the same for a
// CPU, where emulate.h runs a kernel's threads as fibers. build.sh makes the PTX.
//
// A kernel's parameters are pointers to its inputs and then its outputs. Whole numbers that depend on shapes are in
// dims, which is filled in when the PTX is handed to XLA.
#pragma once

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;

struct float2 { float x, y; };
struct alignas(16) uint4 { uint32_t x, y, z, w; };

#define INLINE __attribute__((always_inline)) inline

#ifdef EMULATED
#include "emulate.h"
#define DEVICE INLINE
#define KERNEL(...) extern "C"
#define SHARED(type, name) type* const name = (type*)emulated::shared
int dims[16];
#else
#define DEVICE __attribute__((device)) INLINE
// The numbers are the most threads a block has and, if given, how many blocks a multiprocessor must have room for: what
// bounds registers.
#define KERNEL(...) extern "C" __attribute__((global)) __attribute__((launch_bounds(__VA_ARGS__)))
// All of a block's shared memory is one piece, whose size is given at the launch.
extern __attribute__((shared)) __attribute__((aligned(128))) uint8_t all_shared[];
#define SHARED(type, name) type* const name = (type*)all_shared
extern "C" __attribute__((constant)) int dims[16];
__attribute__((constant)) int dims[16];

DEVICE int thread_x() { return (int)__nvvm_read_ptx_sreg_tid_x(); }
DEVICE int block_x() { return (int)__nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE int block_y() { return (int)__nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE int grid_x() { return (int)__nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE int grid_y() { return (int)__nvvm_read_ptx_sreg_nctaid_y(); }
DEVICE int block_size() { return (int)__nvvm_read_ptx_sreg_ntid_x(); }
DEVICE void sync_threads() { __nvvm_bar_sync(0); }
DEVICE void sync_warp() { __nvvm_bar_warp_sync(0xffffffffu); }

DEVICE uint32_t shared_address(const void* p) {
  return (uint32_t)(unsigned long)(__attribute__((address_space(3))) const void*)p;
}

// copy16 starts copying 16 bytes to shared memory; with valid = false it writes zeros and reads nothing. The copies
// since the last commit_copies are one group; wait_copies<n> waits until at most the newest n groups are unfinished, of
// this thread's own copies: sync_threads makes them visible to others.
DEVICE void copy16(void* to, const void* from, bool valid = true) {
  uint32_t bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}
DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int n>
DEVICE void wait_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory"); }

// mma16 adds the product of A (16 × 16, bf16) and B (16 × 8, bf16) to D (16 × 8, float32), all of them spread over a
// warp as PTX's mma.m16n8k16 has them.
DEVICE void mma16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// ldmatrix4 loads four 8 × 8 matrices of bf16 from shared memory, lane l giving the address of row l%8 of matrix l/8;
// transposed, each matrix is handed out transposed.
DEVICE void ldmatrix4(uint32_t r[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
DEVICE void ldmatrix4_transposed(uint32_t r[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// narrow rounds two numbers to bf16, to the nearest, of two to the even one; x is in the low half.
DEVICE uint32_t narrow(float x, float y) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
  return r;
}
// narrow_positive is narrow of max(x, 0) and max(y, 0); NaN stays NaN.
DEVICE uint32_t narrow_positive(float x, float y) {
  uint32_t r;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
  return r;
}
DEVICE void store4(void* p, uint32_t v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
DEVICE void store16(void* p, const uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
// load_shared16 loads from shared memory. Of a plain load, as of a plain store, clang sometimes makes several.
DEVICE uint4 load_shared16(const void* p) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(shared_address(p))
               : "memory");
  return v;
}
// load_shared4 loads from shared memory, so many bytes after an address, which stays one register in a loop.
template <int after = 0>
DEVICE uint32_t load_shared4(uint32_t address) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1+%2];" : "=r"(v) : "r"(address), "n"(after) : "memory");
  return v;
}
// one_register hides from clang how x was computed, which would otherwise have several registers follow it in a loop.
DEVICE void one_register(uint32_t& x) { asm volatile("" : "+r"(x)); }
DEVICE void one_register(int& x) { asm volatile("" : "+r"(x)); }
template <typename T>
DEVICE void one_register(T*& x) { asm volatile("" : "+l"(x)); }
// On each of the two bf16 numbers of a word: the larger one, which is NaN only if both are; and a·b + c, rounded once.
DEVICE uint32_t most_bf16(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
// least_bf16 is the smaller one of each, and NaN if one of them is.
DEVICE uint32_t least_bf16(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
DEVICE uint32_t fma_bf16(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
// sign_mask has ones in the halves of a word whose highest bit is one, and zeros in the others.
DEVICE uint32_t sign_mask(uint32_t u) {
  uint32_t r;
  asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(r) : "r"(u));
  return r;
}
DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEVICE uint4 load16(const void* p) {  // of memory that no thread writes
  uint4 v;
  asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}
#endif

DEVICE float as_float(uint32_t u) { return __builtin_bit_cast(float, u); }
DEVICE uint32_t as_uint(float f) { return __builtin_bit_cast(uint32_t, f); }
// The two bf16 numbers of a word.
DEVICE float low(uint32_t u) { return as_float(u << 16); }
DEVICE float high(uint32_t u) { return as_float(u & 0xffff0000u); }
DEVICE float2 wide(uint32_t u) { return float2{low(u), high(u)}; }
DEVICE uint32_t narrow(float2 a) { return narrow(a.x, a.y); }
DEVICE int least(int a, int b) { return a < b ? a : b; }
DEVICE int most(int a, int b) { return a > b ? a : b; }
DEVICE float least(float a, float b) { return a < b ? a : b; }
DEVICE float most(float a, float b) { return a > b ? a : b; }
