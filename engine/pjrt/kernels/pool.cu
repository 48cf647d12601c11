// Gradients of max pools: of x [N, H, W, C] and v, the gradient by the maxima, [N, …, …, C], both in bf16, to the
// gradient by x. The first pixel of a window, in reading order, that equals the window's maximum gets the window's v.
//
// The kernels find the maxima again, which costs less than to read them. What they compare is two channels at a time in
// bf16. Neither NaN nor windows full of −∞ are cared for: v may be lost there.
#include "cuda.h"

constexpr int threads = 256;
constexpr uint32_t one = 0x3f803f80, minus_one = 0xbf80bf80, lowest = 0xff80ff80;

struct words { uint32_t w[4]; };

DEVICE words split(const uint4 v) { return words{{v.x, v.y, v.z, v.w}}; }
DEVICE words read(const uint4* p) { return split(load_shared16(p)); }
DEVICE uint4 join(const words& a) { return uint4{a.w[0], a.w[1], a.w[2], a.w[3]}; }

DEVICE uint32_t add_bf16(uint32_t a, uint32_t b) { return fma_bf16(a, one, b); }

// minus makes 0 of both zeros, so that smaller(±0, minus(±0)) is false.
DEVICE uint32_t minus(uint32_t a) { return fma_bf16(a, minus_one, 0); }
// smaller masks the numbers that are smaller than a maximum of theirs, whose negative is given.
DEVICE uint32_t smaller(uint32_t a, uint32_t minus_most) { return sign_mask(add_bf16(a, minus_most)); }

// pool2_gradient: windows of 2 × 2 pixels with stride 2. A pixel of an odd last row or column is in no window. A thread
// has one window, or what is left of one at the border, and eight channels.
// dims: how many threads have work, H, W, and how many groups of eight channels there are.
KERNEL(threads) void pool2_gradient(const uint4* x, const uint4* v, uint4* dx) {
  const uint32_t i = block_x() * threads + thread_x();
  if (i >= (uint32_t)dims[0]) return;
  const uint32_t height = dims[1], width = dims[2], groups = dims[3];
  const uint32_t lines = (height + 1) / 2, columns = (width + 1) / 2;
  const uint32_t cell = i / groups, group = i - cell * groups;
  const uint32_t row = cell / columns, column = cell - row * columns;
  const uint32_t picture = row / lines, line = row - picture * lines;
  const bool right = 2 * column + 1 < width, below = 2 * line + 1 < height;
  const uint32_t down = width * groups, at = (picture * height + 2 * line) * down + 2 * column * groups + group;
  words out[4] = {};
  if (right && below) {
    const words a = split(load16(x + at)), b = split(load16(x + at + groups)), c = split(load16(x + at + down)),
                d = split(load16(x + at + down + groups)),
                g = split(load16(v + ((picture * (height / 2) + line) * (width / 2) + column) * groups + group));
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const uint32_t m = minus(most_bf16(most_bf16(a.w[q], b.w[q]), most_bf16(c.w[q], d.w[q])));
      uint32_t left = g.w[q], mask = smaller(a.w[q], m);
      out[0].w[q] = left & ~mask;
      left &= mask;
      mask = smaller(b.w[q], m);
      out[1].w[q] = left & ~mask;
      left &= mask;
      mask = smaller(c.w[q], m);
      out[2].w[q] = left & ~mask;
      out[3].w[q] = left & mask;
    }
  }
  store16(dx + at, join(out[0]));
  if (right) store16(dx + at + groups, join(out[1]));
  if (below) store16(dx + at + down, join(out[2]));
  if (right && below) store16(dx + at + down + groups, join(out[3]));
}

// pool3_gradient: windows of 3 × 3 pixels with stride 2 around the pixels of even rows and columns; what they have
// beyond the border is never the largest.
//
// A block takes a strip of columns of a picture, from some row down, two rows of pixels and one of v at a time; while
// it works on these, the next ones come into shared memory. A thread has two columns of pixels, 2k and 2k + 1, and
// eight channels. They are in the windows of columns k and k + 1: it computes both, since to compute the second one
// twice takes less time than to wait for the neighbour's.
//
// The first pixel of a window that equals the maximum is in the first row whose own maximum is as large, and there it
// is the first that equals the row's. So a row of pixels is compared once, for the windows above and below.

