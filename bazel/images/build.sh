#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh [ARCHITECTURE...] - builds the images of all programs for the native architecture, amd64,
# and these (all by default) into images/, and an index of each program. PROGRAMS="webhook ..."
# limits it to those programs, named by their packages.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=programs.sh
. bazel/images/programs.sh

read -r -a programs <<<"${PROGRAMS:-$(all_programs)}"

say() { printf '\n=== %s\n' "$*"; }

mapfile -t others < <(other_architectures "$@")
say "native images"
bazel build "${programs[@]/%/:image}"
for architecture in "${others[@]}"; do
  say "images for $architecture"
  # Bazel does not notice that the folder was deleted.
  third_party/cross/sysroot.sh "$architecture"
  bazel build --config="$architecture" "${programs[@]/%/:image}"
done
for program in "${programs[@]}"; do
  image=${program//\//-}
  rm -rf "images/$image"
  mkdir "images/$image"
  for architecture in "${others[@]}"; do
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
