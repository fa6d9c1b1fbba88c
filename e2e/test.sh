#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# All tests: unit tests and integration tier by `bazel test`, then the kind tier on a kind cluster
# or on the cluster of KUBECONFIG (with the demo images in REGISTRY), then fuzzing. The last line is
# `N passed, N failed`; the exit code is 0 if none failed.
#
# FUZZ_SECONDS=N  seconds of fuzzing for each target (10)
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
  say "unit tests and integration tier (control plane: $KUBEBUILDER_ASSETS)"
  # Failures are in the results; the other tests run nevertheless.
  bazel test --keep_going --build_event_json_file="$results/bazel.json" //... || true
  sum+=(--bep "$results/bazel.json")
}

# The steps of `make cluster`; with KUBECONFIG set there is nothing to do.
cluster_is_up() {
  [[ -z ${KUBECONFIG:-} ]] || return 0
  e2e/cluster/kind-up.sh && e2e/cluster/registry-up.sh && e2e/cluster/push-images.sh
}

# Some flows need a cluster without other configs: deletes those of an earlier run and of the demo.
remove_leftovers() {
  local kubectl=(e2e/cluster/with-cluster.sh kubectl)
  "${kubectl[@]}" delete namespace --selector=pod-placement-e2e=true --timeout=120s
  [[ -n ${KUBECONFIG:-} ]] ||
    "${kubectl[@]}" delete namespace demo --ignore-not-found --timeout=120s
}

# Every way to install the operator. The last one removes it.
install_flows() {
  if [[ -n ${KUBECONFIG:-} ]]; then
    say "SKIPPED: install flows (they would remove the operator of the cluster of KUBECONFIG)"
    return
  fi
  say "install flows"
  sum+=(--xml "$results/install.xml")
  build_images || return 0
  bazel build //operator/helm:chart //operator/olm:bundle || return 0
  load_images "$PWD" "${IMAGES[@]}" || return 0
  e2e/cluster/with-cluster.sh python3 e2e/install/install_flows.py --xml "$results/install.xml" ||
    true
}

# Hub and agent of a fleet on the cluster, which is a member of itself. The operator is deployed.
fleet_flows() {
  if [[ -n ${KUBECONFIG:-} ]]; then
    say "SKIPPED: fleet flows (they would remove the fleet of the cluster of KUBECONFIG)"
    return
  fi
  say "fleet flows"
  sum+=(--xml "$results/fleet.xml")
  bazel build "${FLEET_IMAGES[@]/%/:image}" //fleet/deploy:{deploy_hub,undeploy_hub} \
    //fleet/standalone/deploy:{join,leave} //fleet/helm:multiarch-fleet-{hub,agent} || return 0
  load_images "$PWD" "${FLEET_IMAGES[@]}" || return 0
  e2e/cluster/with-cluster.sh python3 fleet/e2e/fleet_flows.py --xml "$results/fleet.xml" || true
}

kind_tier() {
  if [[ ${SKIP_KIND:-} == 1 ]]; then
    say "SKIPPED: kind tier (SKIP_KIND=1)"
    return
  fi
  say "kind tier"
  if ! cluster_is_up; then
    say "SKIPPED: kind tier (no kind cluster on this machine, see above)"
    return
  fi
  sum+=(--xml "$results/kind.xml")
  # shellcheck source=e2e/deploy.sh
  . e2e/deploy.sh
  install_flows
  deploy_operator || return 0
  fleet_flows
  remove_leftovers || return 0
  bazel build //e2e:kind_test || return 0
  local filter='*'
  if [[ -n ${KUBECONFIG:-}${KIND_NODE_IMAGE:-} ]]; then
    say "SKIPPED: flow of alerts (Prometheus runs on this machine, without a route to the pods)"
    filter=-AlertsFlow.*
  fi
  # The test needs its runfiles as the working directory.
  local here=$PWD
  (
    cd bazel-bin/e2e/kind_test.runfiles/pod_placement
    GTEST_OUTPUT=xml:$results/kind.xml GTEST_FILTER=$filter \
      "$here/e2e/cluster/with-cluster.sh" ./e2e/kind_test
  ) || true
}

fuzzing() {
  say "fuzzing, ${FUZZ_SECONDS:-10} s for each target"
  fuzz/fuzz.sh "${FUZZ_SECONDS:-10}" --build_event_json_file="$results/fuzz.json" || true
  sum+=(--bep "$results/fuzz.json")
}

units_and_integration
kind_tier
fuzzing
say "total"
"${sum[@]}"
