// Convolutions 3 × 3 of groups of eight channels with a border of one pixel, and their gradients, of pictures
// [N, height, width, channels] in bf16 and a kernel [3, 3, 8, channels] in bf16.
//
// The eight numbers that a pixel has of a group are 16 bytes: a row of the matrices that tensor cores multiply. A
// product of 16 × 16 by 16 × 8 is of two taps at once; the tenth tap is zero.
//
// A block has some groups, and goes down pictures in steps of some rows, or down tiles of wide ones. The rows of the
// next steps are on their way into a ring in shared memory, where rows that steps have in common stay. A block's first
// step may lie inside of a picture, so that all blocks have as many. A warp has one group, and its kernel is in
// registers.
#include "cuda.h"

constexpr int most_threads = 384;

// What a block does, from dims: height, width and channels of x; groups of a block; how many blocks have so many, where
// the others have one less; segments of eight pixels of y across a tile; tiles across a picture; rows of y in a step;
// warps of a group; steps whose rows are on their way; steps of a block; how many blocks have one more; bytes of shared
// memory.
struct plan {
  int height, width, channels, groups, segments, tiles, lines, warps, depth, bytes;
  int out_height, out_width, steps;   // steps down a tile
  int first, own;                     // this block's groups
  int begin, end;                     // this block's steps
  int pixel, tile;                    // bytes of a pixel in shared memory; pixels of y across a tile
  int warp;                           // which of the block's groups this warp has
  int segment, line, next_line;       // where this warp begins in a step, and how far down it goes on
  DEVICE plan(int stride, int unit) {  // unit is how many lines a warp computes at once
    height = dims[0], width = dims[1], channels = dims[2], groups = dims[3];
    segments = dims[5], tiles = dims[6], lines = dims[7], warps = dims[8], depth = dims[9], bytes = dims[12];
    out_height = (height - 1) / stride + 1, out_width = (width - 1) / stride + 1;
    steps = (out_height + lines - 1) / lines;
    const int less = most(block_x() - dims[4], 0);
    first = block_x() * groups - less;
    own = block_x() < dims[4] ? groups : groups - 1;
    begin = block_y() * dims[10] + least(block_y(), dims[11]);
    end = begin + dims[10] + (block_y() < dims[11]);
    pixel = (groups | 1) * 16;  // eight pixels side by side are in different banks
    tile = segments * 8;
    warp = thread_x() / 32 / warps;
    const int part = thread_x() / 32 % warps;
    segment = part % segments, line = part / segments * unit;
    next_line = most(warps / segments, 1) * unit;  // warps are a multiple of segments or divide them
  }
  DEVICE int group() const { return first + warp; }
};

// A step is some rows of a tile of a picture.
struct step {
  int picture, tile, at;
  DEVICE step(int n, const plan& p) {
    at = n % p.steps, n /= p.steps;
    tile = n % p.tiles, picture = n / p.tiles;
  }
  DEVICE void next(const plan& p) {
    if (++at < p.steps) return;
    at = 0;
    if (++tile < p.tiles) return;
    tile = 0, picture++;
  }
};

// How a thread goes over pixels, line by line. The threads of a block have one group of one pixel each.
struct walk {
  int line, column, down, along, width;
  DEVICE walk(const plan& p, int width) : width(width) {
    const int start = thread_x() / p.groups, skip = p.warps * 32;
    line = thread_x() % p.groups < p.own ? start / width : 1 << 30;
    column = start % width;
    down = skip / width, along = skip % width;
  }
  DEVICE void next() {
    line += down, column += along;
    if (column >= width) column -= width, line++;
  }
};

// The rows of a tensor that the steps of a block read. Line r of y needs rows stride·r − before to stride·r + after,
// and columns likewise.
template <int stride, int before, int after>
struct rows {
  const plan& p;
  const uint8_t* from;
  int height, width, start, slots, slot, head, tail, lead;
  walk pixels;

