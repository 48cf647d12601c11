// Depthwise 3×3 convolutions of x [pictures, height, width, channels] in bf16 with k [9, channels], padding 1, and
// their gradients, each tensor being read and written once.
//
// Of "norm" kernels the input is a = min(max((x − center)·scale + offset, 0), top), rounded to bf16, which is computed
// on the way and never written.
//
// A block has some channels and, one after the other, tiles of its part: a strip of columns of a picture, or some small
// pictures. It goes down a tile in steps of some rows, two of which are on their way to shared memory while one is
// worked on. A thread has two channels and two columns of x, one result of stride 2, and keeps in registers what rows
// above leave to rows below. The order of addition is fixed.
//
// In shared memory a line is cut into units of sixteen channels, and has odd and even columns apart, so that
// neighbouring threads read neighbouring words. Columns at the border are zeros there, and no thread copies anything
// over them.
#include "cuda.h"

#define INLINED __attribute__((always_inline))

constexpr int stages = 3, across = 8;  // across: words of a unit

struct sizes {
  int pictures, height, width, channels;
  int units;            // of a block
  int several, rows;    // pictures of a tile, and rows of each in a step: all of them if there are several pictures
  int columns, strips;  // of a tile, an even number; tiles side by side in a picture
  int x_unit, v_unit;   // words of a unit of a step, in shared memory
  float top;
  DEVICE sizes() {
    pictures = dims[0], height = dims[1], width = dims[2], channels = dims[3], units = dims[4], several = dims[5];
    rows = dims[6], columns = dims[7], strips = dims[8], x_unit = dims[9], v_unit = dims[10], top = as_float(dims[11]);
  }
};

// tile is where a block is in its part.
struct tile {
  int first, strip, line;  // the first picture, and the next step's first row
  DEVICE tile(const sizes& s) {
    first = block_y() / s.strips * s.several;
    strip = block_y() % s.strips;
    line = 0;
  }
  DEVICE bool ends(const sizes& s) const { return first >= s.pictures; }
  DEVICE void advance(const sizes& s) {
    line += s.rows;
    if (line < s.height) return;
    line = 0;
    first += grid_y() / s.strips * s.several;
    strip += grid_y() % s.strips;
    if (strip >= s.strips) {
      strip -= s.strips;
      first += s.several;
    }
  }
  DEVICE int here(const sizes& s) const { return least(s.several, s.pictures - first); }
  // How many rows a step has, of all its pictures.
  DEVICE int lines(const sizes& s) const {
    return s.several == 1 ? least(s.rows, s.height - line) : here(s) * s.height;
  }
  DEVICE bool begins() const { return line == 0; }
  DEVICE bool finishes(const sizes& s) const { return line + s.rows >= s.height; }
};

// Columns odd and even apart: the odd ones, from -1 on, and then the even ones.
DEVICE int half_line(int columns) { return ((columns / 2 + 1) | 1) * across; }
DEVICE int at_column(int column, int half) { return ((column + 1) & 1) * half + (column + 1) / 2 * across; }

// mover copies a thread's share of steps: eight channels of a column in some lines.
struct mover {
  int line, every, column, width;
  int from, from_line;  // in elements of the tensor
  int to, to_line;      // in words
  bool works;
  // The columns are count, from first on in a tile; apart says that odd and even ones are.
  DEVICE mover(const sizes& s, int of_width, int first, int count, int half, int unit, bool apart) {
    const int pieces = 2 * s.units, piece = thread_x() % pieces, rest = thread_x() / pieces;
    width = of_width;
    column = rest % count + first;
    line = rest / count;
    every = block_size() / (pieces * count);
    const int channel = block_x() * s.units * 16 + piece * 8;
    works = line < every && channel < s.channels;
    from_line = width * s.channels;
    from = line * from_line + column * s.channels + channel;
    from_line *= every;
    to_line = apart ? 2 * half : half;
    to = piece / 2 * unit + line * to_line + (apart ? at_column(column, half) : column * across) + piece % 2 * 4;
    to_line *= every;
  }
  // Outside of the picture there are zeros.
  DEVICE bool inside(int left) const { return left + column >= 0 && left + column < width; }
  // The tensor is at the first line of the step and the tile's left column.
  DEVICE void copy(uint32_t* stage, const uint16_t* tensor, int left, int lines) const {
    if (!works) return;
    const bool valid = inside(left);
    tensor += from;
    stage += to;
    for (int l = line; l < lines; l += every) {
      copy16(stage, tensor, valid);
      tensor += from_line;
      stage += to_line;
    }
  }
};

