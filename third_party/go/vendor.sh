#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# vendor.sh MODULE - the Go packages that the program in the folder MODULE is built from, apart from
# Go's own: downloads the modules of its go.mod, compares them with go.sum, and packs them as Go's
# vendor folder. Does nothing if they are packed. Tests (*_test.go) may import only the same
# packages. Prints four lines: the folder with vendor.tar and the licence of Go, the go program that
# go.mod asks for, its version, and the folder of its build cache.
#
# POD_PLACEMENT_CACHE  the folder that has the packed modules (~/.cache/pod-placement)
set -euo pipefail

# To be changed with what pack does.
readonly layout=2
readonly cache=${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}/go-modules
# Debian configures Go not to download newer toolchains; go.mod may need one. Workspace and flags of
# the user must not change what is built.
export GOTOOLCHAIN=auto GOWORK=off GOFLAGS=

# sources MODULE
sources() {
  find "$1" -maxdepth 1 -name '*.go' ! -name '*_test.go' | sort
}

die() {
  printf 'vendor: %s\n' "$*" >&2
  exit 1
}

# pack MODULE FOLDER
pack() {
  local module=$1 folder=$2 work
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.work.XXXXXX")
  # shellcheck disable=SC2064  # expanded now: `work` is local
  trap "rm -rf '$work'" EXIT
  printf 'vendor: downloading the Go modules of %s\n' "$module" >&2
  mkdir "$work/module" "$work/packed"
  sources "$module" | xargs cp -t "$work/module" "$module"/go.{mod,sum}
  (cd "$work/module" && go mod vendor) >&2
  cp "$(cd "$module" && go env GOROOT)/LICENSE" "$work/packed/go.LICENSE"
  # Equal input gives equal bytes: the tar file is an input of Bazel's actions.
  tar --create --file="$work/packed/vendor.tar" --directory="$work/module" --sort=name \
    --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar vendor
  # Another run may have made the same folder.
  mv --no-target-directory "$work/packed" "$folder" 2>/dev/null || [[ -d $folder ]] ||
    die "cannot create $folder"
}

main() {
  [[ $# -eq 1 ]] || die "usage: vendor.sh MODULE"
  command -v go >/dev/null || die "no Go found: run third_party/install.sh --go"
  local module=$1 hash folder
  # What is vendored follows from these files and from the imports of the program.
  hash=$({ echo "$layout" && cat "$module"/go.{mod,sum} &&
    sources "$module" | xargs cat | sed -n '/^import/,/^)/p' | grep '"' | sort -u; } |
    sha256sum | cut -c 1-12)
  folder=$cache/$(basename "$module")-$hash
  [[ -d $folder ]] || pack "$module" "$folder"
  cd "$module"
  printf '%s\n%s/bin/go\n%s\n%s\n' "$folder" "$(go env GOROOT)" "$(go env GOVERSION)" \
    "$(go env GOCACHE)"
}

main "$@"
