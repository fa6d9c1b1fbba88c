#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh FOLDER - the npm packages of FOLDER/package-lock.json: downloads them, compares them
# with the lock file, and unpacks them into a cache, without running any of their scripts. Does
# nothing if they are unpacked. Prints the folder with node_modules.
#
# POD_PLACEMENT_CACHE  the folder that has the unpacked packages (~/.cache/pod-placement)
set -euo pipefail

# To be changed with what unpack does.
readonly layout=1
readonly cache=${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}/npm

die() {
  printf 'npm: %s\n' "$*" >&2
  exit 1
}

# unpack SOURCE FOLDER
unpack() {
  local source=$1 folder=$2 work
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.work.XXXXXX")
  # shellcheck disable=SC2064  # expanded now: `work` is local
  trap "rm -rf '$work'" EXIT
  printf 'npm: downloading the packages of %s\n' "$source" >&2
  mkdir "$work/packages"
  cp "$source"/package.json "$source"/package-lock.json "$work/packages"
  # Settings of the user must not change what is installed.
  (cd "$work/packages" && env -u NODE_ENV npm ci --ignore-scripts --no-audit --no-fund \
    --include=dev --include=optional) >&2
  # Another run may have made the same folder.
  mv --no-target-directory "$work/packages" "$folder" 2>/dev/null || [[ -d $folder ]] ||
    die "cannot create $folder"
}

main() {
  [[ $# -eq 1 ]] || die "usage: install.sh FOLDER"
  command -v npm >/dev/null || die "no npm found: run third_party/install.sh LIST"
  local source=$1 name machine hash folder
  name=$(basename "$(cd "$source" && pwd)")
  # esbuild has a program for each kind of machine.
  machine=$(node --print '[process.versions.node.split(".")[0], process.platform, process.arch]')
  hash=$({ echo "$layout $machine" && cat "$source"/package.json "$source"/package-lock.json; } |
    sha256sum | cut -c 1-12)
  folder=$cache/$name-$hash
  [[ -d $folder ]] || unpack "$source" "$folder"
  printf '%s\n' "$folder"
}

main "$@"