DEVICE size_t offset_of(const sizes& s, int row, int width, int left) {
  return (size_t(row) * width + left) * s.channels;
}

// Which results a thread computes.
struct seat {
  int group, unit, picture, word, channel, column;  // channel and column: of the tensor, and of the tile
  bool works;
  DEVICE seat(const sizes& s) {
    int t = thread_x();
    one_register(t);  // so that nothing of a seat needs a register in loops between two of them
    word = t % across, t /= across;
    group = t % (s.columns / 2), t /= s.columns / 2;
    unit = t % s.units;
    picture = t / s.units;
    channel = (block_x() * s.units + unit) * 16 + word * 2;
    column = 2 * group;
    works = picture < s.several && channel < s.channels;
  }
};

// own is what a thread needs of its seat in a loop: where its window is in a stage, in bytes, where its first result is
// in a tile, in words, its first row in a step and its first column in a tile.
struct own {
  int window, result, row, column;
  bool works;
  DEVICE own(const sizes& s, const seat& t, int half, int height, int width, int column_of_result) {
    window = (t.unit * s.x_unit + t.picture * s.rows * 2 * half + t.group * across + t.word) * 4;
    result = (t.picture * height * width + column_of_result) * (s.channels / 2) + t.channel / 2;
    row = t.picture * s.rows;
    column = t.column;
    works = t.works;
    one_register(window), one_register(result), one_register(row), one_register(column);
  }
};

struct taps { float2 k[9]; };

// two are a thread's numbers of a vector, or of others if it has none.
DEVICE float2 two(const float* from, const sizes& s, const seat& t) {
  return *(const float2*)(from + least(t.channel, s.channels - 2));
}
DEVICE taps read_taps(const float* k, const sizes& s, const seat& t) {
  taps r;
#pragma unroll
  for (int i = 0; i < 9; i++) r.k[i] = two(k + size_t(i) * s.channels, s, t);
  return r;
}
DEVICE float2 fma2(float2 a, float2 b, float2 c) { return float2{fma(a.x, b.x, c.x), fma(a.y, b.y, c.y)}; }
// set is to = from; of that clang makes a 64-bit number, and takes it apart again.
DEVICE void set(float2& to, float2 from) { to.x = from.x, to.y = from.y; }
DEVICE float2 mul2(float2 a, float2 b) { return float2{a.x * b.x, a.y * b.y}; }
// bias_of is such that x·scale + bias = (x − center)·scale + offset.
DEVICE float bias_of(float center, float scale, float offset) { return fma(-center, scale, offset); }

DEVICE void clear(uint32_t* all, int words) {
  for (int i = thread_x() * 4; i < words; i += block_size() * 4) *(uint4*)(all + i) = uint4{0, 0, 0, 0};
}

// add_up adds a thread's sums to those of all threads with the same channels and writes them: the first count of them
// to [parts, count, channels], the others to others in the same way.
template <int count, int more>
DEVICE void add_up(const float2* sums, const sizes& s, float* out, float* others) {
  SHARED(float, all);
  const seat t(s);
  const int width = s.units * 16, groups = s.columns / 2, slots = groups * s.several;
  wait_copies<0>();
  sync_threads();
  if (t.picture < s.several) {
    float* to = all + (t.picture * groups + t.group) * width + t.unit * 16 + t.word * 2;
#pragma unroll
    for (int i = 0; i < count + more; i++, to += slots * width) *(float2*)to = sums[i];
  }
  sync_threads();
  const int first = block_x() * width;
  for (int i = thread_x(); i < (count + more) * width; i += block_size()) {
    const int which = i / width, c = i % width;
    const float* from = all + which * slots * width + c;
    float sum = 0;
    for (int k = 0; k < slots; k++) sum += from[k * width];
    if (first + c >= s.channels) continue;
    if (which < count)
      out[(size_t(block_y()) * count + which) * s.channels + first + c] = sum;
    else
      others[(size_t(block_y()) * more + which - count) * s.channels + first + c] = sum;
  }
}