constexpr int stages = 3;

// What three pixels of a row are to the window of column k, and the three beside them to that of column k + 1.
struct triples {
  words most, not_first, not_second;  // masks of the pixels that are smaller than the row's maximum
  words next_most, next_not_first;
};

DEVICE triples nothing() {
  triples t = {};
#pragma unroll
  for (int q = 0; q < 4; q++) t.most.w[q] = t.next_most.w[q] = lowest;
  return t;
}

DEVICE triples compare(const uint4* pixels, int groups) {
  triples t;
  const words a = read(pixels), b = read(pixels + groups), c = read(pixels + 2 * groups),
              d = read(pixels + 3 * groups), e = read(pixels + 4 * groups);
#pragma unroll
  for (int q = 0; q < 4; q++) {
    t.most.w[q] = most_bf16(most_bf16(a.w[q], b.w[q]), c.w[q]);
    t.next_most.w[q] = most_bf16(most_bf16(c.w[q], d.w[q]), e.w[q]);
    const uint32_t m = minus(t.most.w[q]);
    t.not_first.w[q] = smaller(a.w[q], m);
    t.not_second.w[q] = smaller(b.w[q], m);
    t.next_not_first.w[q] = smaller(c.w[q], minus(t.next_most.w[q]));
  }
  return t;
}

// share puts v into the one of three rows that has a window's maximum.
struct share {
  uint32_t top, middle, bottom;
  DEVICE share(uint32_t v, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t m = minus(most_bf16(most_bf16(a, b), c)), not_top = smaller(a, m), not_middle = smaller(b, m);
    top = v & ~not_top;
    middle = v & not_top & ~not_middle;
    bottom = v & not_top & not_middle;
  }
};

