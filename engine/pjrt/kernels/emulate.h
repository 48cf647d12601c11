// CUDA on a CPU, to test kernels without a GPU: the threads of a block are fibers of one thread, which change places at
// barriers. Shared memory and outputs begin as NaN; reading or writing beyond a buffer's end is a fault; copies to shared
// memory arrive as late as they may.
//
// A kernel file compiled with -DEMULATED is a program:
//
//	PROGRAM ENTRY grid_x grid_y block shared dim,dim,… INPUT… -- OUTPUT:bytes…
//
// It reads each INPUT from a file and writes each OUTPUT to one. With EMULATE_BACKWARDS in the environment, blocks and
// threads run from the last to the first, and copies to shared memory arrive at once.
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

extern int dims[16];

namespace emulated {

enum { most_threads = 1024, stack_bytes = 64 << 10, warp = 32, most_copies = 4096, most_groups = 64 };

struct copy {
  void* to;
  const void* from;
  bool valid;
  int group;
};
struct thread {
  ucontext_t at;
  char* stack;
  bool ended;
  copy* copies;
  int pending, group;
};

inline thread threads[most_threads];
inline ucontext_t scheduler;
inline int running, block, now_x, now_y, grid_of_x, grid_of_y;
inline uint8_t* shared;
inline size_t shared_bytes;
inline bool backwards;
inline int waiting, round;                             // at the block's barrier
inline int warp_waiting[most_threads / warp], warp_round[most_threads / warp];
inline uint32_t exchanged[most_threads][16];           // what the threads of a warp give each other
inline void (*entry)(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*);
inline void* arguments[12];

inline void yield() { swapcontext(&threads[running].at, &scheduler); }

inline void fail(const char* what) {
  fprintf(stderr, "%s, in thread %d of block %d, %d\n", what, running, now_x, now_y);
  exit(1);
}

inline void run_thread() {
  void** a = arguments;
  entry(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
  if (threads[running].pending) fail("copies were started and never waited for");
  threads[running].ended = true;
  yield();
}

inline void run_block() {
  memset(shared, 0xff, shared_bytes);
  waiting = 0;
  memset(warp_waiting, 0, sizeof warp_waiting);
  for (int i = 0; i < block; i++) {
    thread& t = threads[i];
    getcontext(&t.at);
    t.at.uc_stack.ss_sp = t.stack;
    t.at.uc_stack.ss_size = stack_bytes;
    t.at.uc_link = &scheduler;
    t.ended = false;
    t.pending = t.group = 0;
    makecontext(&t.at, run_thread, 0);
  }
  for (int left = block, last = 0; left; last = left) {
    int before = round, at_barrier = waiting, sum = 0;
    for (int w : warp_round) sum += w;
    left = 0;
    for (int i = 0; i < block; i++) {
      running = backwards ? block - 1 - i : i;
      if (threads[running].ended) continue;
      swapcontext(&scheduler, &threads[running].at);
      left += !threads[running].ended;
    }
    for (int w : warp_round) sum -= w;
    if (left == last && before == round && at_barrier == waiting && sum == 0 && left)
      fail("some threads wait at a barrier that others do not reach");
  }
}

inline void barrier() {
  int mine = round;
  if (++waiting == block) {
    waiting = 0;
    round++;
    return;
  }
  while (mine == round) yield();
}

inline void warp_barrier() {
  int w = running / warp, size = block - w * warp < warp ? block - w * warp : warp, mine = warp_round[w];
  if (++warp_waiting[w] == size) {
    warp_waiting[w] = 0;
    warp_round[w]++;
    return;
  }
  while (mine == warp_round[w]) yield();
}

inline void* map(size_t bytes) {  // ends where a page ends that cannot be touched
  size_t page = 4096, whole = (bytes + page - 1) / page * page;
  char* p = (char*)mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(p + page, whole, PROT_READ | PROT_WRITE);
  return p + page + whole - bytes / 16 * 16 - (bytes % 16 ? 16 : 0);
}

inline void* read_file(const char* path) {
  int f = open(path, O_RDONLY);
  struct stat s;
  if (f < 0 || fstat(f, &s)) {
    perror(path);
    exit(1);
  }
  char* p = (char*)map(s.st_size);
  for (long n = 0; n < s.st_size;) n += read(f, p + n, s.st_size - n);
  close(f);
  return p;
}

inline int run(int argc, char** argv) {
  if (argc < 8) return fputs("usage: see emulate.h\n", stderr), 2;
  *(void**)&entry = dlsym(RTLD_DEFAULT, argv[1]);
  if (!entry) return fprintf(stderr, "no entry %s\n", argv[1]), 2;
  grid_of_x = atoi(argv[2]);
  grid_of_y = atoi(argv[3]);
  block = atoi(argv[4]);
  shared_bytes = atol(argv[5]);
  shared = (uint8_t*)map(shared_bytes);
  if (block > most_threads) return fputs("too many threads\n", stderr), 2;
  char* d = argv[6];
  for (int i = 0; i < 16 && *d; i++) {
    dims[i] = strtol(d, &d, 10);
    d += *d == ',';
  }
  struct { char* path; void* data; size_t bytes; } outputs[8];
  int n = 0, outs = 0, i = 7;
  for (; i < argc && strcmp(argv[i], "--"); i++) arguments[n++] = read_file(argv[i]);
  for (i++; i < argc; i++) {
    char* colon = strrchr(argv[i], ':');
    *colon = 0;
    size_t bytes = atol(colon + 1);
    arguments[n] = map(bytes);
    memset(arguments[n], 0xff, bytes);
    outputs[outs].path = argv[i];
    outputs[outs].data = arguments[n++];
    outputs[outs++].bytes = bytes;
  }
  for (int t = 0; t < block; t++) {
    threads[t].stack = (char*)mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    threads[t].copies = (copy*)malloc(sizeof(copy) * most_copies);
  }
  backwards = getenv("EMULATE_BACKWARDS");
  for (long k = 0, blocks = (long)grid_of_x * grid_of_y; k < blocks; k++) {
    long b = backwards ? blocks - 1 - k : k;
    now_x = b % grid_of_x;
    now_y = b / grid_of_x;
    run_block();
  }
  for (int k = 0; k < outs; k++) {
    FILE* f = fopen(outputs[k].path, "wb");
    if (!f || fwrite(outputs[k].data, 1, outputs[k].bytes, f) != outputs[k].bytes || fclose(f)) {
      perror(outputs[k].path);
      return 1;
    }
  }
  return 0;
}

// finish_copies does what must be done when at most so many groups may be unfinished.
inline void finish_copies(int newest) {
  thread& t = threads[running];
  int kept = 0;
  for (int i = 0; i < t.pending; i++) {
    copy& c = t.copies[i];
    if (c.group >= t.group - newest)
      t.copies[kept++] = c;
    else if (c.valid)
      memcpy(c.to, c.from, 16);
    else
      memset(c.to, 0, 16);
  }
  t.pending = kept;
}

inline float bf16(uint16_t u) {
  uint32_t w = (uint32_t)u << 16;
  float f;
  memcpy(&f, &w, 4);
  return f;
}
inline uint16_t half(const uint32_t* words, int i) { return words[i / 2] >> (i % 2 * 16); }

}  // namespace emulated

int main(int argc, char** argv) { return emulated::run(argc, argv); }

inline int thread_x() { return emulated::running; }
inline int block_x() { return emulated::now_x; }
inline int block_y() { return emulated::now_y; }
inline int grid_x() { return emulated::grid_of_x; }
inline int grid_y() { return emulated::grid_of_y; }
inline int block_size() { return emulated::block; }
inline void sync_threads() { emulated::barrier(); }
inline void sync_warp() { emulated::warp_barrier(); }

inline void copy16(void* to, const void* from, bool valid = true) {
  emulated::thread& t = emulated::threads[emulated::running];
  if (t.pending == emulated::most_copies) emulated::fail("too many copies are unfinished");
  size_t at = (uint8_t*)to - emulated::shared;
  if (at + 16 > emulated::shared_bytes || at % 16) emulated::fail("a copy beyond shared memory, or not aligned");
  if (valid && (size_t)from % 16) emulated::fail("a copy from an address that is not aligned");
  if (!emulated::backwards)
    t.copies[t.pending++] = emulated::copy{to, from, valid, t.group};
  else if (valid)
    memcpy(to, from, 16);
  else
    memset(to, 0, 16);
}
inline void commit_copies() { emulated::threads[emulated::running].group++; }
template <int n>
inline void wait_copies() { emulated::finish_copies(n); }

inline void mma16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  using namespace emulated;
  memcpy(exchanged[running], a, 16);
  memcpy(exchanged[running] + 4, b, 8);
  warp_barrier();
  int first = running / warp * warp, lane = running % warp;
  for (int i = 0; i < 4; i++) {
    int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    double sum = d[i];
    for (int k = 0; k < 16; k++) {
      int from_a = row % 8 * 4 + k % 8 / 2, part_a = row / 8 + k / 8 * 2, from_b = column * 4 + k % 8 / 2;
      sum += (double)bf16(half(exchanged[first + from_a] + part_a, k % 2)) *
             bf16(half(exchanged[first + from_b] + 4 + k / 8, k % 2));
    }
    d[i] = (float)sum;
  }
  warp_barrier();
}

