#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test_architectures.sh [ARCHITECTURE...] - runs unit tests of placement/, kube/codec/ and
# inspection/ built for other architectures (all by default), under qemu-user.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -eq 0 ]]; then set -- arm64 ppc64le s390x; fi
failed=0
for architecture; do
  case $architecture in
    arm64) machine=aarch64 ;;
    *) machine=$architecture ;;
  esac
  printf '\n=== unit tests for %s\n' "$architecture"
  sysroot=$(third_party/cross/sysroot.sh "$architecture")
  start=$SECONDS
  # The tests of tag "native" run native programs of this machine.
  bazel test --config="$architecture" --keep_going --run_under="qemu-$machine -L $sysroot" \
    --test_timeout=300 --test_tag_filters=-native --build_tests_only \
    //placement/... //kube/codec/... //inspection/... || failed=1
  printf '%s: %d s\n' "$architecture" "$((SECONDS - start))"
done
exit "$failed"
