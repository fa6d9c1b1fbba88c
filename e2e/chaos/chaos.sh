#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# chaos.sh LENGTH SEED - runs chaos for LENGTH seconds (README.md); report and recording are in
#                        RESULTS.
# chaos.sh page - writes the last report to docs/reliability.md.
#
# RESULTS  the folder for the results (~/.cache/pod-placement/chaos)
set -euo pipefail
cd "$(dirname "$0")/../.."

results=${RESULTS:-${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}/chaos}

revision() {
  printf '%s%s' "$(git rev-parse --short HEAD)" \
    "$(git diff --quiet HEAD 2>/dev/null || echo ', changed')"
}

run() {
  if [[ -z ${KUBEBUILDER_ASSETS:-} ]]; then
    KUBEBUILDER_ASSETS=$(e2e/cluster/build-tools.sh | sed -n 's/^KUBEBUILDER_ASSETS=//p')
    export KUBEBUILDER_ASSETS
  fi
  mkdir -p "$results"
  bazel build //e2e/chaos
  bazel run //e2e/chaos -- "--seconds=$1" "--seed=$2" "--revision=$(revision)" \
    "--report=$results/report.json" "--recording=$results/recording.jsonl"
}

if [[ ${1:-} == page ]]; then
  python3 -B e2e/chaos/page.py "$results/report.json" docs/reliability.md
elif [[ $# -eq 2 ]]; then
  run "$1" "$2"
else
  echo "chaos.sh LENGTH SEED, or chaos.sh page" >&2
  exit 2
fi
