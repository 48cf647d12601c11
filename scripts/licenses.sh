#!/usr/bin/env bash
# Collects the licences of everything in the program: of the modules that are linked in, of Go, and of built-in data
# and scripts. GOOS, GOARCH and CGO_ENABLED say which program. It fails if a module has no licence.
set -euo pipefail
shopt -s nocasematch nullglob
[ $# -eq 1 ] || { echo "usage: scripts/licenses.sh OUTDIR" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

# copy FROM TO: the files of a folder that are licences or notices.
copy() {
  local f
  for f in "$1"/*; do
    case ${f##*/} in
      *.go) ;;
      license* | licence* | copying* | notice* | patents* | unlicense*)
        mkdir -p "$2"
        cp -r "$f" "$2/"
        ;;
    esac
  done
}

missing=0
while read -r module version root; do
  copy "$root" "$out/$module@$version"
  [ -d "$out/$module@$version" ] || { echo "$module $version has no licence in $root" >&2; missing=1; }
done < <(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/bregman | sort -u)
# Packages with a licence of their own, inside of a module.
while read -r module version root dir; do
  while [ "$dir" != "$root" ]; do
    copy "$dir" "$out/$module@$version${dir#"$root"}"
    dir=$(dirname "$dir")
  done
done < <(go list -deps -f '{{$dir := .Dir}}{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}} {{$dir}}{{end}}{{end}}' ./cmd/bregman | sort -u)
copy "$(go env GOROOT)" "$out/go@$(go env GOVERSION)"
# What else is inside of our own files: data, scripts of the dashboard.
mkdir -p "$out/files"
cp dataset/tables/SOURCES.md "$out/files/dataset-tables.md"
git ls-files ':(icase)*licen[sc]e*' ':(icase)*copying*' ':(icase)*notice*' ':!LICENSE' ':!scripts' | while read -r f; do
  cp "$f" "$out/files/${f//\//-}"
done
chmod -R u+w "$out" # the module cache is read-only
exit $missing
