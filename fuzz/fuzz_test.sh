#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz_test.sh TARGET - runs the corpus once. If FUZZ_SECONDS is set (needs --config=fuzz),
# libFuzzer then generates inputs for that long. Inputs that reach new code are kept in
# FUZZ_CORPUS/TARGET; inputs that end the process or take twenty seconds are in the test's outputs.
set -eu
fuzz="fuzz/fuzz --target=$1"
corpus=fuzz/corpus/$1

$fuzz "$corpus"/*
[ -n "${FUZZ_SECONDS:-}" ] || exit 0
mkdir -p "$FUZZ_CORPUS/$1"
exec $fuzz -max_total_time="$FUZZ_SECONDS" -max_len=4096 -timeout=20 -rss_limit_mb=1024 \
  -print_final_stats=1 -artifact_prefix="$TEST_UNDECLARED_OUTPUTS_DIR/" "$FUZZ_CORPUS/$1" "$corpus"