  // start is where the ring lies in shared memory; the zeros of a row are at its beginning.
  DEVICE rows(const plan& p, const uint16_t* x, int height, int width, int start)
      : p(p), height(height), width(width), start(start),
        pixels(p, p.tiles == 1 ? width : stride * (p.tile - 1) + 1 + before + after) {
    from = (const uint8_t*)(x + (p.first + thread_x() % p.groups) * 8);
    slots = stride * p.lines * p.depth + before + after + 1 - stride;
    slot = bytes(p);
    head = tail = 0;
    lead = p.tiles == 1 ? before : 0;  // columns left of a picture stay zero
  }
  // bytes are those of a row, and end is where the ring ends.
  static DEVICE int bytes(const plan& p) { return (stride * (p.tile - 1) + 1 + before + after) * p.pixel; }
  DEVICE int end() const { return start + slots * slot; }

  DEVICE int top(int at) const { return most(stride * p.lines * at - before, 0); }
  DEVICE int bottom(int at) const { return least(stride * (p.lines * (at + 1) - 1) + 1 + after, height); }

  // spot is where a column lies in a row: of every second one first, if those are side by side in a product.
  DEVICE int spot(int column) const {
    return stride == 1 ? column : (column >> 1) + (column & 1 ? p.tile + 1 : 0);
  }

  // fetch starts copying the rows that a step needs beyond those of the one before.
  DEVICE void fetch(const step& s, bool first) {
    const int above = first || s.at == 0 ? top(s.at) : bottom(s.at - 1), count = bottom(s.at) - above;
    const int left = stride * p.tile * s.tile - before + lead;
    const int each = p.channels * 2;
    const uint8_t* source = from + long(s.picture * height + above) * (width * each) + left * each;
    for (walk w = pixels; w.line < count; w.next()) {
      int at = head + w.line;
      if (at >= slots) at -= slots;
      SHARED(uint8_t, memory);
      copy16(memory + start + at * slot + spot(lead + w.column) * p.pixel + thread_x() % p.groups * 16,
             source + (w.line * width + w.column) * each, unsigned(left + w.column) < unsigned(width));
    }
    head += count;
    if (head >= slots) head -= slots;
  }
  // leave goes from a step to the next.
  DEVICE void leave(const step& s) {
    tail += (s.at + 1 < p.steps ? top(s.at + 1) : bottom(s.at)) - top(s.at);
    if (tail >= slots) tail -= slots;
  }
  // row is where a row of the step lies, or zeros in place of a row outside of the picture.
  DEVICE int row(int r, const step& s) const {
    if (r < 0 || r >= height) return 0;
    r += tail - top(s.at);
    return start + (r >= slots ? r - slots : r) * slot;
  }
};

template <bool transposed>
DEVICE void load(uint32_t r[4], int at) {
  SHARED(uint8_t, memory);
  if (transposed)
    ldmatrix4_transposed(r, memory + at);
  else
    ldmatrix4(r, memory + at);
}

// places are where this lane reads the rows of x that lines of a step need: of the first four rows one, and of the
// others one.
struct places { int first, other; };
template <int stride>
DEVICE places places_of(const rows<stride, 1, 1>& x, const step& s, int line) {
  const int lane = thread_x() % 32, matrix = lane / 8, above = stride * (x.p.lines * s.at + line) - 1;
  const int across = lane % 8 * x.p.pixel + x.p.warp * 16;
  return places{x.row(above + matrix, s) + across, x.row(above + 4 + (stride == 1 ? matrix % 2 : 0), s) + across};
}

// gather reads what four lines, or with stride 2 two, need of x for eight pixels side by side: a matrix
// [pixel, channel] for each of the rows and each of the three columns of taps.
template <int stride, bool transposed>
DEVICE void gather(uint32_t m[6][3], const rows<stride, 1, 1>& x, const places& at, int segment) {
  const int matrix = thread_x() % 32 / 8, pixel = x.p.pixel, across = segment * 8 * pixel;
  uint32_t r[4];
#pragma unroll
  for (int b = 0; b < 3; b++) {
    load<transposed>(r, at.first + across + x.spot(b) * pixel);
#pragma unroll
    for (int i = 0; i < 4; i++) m[i][b] = r[i];
  }
  if (stride == 1) {
    load<transposed>(r, at.other + across + matrix / 2 * pixel);
    m[4][0] = r[0], m[5][0] = r[1], m[4][1] = r[2], m[5][1] = r[3];
    load<transposed>(r, at.other + across + 2 * pixel);
    m[4][2] = r[0], m[5][2] = r[1];
  } else {
    load<transposed>(r, at.other + across + x.spot(least(matrix, 2)) * pixel);
    m[4][0] = r[0], m[4][1] = r[1], m[4][2] = r[2];
  }
}

