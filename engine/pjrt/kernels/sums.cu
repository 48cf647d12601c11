// Sums over all pixels for batch norm, channel by channel, of x [rows, channels] in bf16. Each block adds up some rows
// and writes its part of the sums, [parts, 2, channels]; XLA adds the parts. The order of addition is fixed.
//
// The rows are read from the last to the first: the last ones were written just before and are still in the cache, and
// the first ones are where the next kernel begins.
//
// A thread has eight channels of some rows. It copies the rows that it will need next to shared memory, and reads there
// what itself has copied: so many bytes are on their way at any time, without registers that hold their place.
#include "cuda.h"

constexpr int threads = 384;

// How many rows of a thread are on their way: 48 KB for a block in all, two blocks a multiprocessor.
constexpr int slots_of_one = 8, slots_of_two = 4, slots_of_more = 4;

struct sums { float a[8], b[8]; };

// Which channels and rows a thread has. dims: rows, channels, and how many groups of eight channels a block has.
struct place {
  int rows, channels, groups, lines, first, line, step;
  bool works;
  DEVICE place() {
    rows = dims[0], channels = dims[1], groups = dims[2];
    first = block_y() * groups * 8;
    lines = threads / groups;
    line = block_x() * lines + thread_x() / groups;
    step = grid_x() * lines;
    works = thread_x() < lines * groups;
    first += thread_x() % groups * 8;
  }
};

DEVICE void write(float sum, float* out, int c, int group, int channels) {
  out[(c < 8 ? c : channels + c - 8) + group * 8] = sum;
}

// add_parts adds the sums of all threads of a block that have the same eight channels, and writes them. The sums of a
// group of channels are 16 columns, of as many numbers as there are lines. If there are fewer columns than threads, a
// column is added in pieces, and then the pieces are.
DEVICE void add_parts(const sums& s, float* parts, const place& p) {
  SHARED(float, all);
  const int apart = threads + p.groups % 32;  // of two columns of a group, so that no two threads meet at a bank
  float* const pieces_at = all + 16 * (threads + 32);
  sync_threads();
  if (p.works) {
#pragma unroll
    for (int c = 0; c < 8; c++) {
      all[c * apart + thread_x()] = s.a[c];
      all[(8 + c) * apart + thread_x()] = s.b[c];
    }
  }
  sync_threads();
  const int columns = 16 * p.groups, pieces = most(threads / columns, 1);
  float* const out = parts + size_t(block_x()) * 2 * p.channels + block_y() * p.groups * 8;
  for (int i = thread_x(); i < pieces * columns; i += threads) {
    const int piece = i / columns, column = i - piece * columns, c = column / p.groups, group = column - c * p.groups;
    const float* from = all + c * apart + piece * p.groups + group;
    const int count = (p.lines - piece + pieces - 1) / pieces;
    float sum = 0;
    for (int k = 0; k < count; k++) sum += from[k * pieces * p.groups];
    if (pieces == 1)
      write(sum, out, c, group, p.channels);
    else
      pieces_at[i] = sum;
  }
  if (pieces == 1) return;
  sync_threads();
  const int column = thread_x();
  if (column < columns) {
    float sum = 0;
    for (int k = 0; k < pieces; k++) sum += pieces_at[k * columns + column];
    write(sum, out, column / p.groups, column % p.groups, p.channels);
  }
}

struct octet { float f[8]; };

DEVICE octet widen(const uint4 v) {
  return octet{{low(v.x), high(v.x), low(v.y), high(v.y), low(v.z), high(v.z), low(v.w), high(v.w)}};
}

DEVICE octet read8(const float* from) {
  const uint4 a = load16(from), b = load16(from + 4);
  return octet{{as_float(a.x), as_float(a.y), as_float(a.z), as_float(a.w), as_float(b.x), as_float(b.y), as_float(b.z),
                as_float(b.w)}};
}

// queue copies a thread's rows of some tensors, from the last one on, slots of them ahead.
template <int tensors, int slots>
struct queue {
  static_assert((slots & (slots - 1)) == 0 && slots * tensors >= 5, "a power of two, and what add_parts needs");
  const uint16_t* row[tensors];  // the next one
  uint4* mine;
  long back;
  int left, next;  // rows that are not asked for, and the slot of the next one

