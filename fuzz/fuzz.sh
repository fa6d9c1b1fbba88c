#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh SECONDS [BAZEL_OPTION...] - throws damaged input at everything that reads untrusted bytes,
# SECONDS for each target, guided by coverage, under AddressSanitizer. What was found to reach new
# code is kept in the cache and begun with the next time.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
cache=${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}
exec bazel test --config=fuzz --keep_going --nocache_test_results \
  --test_env=FUZZ_SECONDS="$seconds" --test_env=FUZZ_CORPUS="$cache/fuzz" "$@" //fuzz:all
