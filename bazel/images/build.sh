#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh [ARCHITECTURE...] - builds the images of all programs for the native architecture and
# these (all by default) into images/, and an index of each program. PROGRAMS="webhook ..." limits
# it to those programs, named by their packages.
set -euo pipefail
cd "$(dirname "$0")/../.."

all="cluster-controller console exec-format/monitor operator shard webhook fleet/hub fleet/agent"
read -r -a programs <<<"${PROGRAMS:-$all}"
if [[ $# -eq 0 ]]; then set -- arm64 ppc64le s390x; fi

say() { printf '\n=== %s\n' "$*"; }

say "native images"
bazel build "${programs[@]/%/:image}"
for architecture; do
  say "images for $architecture"
  # Bazel does not notice that the folder was deleted.
  third_party/cross/sysroot.sh "$architecture"
  bazel build --config="$architecture" "${programs[@]/%/:image}"
done
for program in "${programs[@]}"; do
  image=${program//\//-}
  rm -rf "images/$image"
  mkdir "images/$image"
  for architecture; do
    for ending in tar spdx.json; do
      install -m 644 "bazel-out/$architecture-opt/bin/$program/image.$ending" \
        "images/$image/$architecture.$ending"
    done
  done
  # shellcheck disable=SC2016  # $2 is awk's
  awk -F= '$1 == "DIGEST" {print $2}' "bazel-bin/$program/image.ref" \
    >"images/$image/native.digest"
done
say "indexes"
bazel build "${programs[@]/%/:index}"
for program in "${programs[@]}"; do
  (
    # shellcheck disable=SC1090
    . "bazel-bin/$program/index.ref"
    printf '%s %s: %s\n' "$NAME:$TAG" "$DIGEST" "$ARCHITECTURES"
  )
done