// dims: H, W, how many groups of eight channels there are and how many a block has, how many columns of windows are in
// a strip, strips, how many rows of windows are in a band, bands.
KERNEL(threads, 2) void pool3_gradient(const uint4* x, const uint4* v, uint4* dx) {
  SHARED(uint4, tile);
  const int height = dims[0], width = dims[1], all = dims[2], groups = dims[3], strip = dims[4], strips = dims[5];
  const int band = dims[6], bands = dims[7], rows = (height + 1) / 2, columns = (width + 1) / 2;
  const int part = block_x() / strips, picture = part / bands, left = (block_x() - part * strips) * strip;
  const int from = (part - picture * bands) * band, to = least(from + band, rows), last = least(to, rows - 1);
  const int column = thread_x() / groups, group = thread_x() - column * groups, k = left + column;
  const bool works = column < strip && k < columns, right = 2 * k + 1 < width;

  // A stage of the tile is two rows of pixels, from column 2·left − 1 on, and a row of v, from column left on.
  const int across = (2 * strip + 3) * groups, whole = 2 * across + (strip + 1) * groups;
  for (int i = thread_x(); i < across; i += block_size()) {
    const int c = 2 * left - 1 + i / groups;
    if (c < 0 || c >= width)
      for (int s = 0; s < stages; s++)
        tile[s * whole + i] = tile[s * whole + across + i] = uint4{lowest, lowest, lowest, lowest};
    if (i < (strip + 1) * groups && left + i / groups >= columns)
      for (int s = 0; s < stages; s++) tile[s * whole + 2 * across + i] = uint4{};
  }

  // Where the thread copies from and to: its two columns and its v, and, of the first threads, a column beside the
  // strip.
  const int channel = block_y() * groups + group, down = width * all;
  const uint4 *own = x + (size_t(picture) * height * width + 2 * k) * all + channel;
  const uint4 *own_v = v + (size_t(picture) * rows * columns + k) * all + channel;
  const int beside = column == 0 ? 2 * left - 1 : 2 * (left + strip) + column - 1;
  const bool has_beside = column < 3 && beside >= 0 && beside < width, has_v = column == 0 && left + strip < columns;
  const uint4* other = own + (beside - 2 * k) * all;
  const int to_own = (2 * column + 1) * groups + group, to_v = 2 * across + column * groups + group;
  const int to_other = (column == 0 ? 0 : 2 * strip + column) * groups + group;
  uint4* const out = dx + (size_t(picture) * height * width + 2 * k) * all + channel;

  // start starts copying rows 2·line and 2·line + 1, or of the line above the band only the latter.
  auto start = [&](int line, int slot) {
    if (line <= last) {
      uint4* const stage = tile + slot * whole;
#pragma unroll
      for (int second = 0; second < 2; second++) {
        const int r = 2 * line + second;
        if (second ? r >= 0 && r < height : line >= from) {
          uint4* const row = stage + second * across;
          const size_t at = size_t(r) * down;
          if (works) copy16(row + to_own, own + at);
          if (works && right) copy16(row + to_own + groups, own + at + all);
          if (has_beside) copy16(row + to_other, other + at);
        }
      }
      if (line >= from) {
        const size_t at = size_t(line) * columns * all;
        if (works) copy16(stage + to_v, own_v + at);
        if (has_v) copy16(stage + 2 * across + strip * groups + group, own_v + at + strip * all);
      }
    }
    commit_copies();
  };

  start(from - 1, 0);
  start(from, 1);
  wait_copies<1>();
  sync_threads();
  start(from + 1, 2);
  const uint4* const pixels = tile + 2 * column * groups + group;
  triples top = nothing();
  if (works && from > 0) top = compare(pixels + across, groups);

  // What the windows of the line above give to the row below it.
  words below = {};
  float below_right[8] = {};
  for (int line = from, slot = 1; line <= last; line++) {
    wait_copies<1>();
    sync_threads();
    start(line + 2, slot == 0 ? stages - 1 : slot - 1);
    if (works) {
      const uint4* const p = pixels + slot * whole;
      const triples middle = compare(p, groups);
      const triples bottom = 2 * line + 1 < height ? compare(p + across, groups) : nothing();
      const words g = read(tile + slot * whole + to_v), next_g = read(tile + slot * whole + to_v + groups);
      words above, above_right, here, here_right;
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const share s(g.w[q], top.most.w[q], middle.most.w[q], bottom.most.w[q]);
        const share n(next_g.w[q], top.next_most.w[q], middle.next_most.w[q], bottom.next_most.w[q]);
        const uint32_t a = s.top & top.not_first.w[q], b = s.middle & middle.not_first.w[q],
                       c = s.bottom & bottom.not_first.w[q];
        above.w[q] = add_bf16(below.w[q], a & ~top.not_second.w[q]);
        here.w[q] = b & ~middle.not_second.w[q];
        below.w[q] = c & ~bottom.not_second.w[q];
        const uint32_t a_right = a & top.not_second.w[q], a_next = n.top & ~top.next_not_first.w[q];
        const uint32_t c_right = c & bottom.not_second.w[q], c_next = n.bottom & ~bottom.next_not_first.w[q];
        above_right.w[q] = narrow(below_right[2 * q] + low(a_right) + low(a_next),
                                  below_right[2 * q + 1] + high(a_right) + high(a_next));
        here_right.w[q] = add_bf16(b & middle.not_second.w[q], n.middle & ~middle.next_not_first.w[q]);
        below_right[2 * q] = low(c_right) + low(c_next);
        below_right[2 * q + 1] = high(c_right) + high(c_next);
      }
      uint4* const o = out + (size_t(2 * line) - 1) * down;
      if (line > from) {
        store16(o, join(above));
        if (right) store16(o + all, join(above_right));
      }
      if (line < to) {
        store16(o + down, join(here));
        if (right) store16(o + down + all, join(here_right));
      }
      top = bottom;
    }
    slot = slot == stages - 1 ? 0 : slot + 1;
  }
  if (works && to == rows && 2 * rows <= height) {
    uint4* const o = out + (size_t(2 * rows) - 1) * down;
    store16(o, join(below));
    words sums;
#pragma unroll
    for (int q = 0; q < 4; q++) sums.w[q] = narrow(below_right[2 * q], below_right[2 * q + 1]);
    if (right) store16(o + all, join(sums));
  }
}