inline void load_matrices(uint32_t r[4], const void* row, bool transposed) {
  using namespace emulated;
  if ((size_t)((uint8_t*)row - shared) + 16 > shared_bytes || (size_t)row % 16) fail("a matrix beyond shared memory");
  memcpy(exchanged[running], row, 16);
  warp_barrier();
  int first = running / warp * warp, lane = running % warp;
  for (int m = 0; m < 4; m++) {
    uint32_t v[2];
    for (int i = 0; i < 2; i++) {
      int line = lane / 4, column = lane % 4 * 2 + i;
      v[i] = transposed ? half(exchanged[first + m * 8 + column], line) : half(exchanged[first + m * 8 + line], column);
    }
    r[m] = v[0] | v[1] << 16;
  }
  warp_barrier();
}
inline void ldmatrix4(uint32_t r[4], const void* row) { load_matrices(r, row, false); }
inline void ldmatrix4_transposed(uint32_t r[4], const void* row) { load_matrices(r, row, true); }

inline uint32_t narrow_one(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  if (f != f) return 0x7fff;
  return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
inline uint32_t narrow(float x, float y) { return narrow_one(x) | narrow_one(y) << 16; }
inline void store16(void* p, const uint4 v) {
  if ((size_t)p % 16) emulated::fail("a store to an address that is not aligned");
  *(uint4*)p = v;
}
inline uint4 load_shared16(const void* p) {
  size_t at = (uint8_t*)p - emulated::shared;
  if (at + 16 > emulated::shared_bytes || at % 16) emulated::fail("a load beyond shared memory, or not aligned");
  return *(const uint4*)p;
}

// nearest_bf16 is a·b + c, rounded once: what is beyond a double's or a float's precision only makes its last bit odd.
inline uint16_t nearest_bf16(double a, double b, double c) {
  double p = a * b, sum = p + c, part = sum - p, rest = (p - (sum - part)) + (c - part);
  if (sum != sum) return 0x7fff;
  if (rest != 0 && fabs(sum) < 1e300) {
    uint64_t u;
    memcpy(&u, &sum, 8);
    if (!(u & 1)) u += (rest > 0) == (sum > 0) ? 1 : -1;
    memcpy(&sum, &u, 8);
  }
  float f = (float)sum;
  if ((double)f != sum && fabsf(f) < 3e38f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    if (!(u & 1)) u += (fabs(sum) > fabsf(f)) ? 1 : -1;
    memcpy(&f, &u, 4);
  }
  return narrow_one(f);
}
inline uint32_t fma_bf16(uint32_t a, uint32_t b, uint32_t c) {
  using emulated::bf16;
  return nearest_bf16(bf16(a), bf16(b), bf16(c)) |
         (uint32_t)nearest_bf16(bf16(a >> 16), bf16(b >> 16), bf16(c >> 16)) << 16;
}
inline uint32_t most_bf16(uint32_t a, uint32_t b) {
  uint32_t r = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    uint16_t u = a >> shift, v = b >> shift;
    float f = emulated::bf16(u), g = emulated::bf16(v);
    bool first = f > g || g != g || (f == g && u < v);  // of two zeros the positive one
    r |= (uint32_t)(first ? u : v) << shift;
  }
  return r;
}
inline uint32_t shared_address(const void* p) { return (uint32_t)((const uint8_t*)p - emulated::shared); }
template <int after = 0>
inline uint32_t load_shared4(uint32_t address) {
  if (address % 4 || size_t(address) + after + 4 > emulated::shared_bytes)
    emulated::fail("a load beyond shared memory, or not aligned");
  return *(const uint32_t*)(emulated::shared + address + after);
}
template <typename T>
inline void one_register(T&) {}
inline void store4(void* p, uint32_t v) { *(uint32_t*)p = v; }
inline uint32_t least_bf16(uint32_t a, uint32_t b) {
  uint32_t r = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    uint16_t u = a >> shift, v = b >> shift;
    float f = emulated::bf16(u), g = emulated::bf16(v);
    bool first = f < g || (f == g && u > v);  // of two zeros the negative one
    r |= (uint32_t)(f != f || g != g ? 0x7fff : first ? u : v) << shift;
  }
  return r;
}
inline uint32_t narrow_positive(float x, float y) { return narrow(x < 0 ? 0 : x, y < 0 ? 0 : y); }
inline uint32_t sign_mask(uint32_t u) { return (u >> 15 & 0x10001) * 0xffff; }
inline uint4 load16(const void* p) {
  if ((size_t)p % 16) emulated::fail("a load from an address that is not aligned");
  return *(const uint4*)p;
}
