#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh SUITE... [-- OPTION...] - builds and runs the suites rounds, rest, growth, fleet and
# micro (README.md), and prints their tables. OPTIONs go to //benchmarks:pods, or to
# //fleet/benchmark:fleet.
# bench.sh page - writes the results to docs/performance.md.
#
# RESULTS  the folder for the results (~/.cache/pod-placement/benchmarks)
set -euo pipefail
cd "$(dirname "$0")/.."

results=${RESULTS:-${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}/benchmarks}

say() { printf '\n=== %s: %s\n' "$(date +%T)" "$*"; }

revision() {
  printf '%s%s' "$(git rev-parse --short HEAD)" \
    "$(git diff --quiet HEAD 2>/dev/null || echo ', changed')"
}

# measure TARGET SUITE OPTION... - on a real control plane.
measure() {
  local target=$1 suite=$2
  shift 2
  if [[ -z ${KUBEBUILDER_ASSETS:-} ]]; then
    KUBEBUILDER_ASSETS=$(e2e/cluster/build-tools.sh | sed -n 's/^KUBEBUILDER_ASSETS=//p')
    export KUBEBUILDER_ASSETS
  fi
  bazel run "$target" -- "--output=$results/$suite.json" "--revision=$(revision)" "$@"
}

micro() {
  local targets target
  targets=$(bazel query 'kind(cc_binary, filter("_benchmark$", //...))')
  # shellcheck disable=SC2086  # a word each
  bazel build $targets
  rm -rf "$results/micro"
  mkdir -p "$results/micro"
  for target in $targets; do
    say "$target"
    bazel run "$target" -- --benchmark_format=console --benchmark_out_format=json \
      "--benchmark_out=$results/micro/${target##*:}.json"
  done
}

main() {
  local suites=()
  while [[ $# -gt 0 && $1 != -- ]]; do
    suites+=("$1")
    shift
  done
  [[ $# -eq 0 ]] || shift
  mkdir -p "$results"
  if [[ ${suites[*]} == page ]]; then
    python3 -B benchmarks/report.py "$results" --page docs/performance.md
    return
  fi
  local suite
  for suite in "${suites[@]}"; do
    say "$suite"
    case $suite in
      micro) micro ;;
      fleet) measure //fleet/benchmark:fleet fleet "$@" ;;
      *) measure //benchmarks:pods "$suite" "--suite=$suite" "$@" ;;
    esac
  done
  say "results in $results"
  python3 -B benchmarks/report.py "$results"
}

main "$@"