  DEVICE queue(const place& p, const uint16_t* const (&from)[tensors]) {
    SHARED(uint4, all);
    mine = all + thread_x();
    back = long(p.step) * p.channels;
    left = p.line < p.rows ? (p.rows - 1 - p.line) / p.step + 1 : 0;
    next = 0;
    for (int t = 0; t < tensors; t++) row[t] = from[t] + long(p.rows - 1 - p.line) * p.channels + p.first;
  }
  DEVICE uint4* slot(int i) const { return mine + (i & (slots - 1)) * (tensors * threads); }
  DEVICE void ask() {
    if (left > 0) {
      uint4* const to = slot(next);
#pragma unroll
      for (int t = 0; t < tensors; t++) {
        copy16(to + t * threads, row[t]);
        row[t] -= back;
      }
      next++;
      left--;
    }
    commit_copies();
  }
  // start fills the queue; rows remain.
  DEVICE int start() {
    const int rows = left;
#pragma unroll
    for (int i = 0; i < slots - 1; i++) ask();
    return rows;
  }
  // each calls add with each row of all tensors.
  template <typename Add>
  DEVICE void each(int rows, Add add) {
    for (int i = 0; i < rows; i++) {
      ask();  // into the slot of the row before
      wait_copies<slots - 1>();
      const uint4* const from = slot(i);
      octet f[tensors];
#pragma unroll
      for (int t = 0; t < tensors; t++) f[t] = widen(load_shared16(from + t * threads));
      add(f);
    }
  }
};

// moments: Σ d and Σ d² of d = x − shift.
KERNEL(threads, 2) void moments(const uint16_t* x, const float* shift, float* parts) {
  const place p;
  sums s = {};
  if (p.works) {
    queue<1, slots_of_one> q(p, {x});
    const int rows = q.start();
    const octet away = read8(shift + p.first);
    q.each(rows, [&](const octet(&f)[1]) __attribute__((always_inline)) {
#pragma unroll
      for (int c = 0; c < 8; c++) {
        const float d = f[0].f[c] - away.f[c];
        s.a[c] += d;
        s.b[c] = fma(d, d, s.b[c]);
      }
    });
  }
  add_parts(s, parts, p);
}

enum masks { linear, relu, relu6 };

// Σ g and Σ g·(x − center), where g is the gradient v: all of it, or with a mask only where (x − center)·scale + offset
// is above 0 and, of relu6, below 6, and 0 elsewhere.
template <masks mask>
DEVICE void gradient_sums(const uint16_t* x, const uint16_t* v, const float* center, const float* scale,
                          const float* offset, float* parts) {
  const place p;
  sums s = {};
  if (p.works) {
    queue<2, slots_of_two> q(p, {x, v});
    const int rows = q.start();
    const octet away = read8(center + p.first);
    octet slope = {}, begin = {};
    if (mask != linear) {
      slope = read8(scale + p.first);
      begin = read8(offset + p.first);
    }
    q.each(rows, [&](const octet(&f)[2]) __attribute__((always_inline)) {
#pragma unroll
      for (int c = 0; c < 8; c++) {
        const float d = f[0].f[c] - away.f[c];
        float h = f[1].f[c];
        if (mask != linear) {
          const float z = fma(d, slope.f[c], begin.f[c]);
          h = z > 0 && (mask == relu || z < 6) ? h : 0;
        }
        s.a[c] += h;
        s.b[c] = fma(h, d, s.b[c]);
      }
    });
  }
  add_parts(s, parts, p);
}

KERNEL(threads, 2) void gradient_sums_linear(const uint16_t* x, const uint16_t* v, const float* center, float* parts) {
  gradient_sums<linear>(x, v, center, nullptr, nullptr, parts);
}
KERNEL(threads, 2) void gradient_sums_relu(const uint16_t* x, const uint16_t* v, const float* center,
                                           const float* scale, const float* offset, float* parts) {
  gradient_sums<relu>(x, v, center, scale, offset, parts);
}
KERNEL(threads, 2) void gradient_sums_relu6(const uint16_t* x, const uint16_t* v, const float* center,
                                            const float* scale, const float* offset, float* parts) {
  gradient_sums<relu6>(x, v, center, scale, offset, parts);
}

// The same of g = v + w, the sum of two gradients, where the result y of the layer is above 0, and 0 elsewhere. g is
// written, in bf16, and its sums are of what is written.
KERNEL(threads, 2) void gradient_sums_joined(const uint16_t* x, const uint16_t* v, const uint16_t* w, const uint16_t* y,
                                             const float* center, float* parts, uint16_t* g) {
  const place p;
  sums s = {};
  if (p.works) {
    queue<4, slots_of_more> q(p, {x, v, w, y});
    uint16_t* to = g + long(p.rows - 1 - p.line) * p.channels + p.first;
    const int rows = q.start();
    const octet away = read8(center + p.first);
    q.each(rows, [&](const octet(&f)[4]) __attribute__((always_inline)) {
      uint32_t words[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int c = 2 * k;
        words[k] = narrow(f[3].f[c] > 0 ? f[1].f[c] + f[2].f[c] : 0, f[3].f[c + 1] > 0 ? f[1].f[c + 1] + f[2].f[c + 1] : 0);
        const float2 h = wide(words[k]);
        s.a[c] += h.x;
        s.a[c + 1] += h.y;
        s.b[c] = fma(h.x, f[0].f[c] - away.f[c], s.b[c]);
        s.b[c + 1] = fma(h.y, f[0].f[c + 1] - away.f[c + 1], s.b[c + 1]);
      }
      store16(to, uint4{words[0], words[1], words[2], words[3]});
      to -= q.back;
    });
  }
  add_parts(s, parts, p);
}
