/* Writes a JPEG's planes as libjpeg-turbo decodes them: all of Y, then Cb, then Cr, without padding.
   cc planes.c -lturbojpeg -lm; ./a.out IN.jpg OUT.yuv   or   ./a.out -ycck WIDTH HEIGHT IN.cmyk OUT.jpg */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

static unsigned char in[1 << 24], pix[1 << 24], out[1 << 24], *planes[3], *jpeg;

static unsigned char level(double v) { return v < 0 ? 0 : v > 255 ? 255 : (unsigned char)floor(v + 0.5); }

static size_t all(const char *name) {
  FILE *f = fopen(name, "rb");
  if (!f) exit(1);
  size_t n = fread(in, 1, sizeof in, f);
  fclose(f);
  return n;
}

int main(int argc, char **argv) {
  int w, h, sub, space, i, y;
  unsigned long n;
  if (argc == 6) { /* inverted CMYK, as Adobe has it, to YCCK */
    all(argv[4]);
    if (tjCompress2(tjInitCompress(), in, atoi(argv[2]), 0, atoi(argv[3]), TJPF_CMYK, &jpeg, &n, TJSAMP_444, 85, 0)) return 1;
    FILE *f = fopen(argv[5], "wb");
    fwrite(jpeg, 1, n, f);
    return fclose(f);
  }
  tjhandle t = tjInitDecompress();
  n = all(argv[1]);
  if (tjDecompressHeader3(t, in, n, &w, &h, &sub, &space)) return 2;
  FILE *f = fopen(argv[2], "wb");
  if (space == TJCS_YCbCr || space == TJCS_GRAY) {
    int strides[3] = {0, 0, 0}, count = space == TJCS_GRAY ? 1 : 3;
    for (i = 0; i < count; i++) planes[i] = out + i * sizeof out / 3;
    if (tjDecompressToYUVPlanes(t, in, n, planes, w, strides, h, TJFLAG_ACCURATEDCT)) return 3;
    for (i = 0; i < count; i++) {
      int sx = i ? tjMCUWidth[sub] / 8 : 1, sy = i ? tjMCUHeight[sub] / 8 : 1;
      for (y = 0; y < (h + sy - 1) / sy; y++)
        fwrite(planes[i] + y * tjPlaneWidth(i, w, sub), 1, (w + sx - 1) / sx, f);
    }
    return fclose(f);
  }
  int cmyk = space != TJCS_RGB;
  if (tjDecompress2(t, in, n, pix, w, 0, h, cmyk ? TJPF_CMYK : TJPF_RGBA, TJFLAG_ACCURATEDCT)) return 4;
  for (i = 0; i < w * h; i++) {
    unsigned char *c = pix + 4 * i;
    double k = cmyk ? c[3] / 255. : 1, r = c[0] * k, g = c[1] * k, b = c[2] * k;
    out[i] = level(0.299 * r + 0.587 * g + 0.114 * b);
    out[w * h + i] = level(128 - 0.168735892 * r - 0.331264108 * g + 0.5 * b);
    out[2 * w * h + i] = level(128 + 0.5 * r - 0.418687589 * g - 0.081312411 * b);
  }
  fwrite(out, 1, 3 * w * h, f);
  return fclose(f);
}
