#!/usr/bin/env bash
# Builds the archives of a release, with checksums:
#
#   scripts/release.sh v1.2.3 OUTDIR [TARGET…]
#
# Without targets all of them. Each archive has the program, README, LICENSE, CHANGELOG, the licences of everything
# inside, completions and the man page. Programs are static, but that of linux-amd64-cuda, which is for GPUs, needs the
# C library of this machine or a newer one. The same commit gives the same bytes with the same Go (and C compiler).
# Needs Linux, git, GNU tar, gzip and zip; a C compiler for linux-amd64-cuda.
set -euo pipefail
umask 022
export LC_ALL=C TZ=UTC
all="linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64 windows-arm64 linux-amd64-cuda"
[ $# -ge 2 ] || { printf 'usage: scripts/release.sh VERSION OUTDIR [TARGET…]\ntargets: %s\n' "$all" >&2; exit 2; }
version=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- $all
cd "$(dirname "$0")/.."
if [ -n "$(git status --porcelain)" ]; then
  echo "there are changes that are in no commit: commit them, or release from another clone" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q . "$work/source" # nothing but what is committed; Go reads the commit from a clone, not from a worktree
cd "$work/source"
epoch=$(git log -1 --format=%ct)

# build PROGRAM, for GOOS, GOARCH and CGO_ENABLED
build() {
  go build -trimpath -buildvcs=true -ldflags "-s -w -buildid= -X main.stamp=$version" -o "$1" ./cmd/bregman
}

# What archives of all targets have in common is written by a program for this machine.
CGO_ENABLED=0 build "$work/bregman"
mkdir -p "$work/common/completions" "$work/common/man"
cp README.md LICENSE CHANGELOG.md "$work/common/"
"$work/bregman" completion bash > "$work/common/completions/bregman.bash"
"$work/bregman" completion zsh > "$work/common/completions/_bregman"
"$work/bregman" completion fish > "$work/common/completions/bregman.fish"
"$work/bregman" help --man > "$work/common/man/bregman.1"

archives=()
for target in "$@"; do
  IFS=- read -r GOOS GOARCH kind <<< "$target"
  case " $all " in *" $target "*) ;; *) echo "no such target: $target; there are $all" >&2; exit 2 ;; esac
  export GOOS GOARCH
  export CGO_ENABLED=$([ "$kind" = cuda ] && echo 1 || echo 0)
  name=bregman-$version-$target
  dir=$work/$name
  cp -r "$work/common" "$dir"
  scripts/licenses.sh "$dir/licenses"
  program=$dir/bregman
  [ "$GOOS" != windows ] || program=$program.exe
  build "$program"
  chmod -R u=rwX,go=rX "$dir"
  find "$dir" -exec touch -h -d "@$epoch" {} +
  if [ "$GOOS" = windows ]; then
    archive=$name.zip
    rm -f "$out/$archive"
    (cd "$work" && find "$name" | sort | zip -q -X -9 -@ "$out/$archive")
  else
    archive=$name.tar.gz
    tar -C "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=gnu -cf - "$name" |
      gzip -9n > "$out/$archive"
  fi
  rm -rf "$dir"
  archives+=("$archive")
  echo "$out/$archive"
done
unset GOOS GOARCH CGO_ENABLED
(cd "$out" && sha256sum "${archives[@]}") > "$out/bregman-$version-SHA256SUMS"
echo "$out/bregman-$version-SHA256SUMS"