DEVICE uint32_t activate(uint32_t x, float2 scale, float2 bias, uint32_t top) {
  const float2 z = fma2(wide(x), scale, bias);
  return least_bf16(narrow_positive(z.x, z.y), top);
}

// activate_own computes a in place of what the thread has copied. scale and bias are of its eight channels.
DEVICE void activate_own(const mover& m, uint32_t* stage, int left, int lines, const float* scale, const float* bias,
                         uint32_t top) {
  if (!m.works || !m.inside(left)) return;
  float2 slope[4], start[4];
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const uint4 a = load_shared16(scale + 2 * i), b = load_shared16(bias + 2 * i);
    slope[i] = float2{as_float(a.x), as_float(a.y)}, slope[i + 1] = float2{as_float(a.z), as_float(a.w)};
    start[i] = float2{as_float(b.x), as_float(b.y)}, start[i + 1] = float2{as_float(b.z), as_float(b.w)};
  }
  stage += m.to;
  for (int l = m.line; l < lines; l += m.every, stage += m.to_line) {
    uint4 v = load_shared16(stage);
    v.x = activate(v.x, slope[0], start[0], top);
    v.y = activate(v.y, slope[1], start[1], top);
    v.z = activate(v.z, slope[2], start[2], top);
    v.w = activate(v.w, slope[3], start[3], top);
    *(uint4*)stage = v;
  }
}

struct moments {
  float2 shift, sum, squares;
  DEVICE void add(uint32_t word) {
    const float2 y = wide(word), d = {y.x - shift.x, y.y - shift.y};
    sum.x += d.x, sum.y += d.y;
    squares = fma2(d, d, squares);
  }
};

constexpr int step = across * 4;  // bytes between columns of the same kind

// read is a word of shared memory that is so many columns of the same kind from an address.
template <int columns = 0>
DEVICE float2 read(uint32_t address) { return wide(load_shared4<columns * step>(address)); }

// Four columns of a row: those of a thread and one on each side. The addresses are those of the first of each kind.
struct window {
  float2 f[4];
  DEVICE window(uint32_t odd, uint32_t even) {
    f[0] = read(odd), f[1] = read(even), f[2] = read<1>(odd), f[3] = read<1>(even);
  }
};

