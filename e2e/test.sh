#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# All tests: the units and the integration tier by `bazel test`, then the flows on a kind cluster,
# or on the cluster of KUBECONFIG where that is set (REGISTRY names its registry, which must have
# the demo images), then a while of fuzzing. The last line says `N passed, N failed`; the exit code
# is that of the sum.
#
# FUZZ_SECONDS=N  of fuzzing for each target (10)
# SKIP_KIND=1     skips the kind tier. It is also skipped, with a message, on a machine that cannot
#                 run kind.
set -euo pipefail
cd "$(dirname "$0")/.."

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
sum=(python3 e2e/sum_results.py)

say() { printf '\n=== %s\n' "$*"; }

units_and_integration() {
  if [[ -z ${KUBEBUILDER_ASSETS:-} ]]; then
    KUBEBUILDER_ASSETS=$(e2e/cluster/build-tools.sh | sed -n 's/^KUBEBUILDER_ASSETS=//p')
  fi
  export KUBEBUILDER_ASSETS
  say "unit tests and integration tier, control plane from $KUBEBUILDER_ASSETS"
  # A failure is in the results; what else has to be tested is tested all the same.
  bazel test --keep_going --build_event_json_file="$results/bazel.json" //... || true
  sum+=(--bep "$results/bazel.json")
}

# The steps of `make cluster`; with KUBECONFIG set there is nothing to do.
cluster_is_up() {
  [[ -z ${KUBECONFIG:-} ]] || return 0
  e2e/cluster/kind-up.sh && e2e/cluster/registry-up.sh && e2e/cluster/push-images.sh
}

# Some flows need a cluster without other configs than theirs: what an earlier run, or the demo on
# our own cluster, left.
remove_leftovers() {
  local kubectl=(e2e/cluster/with-cluster.sh kubectl)
  "${kubectl[@]}" delete namespace --selector=pod-placement-e2e=true --timeout=120s
  [[ -n ${KUBECONFIG:-} ]] ||
    "${kubectl[@]}" delete namespace demo --ignore-not-found --timeout=120s
}

kind_tier() {
  if [[ ${SKIP_KIND:-} == 1 ]]; then
    say "SKIPPED: the kind tier, because of SKIP_KIND"
    return
  fi
  say "kind tier"
  if ! cluster_is_up; then
    say "SKIPPED: the kind tier, as no kind cluster can be had here (see above)"
    return
  fi
  sum+=(--xml "$results/kind.xml")
  # shellcheck source=e2e/deploy.sh
  . e2e/deploy.sh
  deploy_operator || return 0
  remove_leftovers || return 0
  bazel build //e2e:kind_test || return 0
  # In the runfiles, where the test finds its data.
  local here=$PWD
  (
    cd bazel-bin/e2e/kind_test.runfiles/pod_placement
    GTEST_OUTPUT=xml:$results/kind.xml "$here/e2e/cluster/with-cluster.sh" ./e2e/kind_test
  ) || true
}

fuzzing() {
  say "fuzzing, ${FUZZ_SECONDS:-10} s a target"
  fuzz/fuzz.sh "${FUZZ_SECONDS:-10}" --build_event_json_file="$results/fuzz.json" || true
  sum+=(--bep "$results/fuzz.json")
}

units_and_integration
kind_tier
fuzzing
say "all together"
"${sum[@]}"
