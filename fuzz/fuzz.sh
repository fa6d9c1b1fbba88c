#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh SECONDS [BAZEL_OPTION...] - fuzzes all parsers of untrusted bytes for SECONDS each, guided
# by coverage, with AddressSanitizer. Inputs that reach new code are kept in the cache for the next
# run.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
cache=${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}
exec bazel test --config=fuzz --keep_going --nocache_test_results \
  --test_env=FUZZ_SECONDS="$seconds" --test_env=FUZZ_CORPUS="$cache/fuzz" "$@" //fuzz:all