template <int stride, bool norm>
DEVICE void forward(const uint16_t* x, const float* k, const float* shift, const float* center, const float* scale,
                    const float* offset, uint16_t* y, float* parts) {
  SHARED(uint32_t, all);
  const sizes s;
  const seat t(s);
  const int half = half_line(s.columns), stage_words = s.units * s.x_unit, wide_channels = s.units * 16;
  const int to_width = (s.width - 1) / stride + 1, to_height = (s.height - 1) / stride + 1;
  const bool whole = s.strips == 1;
  const mover m(s, s.width, whole ? 0 : -1, whole ? s.width : s.columns + 2, half, s.x_unit, true);
  clear(all, stages * stage_words);
  float* const slopes = (float*)(all + stages * stage_words);
  if (norm)
    for (int c = thread_x(); c < wide_channels; c += block_size()) {
      const int channel = block_x() * wide_channels + c;
      const bool exists = channel < s.channels;
      slopes[c] = exists ? scale[channel] : 0;
      slopes[wide_channels + c] = exists ? bias_of(center[channel], scale[channel], offset[channel]) : 0;
    }
  const float* const slope = slopes + thread_x() % (2 * s.units) * 8;
  const uint32_t top = narrow(s.top, s.top);
  sync_threads();

  tile ahead(s);
  int ahead_stage = 0;
  const auto fetch = [&]() INLINED {
    if (!ahead.ends(s)) {
      const int left = ahead.strip * s.columns, row = ahead.first * s.height + ahead.line;
      m.copy(all + ahead_stage * stage_words, x + offset_of(s, row, s.width, left), left, ahead.lines(s));
      ahead.advance(s);
      ahead_stage = ahead_stage == stages - 1 ? 0 : ahead_stage + 1;
    }
    commit_copies();
  };
#pragma unroll
  for (int i = 0; i < stages - 1; i++) fetch();

  const taps w = read_taps(k, s, t);
  moments sums = {two(shift, s, t), {0, 0}, {0, 0}};
  float2 p[2] = {}, q[2] = {};  // what is known of the next row of results, and with stride 1 of the one after it
  const own mine(s, t, half, to_height, to_width, t.column / stride);
  const int to_words = s.channels / 2, to_row = to_width * to_words;
  int stage = 0;
  for (tile now(s); !now.ends(s); now.advance(s)) {
    wait_copies<stages - 2>();
    uint32_t* const here = all + stage * stage_words;
    const int left = now.strip * s.columns, lines = now.lines(s);
    if (norm) activate_own(m, here, left, lines, slope, slope + wide_channels, top);
    sync_threads();
    fetch();  // to where the last step was
    stage = stage == stages - 1 ? 0 : stage + 1;
    const int rows = least(s.rows, lines - mine.row);
    if (!mine.works || rows <= 0 || left + mine.column >= s.width) continue;

    uint32_t odd = shared_address(here) + mine.window;
    const bool right = left + mine.column + 1 < s.width;
    uint32_t* to = (uint32_t*)y + (size_t(now.first) * to_height + now.line / stride) * to_row +
                   size_t(left / stride) * to_words + mine.result;
    const auto down = [&]() INLINED {
      odd += half * 8;
      one_register(odd);
    };
    const auto result_down = [&]() INLINED {
      to += to_row;
      one_register(to);
    };
    int r = 0;
    if constexpr (stride == 1) {
      const auto write = [&](float2 a, float2 b) INLINED {
        const uint32_t one = narrow(a), other = narrow(b);
        store4(to, one);
        sums.add(one);
        if (right) {
          store4(to + to_words, other);
          sums.add(other);
        }
        result_down();
      };
      if (now.begins()) {
        const window f(odd, odd + half * 4);
#pragma unroll
        for (int c = 0; c < 2; c++) {
          p[c] = mul2(f.f[c], w.k[3]), q[c] = mul2(f.f[c], w.k[0]);
#pragma unroll
          for (int j = 1; j < 3; j++) p[c] = fma2(f.f[c + j], w.k[3 + j], p[c]), q[c] = fma2(f.f[c + j], w.k[j], q[c]);
        }
        down();
        r = 1;
      } else {
        to -= to_row;
      }
      for (; r < rows; r++) {
        const window f(odd, odd + half * 4);
        down();
        float2 out[2];
#pragma unroll
        for (int c = 0; c < 2; c++) {
          set(out[c], p[c]), set(p[c], q[c]), set(q[c], mul2(f.f[c], w.k[0]));
#pragma unroll
          for (int j = 0; j < 3; j++) {
            out[c] = fma2(f.f[c + j], w.k[6 + j], out[c]);
            p[c] = fma2(f.f[c + j], w.k[3 + j], p[c]);
            if (j) q[c] = fma2(f.f[c + j], w.k[j], q[c]);
          }
        }
        write(out[0], out[1]);
      }
      if (now.finishes(s)) write(p[0], p[1]);
    } else {
      const auto write = [&](float2 a) INLINED {
        const uint32_t one = narrow(a);
        store4(to, one);
        sums.add(one);
        result_down();
      };
      const auto row = [&](float2* f) INLINED {
        f[0] = read(odd), f[1] = read(odd + half * 4), f[2] = read<1>(odd);
        down();
      };
      if (now.begins()) p[0] = float2{0, 0};
      for (; r + 1 < rows; r += 2) {
        float2 e[3], o[3], out = p[0];
        row(e);
        row(o);
        p[0] = mul2(o[0], w.k[0]);
#pragma unroll
        for (int j = 0; j < 3; j++) {
          out = fma2(o[j], w.k[6 + j], fma2(e[j], w.k[3 + j], out));
          if (j) p[0] = fma2(o[j], w.k[j], p[0]);
        }
        write(out);
      }
      if (r < rows) {  // the last row of a picture
        float2 e[3], out = p[0];
        row(e);
#pragma unroll
        for (int j = 0; j < 3; j++) out = fma2(e[j], w.k[3 + j], out);
        write(out);
      }
    }
  }
  const float2 result[2] = {sums.sum, sums.squares};
  add_up<2, 0>(result, s, parts, nullptr);
}