// clear makes shared memory zero.
DEVICE void clear(const plan& p) {
  SHARED(uint4, memory);
  for (int i = thread_x(); i < p.bytes / 16; i += block_size()) memory[i] = uint4{0, 0, 0, 0};
  sync_threads();
}

// arrive waits until the rows of the oldest step are there.
DEVICE void arrive(int depth) {
  if (depth == 2)
    wait_copies<1>();
  else if (depth == 3)
    wait_copies<2>();
  else if (depth == 4)
    wait_copies<3>();
  else
    wait_copies<5>();
  sync_threads();
}

// put writes a product for eight pixels in each of two rows, that lie at these places, to shared memory.
DEVICE void put(int a, int b, const float d[4]) {
  SHARED(uint8_t, memory);
  *(uint32_t*)(memory + a) = narrow(d[0], d[1]);
  *(uint32_t*)(memory + b) = narrow(d[2], d[3]);
}

// write copies the rows of a step, `many` for each line of the plan, from shared memory to y.
template <int many>
DEVICE void write(const plan& p, const step& s, const walk& pixels, uint16_t* y, int from, int height, int width) {
  SHARED(uint8_t, memory);
  const int above = many * p.lines * s.at, lines = least(many * p.lines, height - above), each = p.channels * 2;
  const int left = many * p.tile * s.tile;
  uint8_t* to = (uint8_t*)(y + (p.first + thread_x() % p.groups) * 8) +
                long(s.picture * height + above) * (width * each) + left * each;
  for (walk w = pixels; w.line < lines; w.next()) {
    if (w.column >= width - left) continue;
    const int spot = many == 1 ? w.column : (w.column >> 1) + (w.column & 1 ? p.tile : 0);
    store16(to + (w.line * width + w.column) * each,
            load_shared16(memory + from + (w.line * many * p.tile + spot) * p.pixel + thread_x() % p.groups * 16));
  }
}

template <int stride>
DEVICE void forward(const uint16_t* x, const uint16_t* k, uint16_t* y) {
  constexpr int unit = stride == 1 ? 4 : 2;  // lines that a warp computes at once
  const plan p(stride, unit);
  rows<stride, 1, 1> in(p, x, p.height, p.width, rows<stride, 1, 1>::bytes(p));
  const walk out(p, p.tiles == 1 ? p.out_width : p.tile);
  const int lane = thread_x() % 32, staged = in.end();
  uint32_t weights[10] = {};
  if (p.warp < p.own)
#pragma unroll
    for (int t = 0; t < 9; t++) {
      const uint16_t* from = k + (t * 8 + lane % 4 * 2) * p.channels + p.group() * 8 + lane / 4;
      weights[t] = from[0] | uint32_t(from[p.channels]) << 16;
    }
  clear(p);
  step now(p.begin, p), ahead = now;
  for (int i = 0; i < p.depth; i++, ahead.next(p)) {
    if (p.begin + i < p.end) in.fetch(ahead, i == 0);
    commit_copies();
  }
  for (int i = p.begin; i < p.end; i++) {
    arrive(p.depth);
    const int lines = p.warp < p.own ? least(p.lines, p.out_height - p.lines * now.at) : 0;
    for (int line = p.line; line < lines; line += p.next_line) {
      const places from = places_of(in, now, line);
      for (int segment = p.segment; segment < p.segments; segment += p.warps) {
        uint32_t m[6][3];
        gather<stride, false>(m, in, from, segment);
        float d[2][4] = {};
#pragma unroll
        for (int t = 0; t < 9; t += 2)
#pragma unroll
          for (int u = 0; u < unit / 2; u++) {
            const int a = t / 3 + 2 * u, b = (t + 1) / 3 + 2 * u;  // rows of the two taps
            uint32_t pixels[4] = {m[a][t % 3], m[a + stride][t % 3], 0, 0};
            if (t < 8) pixels[2] = m[b][(t + 1) % 3], pixels[3] = m[b + stride][(t + 1) % 3];
            mma16(d[u], pixels, weights + t);
          }
        const int at = staged + (line * p.tile + segment * 8 + lane / 4) * p.pixel + p.warp * 16 + lane % 4 * 4;
        const int row = p.tile * p.pixel;
#pragma unroll
        for (int u = 0; u < unit / 2; u++) put(at + 2 * u * row, at + (2 * u + 1) * row, d[u]);
      }
    }
    sync_threads();
    if (i + p.depth < p.end) in.fetch(ahead, false);
    commit_copies();
    ahead.next(p);
    write<1>(p, now, out, y, staged, p.out_height, p.out_width);
    in.leave(now);
    now.next(p);
  }
}

