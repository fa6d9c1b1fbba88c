#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test_architectures.sh [ARCHITECTURE...] - tests what is built for other architectures (all by
# default), under qemu-user: the unit tests of placement/, kube/codec/, inspection/ and
# exec-format/, and that the webhook answers as the native one.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -eq 0 ]]; then set -- arm64 ppc64le s390x; fi
failed=0
bazel build //webhook
native=$(realpath bazel-bin/webhook/webhook)
for architecture; do
  case $architecture in
    arm64) machine=aarch64 ;;
    *) machine=$architecture ;;
  esac
  printf '\n=== unit tests for %s\n' "$architecture"
  sysroot=$(third_party/cross/sysroot.sh "$architecture")
  start=$SECONDS
  bazel test --config="$architecture" --keep_going --run_under="qemu-$machine -L $sysroot" \
    --test_timeout=300 --build_tests_only \
    //placement/... //kube/codec/... //inspection/... //exec-format/... \
    //third_party/boringssl/... || failed=1
  bazel build --config="$architecture" //webhook &&
    webhook/compare_answers.py "$native" "qemu-$machine" -L "$sysroot" \
      "bazel-out/$architecture-opt/bin/webhook/webhook" || failed=1
  printf '%s: %d s\n' "$architecture" "$((SECONDS - start))"
done
exit "$failed"