// limits are where pixels are clipped: at top, or at 0, so that a and the gradient are 0, outside of the picture.
struct limits {
  uint32_t both, bits;
  DEVICE limits(float top, bool exists) : both(exists ? narrow(top, top) : 0), bits(exists ? as_uint(top) - 1 : 0) {}
  // inside reports whether 0 < z < top. As whole numbers, floats above 0 have the same order, and lie below others.
  DEVICE bool inside(float z) const { return as_uint(z) - 1 < bits; }
};

// What a pixel of x becomes: itself, or a of a norm.
template <bool norm>
struct inputs {
  float2 center, scale, bias, sum, cross;
  DEVICE float2 a(float2 x, limits top) const {
    if (!norm) return x;
    const float2 z = fma2(x, scale, bias);
    return wide(least_bf16(narrow_positive(z.x, z.y), top.both));
  }
  // result rounds the gradient by a, and adds it up.
  DEVICE uint32_t result(float2 g, float2 x, limits top) {
    if (!norm) return narrow(g);
    const float2 z = fma2(x, scale, bias);
    g.x = top.inside(z.x) ? g.x : 0;
    g.y = top.inside(z.y) ? g.y : 0;
    const uint32_t word = narrow(g);
    g = wide(word);
    sum.x += g.x, sum.y += g.y;
    cross = fma2(g, float2{x.x - center.x, x.y - center.y}, cross);
    return word;
  }
};