KERNEL(most_threads, 2) void grouped_forward_1(const uint16_t* x, const uint16_t* k, uint16_t* y) {
  forward<1>(x, k, y);
}
KERNEL(most_threads, 2) void grouped_forward_2(const uint16_t* x, const uint16_t* k, uint16_t* y) {
  forward<2>(x, k, y);
}

// The gradient by x of a convolution of stride 2, where v is the gradient by y. Four pixels of it, two by two, are sums
// over one, two, two and four taps; lines and columns of the plan are v's.
KERNEL(most_threads, 2) void grouped_by_input_2(const uint16_t* v, const uint16_t* k, uint16_t* dx) {
  const plan p(2, 2);
  rows<1, 0, 1> in(p, v, p.out_height, p.out_width, rows<1, 0, 1>::bytes(p));
  const walk out(p, p.tiles == 1 ? p.width : 2 * p.tile);
  const int lane = thread_x() % 32, matrix = lane / 8, staged = in.end();
  uint32_t weights[10] = {};
  if (p.warp < p.own) {
    const auto tap = [&](int a, int b) {
      return *(const uint32_t*)(k + ((a * 3 + b) * 8 + lane / 4) * p.channels + p.group() * 8 + lane % 4 * 2);
    };
    weights[0] = tap(1, 1);
    weights[2] = tap(1, 2), weights[3] = tap(1, 0);
    weights[4] = tap(2, 1), weights[5] = tap(0, 1);
    weights[6] = tap(2, 2), weights[7] = tap(2, 0);
    weights[8] = tap(0, 2), weights[9] = tap(0, 0);
  }
  clear(p);
  step now(p.begin, p), ahead = now;
  for (int i = 0; i < p.depth; i++, ahead.next(p)) {
    if (p.begin + i < p.end) in.fetch(ahead, i == 0);
    commit_copies();
  }
  for (int i = p.begin; i < p.end; i++) {
    arrive(p.depth);
    const int lines = p.warp < p.own ? least(p.lines, p.out_height - p.lines * now.at) : 0;
    for (int line = p.line; line < lines; line += p.next_line) {
      const int above = p.lines * now.at + line, across = (lane % 8 + matrix / 2) * p.pixel + p.warp * 16;
      const int first = in.row(above + matrix % 2, now) + across, other = in.row(above + 2, now) + across;
      for (int segment = p.segment; segment < p.segments; segment += p.warps) {
        // m[i][j] is of v one row down for each i and one column to the right for each j.
        uint32_t m[3][2], r[4];
        load<false>(r, first + segment * 8 * p.pixel);
        m[0][0] = r[0], m[1][0] = r[1], m[0][1] = r[2], m[1][1] = r[3];
        load<false>(r, other + segment * 8 * p.pixel);
        m[2][0] = r[0], m[2][1] = r[2];
        float d[4][4] = {};  // by the parity of row and column
        const uint32_t same[4] = {m[0][0], m[1][0], 0, 0};
        const uint32_t right[4] = {m[0][0], m[1][0], m[0][1], m[1][1]};
        const uint32_t below[4] = {m[0][0], m[1][0], m[1][0], m[2][0]};
        const uint32_t aslant[4] = {m[1][0], m[2][0], m[1][1], m[2][1]};
        mma16(d[3], right, weights + 6);
        mma16(d[0], same, weights);
        mma16(d[1], right, weights + 2);
        mma16(d[2], below, weights + 4);
        mma16(d[3], aslant, weights + 8);
        const int row = 2 * p.tile * p.pixel;
        const int at = staged + 2 * line * row + (segment * 8 + lane / 4) * p.pixel + p.warp * 16 + lane % 4 * 4;
#pragma unroll
        for (int u = 0; u < 4; u++) {
          const int to = at + u / 2 * row + u % 2 * (p.tile * p.pixel);
          put(to, to + 2 * row, d[u]);
        }
      }
    }
    sync_threads();
    if (i + p.depth < p.end) in.fetch(ahead, false);
    commit_copies();
    ahead.next(p);
    write<2>(p, now, out, dx, staged, p.height, p.width);
    in.leave(now);
    now.next(p);
  }
}

