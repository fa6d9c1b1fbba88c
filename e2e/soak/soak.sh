#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# soak.sh [OPTION...] - a run of //e2e/soak, with these options (README.md). Prints its verdict, and
# writes it to docs/reliability.md if the run was of full length. Exits with 1 if the run failed.
#
# RESULTS  the folder for the results (~/.cache/pod-placement/benchmarks)
set -euo pipefail
cd "$(dirname "$0")/../.."

# A shorter run says too little for the page.
page_minutes=100
results=${RESULTS:-${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}/benchmarks}
file=$results/soak.jsonl

main() {
  local revision begin page=() failed=0
  mkdir -p "$results"
  if [[ -z ${KUBEBUILDER_ASSETS:-} ]]; then
    KUBEBUILDER_ASSETS=$(e2e/cluster/build-tools.sh | sed -n 's/^KUBEBUILDER_ASSETS=//p')
    export KUBEBUILDER_ASSETS
  fi
  revision=$(git rev-parse --short HEAD)$(git diff --quiet HEAD 2>/dev/null || echo ', changed')
  bazel build //e2e/soak
  begin=$SECONDS
  bazel run //e2e/soak -- "--output=$file" "--revision=$revision" "$@" || failed=1
  if ((SECONDS - begin >= page_minutes * 60)); then page=(--page docs/reliability.md); fi
  python3 -B e2e/soak/soak_report.py "$file" "${page[@]}" || failed=1
  echo "samples in $file"
  return "$failed"
}

main "$@"