// The gradient by x at q is Σ v[q − t]·k[t] over taps t from -1 to 1 each way, and the gradient by k[t] is
// Σ a[q]·v[q − t] over all q: both need v around q, and of x only q itself.
template <int stride, bool norm>
DEVICE void backward(const uint16_t* x, const uint16_t* v, const float* k, const float* center, const float* scale,
                     const float* offset, uint16_t* dx, float* dk, float* parts) {
  SHARED(uint32_t, all);
  const sizes s;
  const seat t(s);
  const int half = half_line(s.columns), stage_words = s.units * (s.x_unit + s.v_unit);
  const int v_width = (s.width - 1) / stride + 1, v_height = (s.height - 1) / stride + 1;
  const int v_columns = s.columns / stride;
  // Of stride 2 only the column to the right of the tile is needed, too.
  const int v_line = stride == 1 ? 2 * half : (v_columns + 1) * across;
  const bool whole = s.strips == 1;
  const mover mx(s, s.width, 0, whole ? s.width : s.columns, half, s.x_unit, true);
  const mover mv(s, v_width, whole || stride == 2 ? 0 : -1, whole ? v_width : v_columns + 3 - stride,
                 stride == 1 ? half : v_line, s.v_unit, stride == 1);
  clear(all, stages * stage_words);
  sync_threads();

  tile ahead(s);
  int ahead_stage = 0;
  const auto fetch = [&]() INLINED {
    if (!ahead.ends(s)) {
      const int left = ahead.strip * s.columns, v_left = left / stride, lines = ahead.lines(s);
      uint32_t* const to = all + ahead_stage * stage_words;
      mx.copy(to, x + offset_of(s, ahead.first * s.height + ahead.line, s.width, left), left, lines);
      mv.copy(to + s.units * s.x_unit,
              v + offset_of(s, ahead.first * v_height + ahead.line / stride, v_width, v_left), v_left,
              s.several == 1 ? (lines + stride - 1) / stride : ahead.here(s) * v_height);
      ahead.advance(s);
      ahead_stage = ahead_stage == stages - 1 ? 0 : ahead_stage + 1;
    }
    commit_copies();
  };
#pragma unroll
  for (int i = 0; i < stages - 1; i++) fetch();

  const taps w = read_taps(k, s, t);
  inputs<norm> in = {};
  if (norm) {
    const float2 start = two(offset, s, t);
    in.center = two(center, s, t), in.scale = two(scale, s, t);
    in.bias = float2{bias_of(in.center.x, in.scale.x, start.x), bias_of(in.center.y, in.scale.y, start.y)};
  }
  float2 g[9] = {};  // the gradient by k
  // Of the row above, whose gradient waits for this one: x, a, v, and what is known of the gradients of it and of this
  // row.
  float2 x_above[2] = {}, a_above[2] = {}, p[2] = {}, q[2] = {};
  float2 v_above[4] = {};
  const own mine(s, t, half, s.height, s.width, t.column);
  int window_v = (s.units * s.x_unit + t.unit * s.v_unit + t.picture * ((s.rows + stride - 1) / stride) * v_line +
                  t.group * across + t.word) * 4;
  one_register(window_v);
  const int words = s.channels / 2, to_row = s.width * words;
  int stage = 0;
  for (tile now(s); !now.ends(s); now.advance(s)) {
    wait_copies<stages - 2>();
    sync_threads();
    fetch();  // to where the last step was
    uint32_t* const here = all + stage * stage_words;
    stage = stage == stages - 1 ? 0 : stage + 1;
    const int left = now.strip * s.columns;
    const int rows = least(s.rows, now.lines(s) - mine.row);
    if (!mine.works || rows <= 0 || left + mine.column >= s.width) continue;

    uint32_t odd = shared_address(here) + mine.window, from_v = shared_address(here) + window_v;
    const bool right = left + mine.column + 1 < s.width;
    const limits top[2] = {limits(s.top, true), limits(s.top, right)};
    uint32_t* to = (uint32_t*)dx + (size_t(now.first) * s.height + now.line) * to_row + size_t(left) * words +
                   mine.result;
    const auto write = [&](const float2* out, const float2* x) INLINED {
      store4(to, in.result(out[0], x[0], top[0]));
      const uint32_t other = in.result(out[1], x[1], top[1]);
      if (right) store4(to + words, other);
      to += to_row;
      one_register(to);
    };
    const auto row = [&](float2* x, float2* a) INLINED {
      set(x[0], read(odd + half * 4)), set(x[1], read<1>(odd));
      set(a[0], in.a(x[0], top[0])), set(a[1], in.a(x[1], top[1]));
      odd += half * 8;
      one_register(odd);
    };
    int r = 0;
    if constexpr (stride == 1) {
      // next takes a row of v and of x, and finishes the row above, if there is one.
      const auto next = [&](bool above) INLINED {
        const window f(from_v, from_v + half * 4);
        from_v += v_line * 4;
        one_register(from_v);
        float2 x[2], a[2], out[2];
        row(x, a);
#pragma unroll
        for (int c = 0; c < 2; c++) {
          set(out[c], p[c]), set(p[c], q[c]), set(q[c], float2{0, 0});
#pragma unroll
          for (int j = 0; j < 3; j++) {
            const float2 u = f.f[c + 2 - j];
            out[c] = fma2(u, w.k[j], out[c]);
            p[c] = fma2(u, w.k[3 + j], p[c]);
            q[c] = fma2(u, w.k[6 + j], q[c]);
            g[j] = fma2(a_above[c], u, g[j]);
            g[3 + j] = fma2(a[c], u, g[3 + j]);
            g[6 + j] = fma2(a[c], v_above[c + 2 - j], g[6 + j]);
          }
        }
        if (above) write(out, x_above);
#pragma unroll
        for (int i = 0; i < 4; i++) set(v_above[i], f.f[i]);
#pragma unroll
        for (int c = 0; c < 2; c++) set(a_above[c], a[c]), set(x_above[c], x[c]);
      };
      if (now.begins()) {
#pragma unroll
        for (int c = 0; c < 2; c++) {
          set(p[c], float2{0, 0}), set(q[c], float2{0, 0});
          set(a_above[c], float2{0, 0}), set(x_above[c], float2{0, 0});
        }
#pragma unroll
        for (int i = 0; i < 4; i++) set(v_above[i], float2{0, 0});
      } else {
        to -= to_row;
      }
      // Two rows at once, so that nothing is moved from register to register.
      for (;;) {
        next(r > 0 || !now.begins());
        if (++r == rows) break;
        next(true);
        if (++r == rows) break;
      }
      if (now.finishes(s)) write(p, x_above);
    } else {
      // Columns of v: that of the thread and the one to the right. An even row and column is under the middle of one
      // result, an odd one under the outer taps of two.
      float2 f[2];
      const auto spread = [&](float2* out, const float2* a, int i) INLINED {
        out[0] = fma2(f[0], w.k[i + 1], out[0]);
        out[1] = fma2(f[1], w.k[i], fma2(f[0], w.k[i + 2], out[1]));
        g[i + 1] = fma2(a[0], f[0], g[i + 1]);
        g[i + 2] = fma2(a[1], f[0], g[i + 2]);
        g[i] = fma2(a[1], f[1], g[i]);
      };
      const auto even = [&](bool above) INLINED {
        f[0] = read(from_v), f[1] = read<1>(from_v);
        from_v += v_line * 4;
        one_register(from_v);
        if (above) {
          spread(p, a_above, 0);
          write(p, x_above);
        }
        float2 x[2], a[2], out[2] = {};
        row(x, a);
        spread(out, a, 3);
        write(out, x);
      };
      const auto odd = [&]() INLINED {
        row(x_above, a_above);
        p[0] = p[1] = float2{0, 0};
        spread(p, a_above, 6);
      };
      if (now.begins()) {
        even(false);
        if (rows > 1) odd();
        r = 2;
      } else {
        to -= to_row;
      }
      for (; r + 1 < rows; r += 2) {
        even(true);
        odd();
      }
      if (r < rows) even(true);  // the last row of a picture
      if (now.finishes(s) && s.height % 2 == 0) write(p, x_above);
    }
  }
  float2 result[11];
#pragma unroll
  for (int i = 0; i < 9; i++) result[i] = g[i];
  result[9] = in.sum, result[10] = in.cross;
  add_up<9, norm ? 2 : 0>(result, s, dk, parts);
}

