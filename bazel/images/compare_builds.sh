#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# compare_builds.sh [PROGRAM [ARCHITECTURE]] - builds the image of PROGRAM (webhook) a second time,
# in another folder and without any cache, and compares the two digests. With OBJECTS=cached, only
# linking and packing are repeated.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=${1:-webhook}
options=()
folder=k8-opt
if [[ -n ${2:-} ]]; then
  options=(--config="$2")
  folder=$2-opt
fi

uncached=(--disk_cache=)
if [[ ${OBJECTS:-} == cached ]]; then
  uncached=(--modify_execution_info=CppLink=+no-cache,Genrule=+no-cache)
fi

output=$(mktemp -d)
stop() {
  bazel --output_base="$output" shutdown 2>/dev/null || true
  chmod -R u+w "$output"
  rm -rf "$output"
}
trap stop EXIT

digest() { sed -n 's/^DIGEST=//p' "$1/bazel-out/$folder/bin/$program/image.ref"; }

bazel build "${options[@]}" "//$program:image"
first=$(digest "$(bazel info execution_root 2>/dev/null)")
again=(bazel --output_base="$output")
"${again[@]}" build "${options[@]}" "${uncached[@]}" --symlink_prefix=/ "//$program:image"
second=$(digest "$("${again[@]}" info execution_root 2>/dev/null)")
printf 'first build:  %s\nsecond build: %s\n' "$first" "$second"
[[ -n $first && $first == "$second" ]] || {
  echo "the builds differ" >&2
  exit 1
}