// The gradient by the kernel, dk [blocks, 3, 3, 8, channels]: each block writes the sum over its steps. A product is of
// 16 pixels, eight of each of two lines, and gives two taps.
template <int stride>
DEVICE void by_kernel(const uint16_t* x, const uint16_t* v, float* dk) {
  constexpr int unit = stride == 1 ? 4 : 2;
  const plan p(stride, unit);
  rows<stride, 1, 1> in(p, x, p.height, p.width, rows<stride, 1, 1>::bytes(p));
  rows<1, 0, 0> gradient(p, v, p.out_height, p.out_width, in.end());
  const int lane = thread_x() % 32, matrix = lane / 8;
  clear(p);
  step now(p.begin, p), ahead = now;
  for (int i = 0; i < p.depth; i++, ahead.next(p)) {
    if (p.begin + i < p.end) {
      in.fetch(ahead, i == 0);
      gradient.fetch(ahead, i == 0);
    }
    commit_copies();
  }
  float sums[5][4] = {};
  for (int i = p.begin; i < p.end; i++) {
    arrive(p.depth);
    const int lines = p.warp < p.own ? least(p.lines, p.out_height - p.lines * now.at) : 0;
    for (int line = p.line; line < lines; line += p.next_line) {
      const places from = places_of(in, now, line);
      const int other =
          gradient.row(p.lines * now.at + line + matrix % unit, now) + lane % 8 * p.pixel + p.warp * 16;
      for (int segment = p.segment; segment < p.segments; segment += p.warps) {
        uint32_t m[6][3], g[4];
        load<true>(g, other + segment * 8 * p.pixel);
        gather<stride, true>(m, in, from, segment);
#pragma unroll
        for (int u = 0; u < unit / 2; u++)
#pragma unroll
          for (int t = 0; t < 9; t += 2) {
            const int a = t / 3 + 2 * u, b = (t + 1) / 3 + 2 * u;
            uint32_t pixels[4] = {m[a][t % 3], 0, m[a + stride][t % 3], 0};
            if (t < 8) pixels[1] = m[b][(t + 1) % 3], pixels[3] = m[b + stride][(t + 1) % 3];
            mma16(sums[t / 2], pixels, g + 2 * u);
          }
      }
    }
    sync_threads();
    if (i + p.depth < p.end) {
      in.fetch(ahead, false);
      gradient.fetch(ahead, false);
    }
    commit_copies();
    ahead.next(p);
    in.leave(now);
    gradient.leave(now);
    now.next(p);
  }
  // The warps of a group are added in their order.
  SHARED(float, all);
  float* mine = all + thread_x() / 32 * 640 + lane;
#pragma unroll
  for (int i = 0; i < 20; i++) mine[i * 32] = sums[i / 4][i % 4];
  sync_threads();
  if (thread_x() / 32 % p.warps > 0 || p.warp >= p.own) return;
#pragma unroll
  for (int t = 0; t < 9; t++) {
    float2 sum = {0, 0};
    for (int w = 0; w < p.warps; w++) {
      sum.x += mine[w * 640 + t * 64];
      sum.y += mine[w * 640 + t * 64 + 32];
    }
    float* to = dk + (long(block_y() * 9 + t) * 8 + lane / 4) * p.channels + p.group() * 8 + lane % 4 * 2;
    *(float2*)to = sum;
  }
}

KERNEL(most_threads, 2) void grouped_by_kernel_1(const uint16_t* x, const uint16_t* v, float* dk) {
  by_kernel<1>(x, v, dk);
}
KERNEL(most_threads, 2) void grouped_by_kernel_2(const uint16_t* x, const uint16_t* v, float* dk) {
  by_kernel<2>(x, v, dk);
}