#define FORWARD(stride)                                                                                              \
  KERNEL(384, 2) void depthwise_forward_##stride(const uint16_t* x, const float* k, const float* shift, uint16_t* y, \
                                                 float* parts) {                                                     \
    forward<stride, false>(x, k, shift, nullptr, nullptr, nullptr, y, parts);                                        \
  }                                                                                                                  \
  KERNEL(384, 2) void depthwise_forward_norm_##stride(const uint16_t* x, const float* k, const float* shift,         \
                                                      const float* center, const float* scale, const float* offset,  \
                                                      uint16_t* y, float* parts) {                                   \
    forward<stride, true>(x, k, shift, center, scale, offset, y, parts);                                             \
  }
#define BACKWARD(stride)                                                                                             \
  KERNEL(256, 2) void depthwise_backward_##stride(const uint16_t* x, const uint16_t* v, const float* k,              \
                                                  uint16_t* dx, float* dk) {                                         \
    backward<stride, false>(x, v, k, nullptr, nullptr, nullptr, dx, dk, nullptr);                                    \
  }                                                                                                                  \
  KERNEL(256, 2) void depthwise_backward_norm_##stride(const uint16_t* x, const uint16_t* v, const float* k,         \
                                                       const float* center, const float* scale, const float* offset, \
                                                       uint16_t* g, float* dk, float* parts) {                       \
    backward<stride, true>(x, v, k, center, scale, offset, g, dk, parts);                                            \
  }
FORWARD(1)
FORWARD(2)
BACKWARD(1)
BACKWARD(2)
