#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# compare_builds.sh [PROGRAM|all [ARCHITECTURE...]] - builds the image of PROGRAM (webhook), or of
# all programs, a second time, in another folder and without any cache, and compares the digests;
# for amd64, or for these architectures. With OBJECTS=cached, only linking and packing are repeated.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=programs.sh
. bazel/images/programs.sh

programs=("${1:-webhook}")
[[ ${programs[0]} != all ]] || read -r -a programs <<<"$(all_programs)"
architectures=("${@:2}")
[[ ${#architectures[@]} -gt 0 ]] || architectures=(amd64)

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
again=(bazel --output_base="$output")

digest() { sed -n 's/^DIGEST=//p' "$1/image.ref"; }

differences=0
for architecture in "${architectures[@]}"; do
  options=(--config="$architecture")
  folder=bazel-out/$architecture-opt/bin
  if [[ $architecture == amd64 ]]; then
    options=()
    folder=bazel-out/k8-opt/bin
  fi
  targets=("${programs[@]/%/:image}")
  bazel build "${options[@]}" "${targets[@]}"
  "${again[@]}" build "${options[@]}" "${uncached[@]}" --symlink_prefix=/ "${targets[@]}"
  here=$(bazel info execution_root 2>/dev/null)
  there=$("${again[@]}" info execution_root 2>/dev/null)
  for program in "${programs[@]}"; do
    first=$(digest "$here/$folder/$program")
    second=$(digest "$there/$folder/$program")
    printf '%s %s\n  first build:  %s\n  second build: %s\n' "$program" "$architecture" "$first" \
      "$second"
    [[ -n $first && $first == "$second" ]] || differences=$((differences + 1))
  done
done
if ((differences > 0)); then
  echo "$differences of the images differ" >&2
  exit 1
fi
