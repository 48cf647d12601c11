#!/bin/sh
# Makes the pictures in this folder, and with planes.c the planes that libjpeg-turbo decodes from them (.yuv).
# Debian: apt-get install libjpeg-turbo-progs imagemagick libimage-exiftool-perl webp libturbojpeg0-dev gcc
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT
cc -O1 -o "$tmp/planes" planes.c -lturbojpeg -lm

# Smooth colours, edges, dark and bright, to the last corner: an empty corner would hide missing data.
convert -seed 11 -size 45x37 plasma:tomato-steelblue -seed 4 -attenuate 0.4 +noise Gaussian -fill yellow \
	-draw 'circle 30,12 36,16' -fill black -draw 'line 3,35 25,2' -alpha off -depth 8 "$tmp/picture.png"
convert "$tmp/picture.png" "$tmp/picture.ppm"
convert "$tmp/picture.png" -colorspace Gray -depth 8 "$tmp/picture.pgm"
jpeg() { cjpeg -quality 85 "$@" "$tmp/picture.ppm"; }

jpeg -sample 1x1 >444.jpg
jpeg -sample 2x1 >422.jpg
jpeg -sample 1x2 >440.jpg
jpeg -sample 2x2 >420.jpg
jpeg -sample 4x1 >411.jpg
cjpeg -quality 85 "$tmp/picture.pgm" >grey.jpg
jpeg -sample 2x2 -restart 2B >restart.jpg
jpeg -sample 1x1 -rgb >rgb.jpg
jpeg -sample 2x2 -progressive >progressive-420.jpg
jpeg -sample 1x1 -progressive >progressive-444.jpg
printf '0;1;2;' >"$tmp/scans"
jpeg -sample 2x2 -scans "$tmp/scans" >three-scans.jpg
cjpeg -quality 5 -sample 2x2 "$tmp/picture.ppm" >wide-quantiser.jpg
convert "$tmp/picture.png" -colorspace CMYK -sampling-factor 1x1 -quality 85 cmyk.jpg
convert "$tmp/picture.png" -colorspace CMYK -negate -depth 8 "$tmp/picture.cmyk"
"$tmp/planes" -ycck 45 37 "$tmp/picture.cmyk" ycck.jpg
exiftool -q -o - -n -Orientation=6 420.jpg >rotated.jpg
{ cat 420.jpg; printf 'more bytes'; } >trailing.jpg

for name in 444 422 440 420 411 grey restart rgb progressive-420 progressive-444 three-scans wide-quantiser cmyk ycck; do
	"$tmp/planes" $name.jpg $name.yuv
done

half() { head -c $(($(wc -c <"$1") * 2 / 3)) "$1"; }
half 420.jpg >truncated.jpg
{ half 420.jpg; printf '\377\331'; } >truncated-eoi.jpg
{ half progressive-420.jpg; printf '\377\331'; } >truncated-progressive-eoi.jpg
jpeg -arithmetic >arithmetic.jpg
jpeg -arithmetic -progressive >arithmetic-progressive.jpg
perl -0777 -pe 's/\xff\xc0(..)\x08/\xff\xc1$1\x0c/s' 444.jpg >12-bit.jpg # the header only: cjpeg makes 8 bits
perl -0777 -pe 's/\xff\xc0/\xff\xc3/' 444.jpg >lossless.jpg
perl -0777 -pe 's/\xff\xc0(..)\x08..../\xff\xc0$1\x08\xea\x60\xea\x60/s' 420.jpg >60000.jpg
perl -0777 -pe 's/\xff\xc0(..)\x08..../\xff\xc0$1\x08\x1f\x40\x1f\x40/s' 420.jpg >8000.jpg

convert "$tmp/picture.png" -strip png24.png
cp png24.png named.JPEG
convert "$tmp/picture.png" -strip -colors 30 PNG8:palette.png
convert "$tmp/picture.png" -strip -crop 21x17+9+7 +repage -depth 16 -evaluate multiply 0.9 PNG48:16-bit.png
convert "$tmp/picture.png" -strip \( -size 45x37 gradient: \) -compose CopyOpacity -composite PNG32:alpha.png
convert "$tmp/picture.pgm" -strip -depth 8 -define png:color-type=0 grey.png
convert "$tmp/picture.pgm" -strip \( -size 45x37 gradient: \) -compose CopyOpacity -composite \
	-define png:color-type=4 grey-alpha.png
head -c 1000 png24.png >truncated.png
convert "$tmp/picture.png" -strip -colors 16 gif.gif
cwebp -quiet -q 50 "$tmp/picture.png" -o webp.webp
: >empty.jpg
