#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh [PART...] - runs parts of the tests; CONTRIBUTING.md has a table of them. The last line is
# `N passed, N failed`, of all parts; the exit code is 0 if none failed.
#
#   basic       (the default) unit tests, integration tier, and what only a kind cluster shows
#   long        flows of the integration tier that wait for minutes
#   install     every way to install operator and fleet on kind; the integration tier of the fleet
#   neighbours  flows with other products, Kyverno and Karpenter, on the integration tier
#   release     makes a release for amd64, pushes it to the registry on this machine, verifies it
#               and installs it in every way, on kind
#   vm          the monitor's BPF program with Debian's kernel, in a virtual machine
#   fuzz        guided fuzzing of all parsers of untrusted bytes
#   asan        unit tests and integration tier under AddressSanitizer and UBSan
#   tsan        the same under ThreadSanitizer
#   kind        all flows that can run on kind
#   all         all of these; unit tests and integration tier under the sanitizers only
#   rotation    after other parts: of the parts that fit into what is left of CI's time, the one
#               whose last run is the longest ago (e2e/rotation.py), and then the next one
#
# --list prints the parts that `all` has, and runs none.
#
# FUZZ_SECONDS=N  seconds of fuzzing for each target (30)
# SKIP_KIND=1     skips what needs a kind cluster. Without it, a machine that cannot run kind is a
#                 failure.
# CI_STARTED=S    when CI began, in seconds since 1970: the rotation ends within CI's 90 minutes.
#                 Bazel's tests that are not done by then are stopped.
#
# With KUBECONFIG, flows run on that cluster (with the demo images in REGISTRY), and nothing that
# would remove its operator.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=e2e/deploy.sh
. e2e/deploy.sh

readonly parts=(asan tsan long fuzz neighbours chaos kind install release vm)
# The minutes of those in the rotation, which `release` is not yet, on two cores with the
# compilation of a large change. asan and tsan, which take longer, are stopped at the deadline and
# go on in the next run: what they need to get further.
readonly part_minutes=(asan=20 tsan=20 long=16 fuzz=15 neighbours=30 chaos=8 kind=15 install=20
  vm=2)
readonly ci_minutes=90
# Of disk, for all tests under one sanitizer: half of it is in Bazel's cache, for the next run.
readonly sanitizer_gigabytes=15
# Of Bazel's cache, for what all parts build.
readonly cache_gigabytes=24
readonly rotation_state=${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}/test-parts
deadline= # of the rotation, in seconds since 1970; empty: none
stopped=  # not empty: a part was stopped at the deadline
started=${CI_STARTED:-$(date +%s)}

# Two at once, each of which needs two thirds of a processor. More of them would delay each other on
# two processors, and flows with deadlines could fail.
readonly two_at_once=(--local_test_jobs=2 --jobs=2)
readonly control_planes=(--test_tag_filters=control-plane,-long "${two_at_once[@]}")
readonly fleet_tests=//fleet/...
readonly asan=(--config=asan --config=ubsan)
readonly tsan=(--config=tsan)

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
sum=(python3 e2e/sum_results.py)
wanted=()

free_gigabytes() { df --output=avail --block-size=1G "$HOME" | tail -n 1 | tr -d ' '; }

say() { printf '\n=== %s\n' "$*"; }

wants() { [[ " ${wanted[*]} " == *" $1 "* ]]; }

# failed WHAT - counts a failure that no test reports.
failed() {
  say "FAILED: $*"
  sum+=(--failed "$*")
}

# stopped_at_deadline STATUS - whether timeout says so: 137 if Bazel had to be killed, which is also
# the status of a Bazel that something else killed.
stopped_at_deadline() {
  [[ -n $deadline ]] || return 1
  [[ $1 -eq 124 || ($1 -eq 137 && $(date +%s) -ge $deadline) ]]
}

# bazel_test NAME ARGS... - failures are in the results; the next tests run nevertheless. What is
# not done at the deadline is stopped: it is not a failure, but due again.
bazel_test() {
  local events=$results/$1.json status=0 limit=()
  if [[ -n $deadline ]]; then
    local left=$((deadline - $(date +%s)))
    limit=(timeout --signal=INT --kill-after=120 $((left > 1 ? left : 1)))
  fi
  shift
  "${limit[@]}" bazel test --keep_going --build_event_json_file="$events" "$@" || status=$?
  if stopped_at_deadline "$status"; then
    say "STOPPED: $* (no time is left; it goes on in the next run)"
    stopped=1
    sum+=(--stopped "$events")
  else
    sum+=(--bep "$events")
  fi
}

# --- Tests by Bazel

use_control_plane() {
  if [[ -z ${KUBEBUILDER_ASSETS:-} ]]; then
    KUBEBUILDER_ASSETS=$(e2e/cluster/build-tools.sh | sed -n 's/^KUBEBUILDER_ASSETS=//p')
  fi
  export KUBEBUILDER_ASSETS
}

unit_tests() {
  say "unit tests"
  bazel_test unit --test_tag_filters=-control-plane //...
}

# used_rights NAME OPTION... - after the integration tier with these options of Bazel.
used_rights() {
  local name=$1
  shift
  bazel_test "$name" //e2e:rights_test \
    --test_arg="$(bazel info "$@" bazel-testlogs)/e2e/integration_test"
}

integration_tier() {
  say "integration tier"
  bazel_test integration "${control_planes[@]}" -- //... "-$fleet_tests"
  used_rights rights
}

fleet_integration() {
  say "integration tier of the fleet"
  bazel_test fleet-integration "${control_planes[@]}" "$fleet_tests"
}

# sanitized NAME OPTION... - unit tests and integration tier with these options of Bazel.
sanitized() {
  local name=$1
  shift
  say "$name: may need up to $sanitizer_gigabytes GB of disk, and $(free_gigabytes) are free"
  say "unit tests, $name"
  bazel_test "$name" "$@" --build_tests_only --test_tag_filters=-control-plane //...
  say "integration tier, $name"
  bazel_test "$name-integration" "$@" --build_tests_only --test_tag_filters=control-plane \
    "${two_at_once[@]}" //...
  used_rights "$name-rights" "$@"
}

# Whether the fleet or its client library differs from the commit of a day ago, or there is no such
# commit in this clone.
fleet_changed() {
  local base
  base=$(git rev-list --max-count=1 --before='1 day ago' HEAD 2>/dev/null) || return 0
  [[ -n $base ]] || return 0
  git diff --quiet "$base" -- fleet kube || return 0
  say "SKIPPED: tests of the fleet (no change since a day; the part install runs them)"
  return 1
}

# --- Tests on a kind cluster, or on that of KUBECONFIG

# cluster_for WHAT - starts the cluster by the steps of `make cluster`. With KUBECONFIG there is
# nothing to do.
cluster_for() {
  if [[ ${SKIP_KIND:-} == 1 ]]; then
    say "SKIPPED: $1 (SKIP_KIND=1)"
    return 1
  fi
  say "$1"
  [[ -z ${KUBECONFIG:-} ]] || return 0
  if ! e2e/cluster/up.sh; then
    failed "$1: no kind cluster on this machine, see above (SKIP_KIND=1 skips what needs it)"
    return 1
  fi
}

# cluster_to_change WHAT - as cluster_for, but never the cluster of KUBECONFIG.
cluster_to_change() {
  if [[ -n ${KUBECONFIG:-} ]]; then
    say "SKIPPED: $1 (would remove what is installed on the cluster of KUBECONFIG)"
    return 1
  fi
  cluster_for "$1"
}

# install_flows [WAY...] - ways to install the operator; all by default. The last one removes it.
install_flows() {
  cluster_to_change "install flows: ${*:-all}" || return 0
  local xml=$results/install-${1:-all}.xml
  sum+=(--xml "$xml")
  build_images || return 0
  bazel build //operator/helm:chart //operator/olm:bundle || return 0
  load_images "$PWD" "${IMAGES[@]}" || return 0
  e2e/cluster/with-cluster.sh python3 e2e/install/install_flows.py --xml "$xml" "$@" ||
    sum+=(--crashed "$xml")
}

# Hub and agent of a fleet on the cluster, which is a member of itself and has the operator.
fleet_flows() {
  cluster_to_change "fleet flows" || return 0
  local xml=$results/fleet.xml
  sum+=(--xml "$xml")
  deploy_operator || return 0
  bazel build "${FLEET_IMAGES[@]/%/:image}" //fleet/deploy:{deploy_hub,undeploy_hub} \
    //fleet/standalone/deploy:{join,leave} //fleet/helm:multiarch-fleet-{hub,agent} || return 0
  load_images "$PWD" "${FLEET_IMAGES[@]}" || return 0
  e2e/cluster/with-cluster.sh python3 fleet/e2e/fleet_flows.py --xml "$xml" ||
    sum+=(--crashed "$xml")
}

# The component `console`, with a browser.
console_flows() {
  cluster_to_change "console flows" || return 0
  local xml=$results/console.xml
  sum+=(--xml "$xml")
  deploy_operator || return 0
  e2e/cluster/with-cluster.sh python3 console/flows/kind_flows.py --xml "$xml" ||
    sum+=(--crashed "$xml")
}

# Some flows need a cluster without other configs: deletes those of an earlier run and of the demo.
remove_leftovers() {
  local kubectl=(e2e/cluster/with-cluster.sh kubectl)
  "${kubectl[@]}" delete namespace --selector=pod-placement-e2e=true --timeout=120s
  [[ -n ${KUBECONFIG:-} ]] ||
    "${kubectl[@]}" delete namespace demo --ignore-not-found --timeout=120s
}

# kind_tier TARGET - the flows linked into a target of //e2e.
kind_tier() {
  cluster_for "kind tier: $1" || return 0
  local xml=$results/$1.xml filter='*'
  sum+=(--xml "$xml")
  deploy_operator || return 0
  remove_leftovers || return 0
  bazel build "//e2e:$1" || return 0
  if [[ -n ${KUBECONFIG:-}${KIND_NODE_IMAGE:-} ]]; then
    say "SKIPPED: flow of alerts (Prometheus runs on this machine, without a route to the pods)"
    filter=-AlertsFlow.*
  fi
  # The test needs its runfiles as the working directory.
  local here=$PWD
  (
    cd "bazel-bin/e2e/$1.runfiles/pod_placement"
    GTEST_OUTPUT=xml:$xml GTEST_FILTER=$filter "$here/e2e/cluster/with-cluster.sh" "./e2e/$1"
  ) || sum+=(--crashed "$xml")
}

# --- Parts

run_basic() {
  use_control_plane
  # What another part of this run repeats is left to that part.
  wants asan || unit_tests
  wants asan || integration_tier
  wants install || install_flows kustomize
  if ! wants install && fleet_changed; then
    fleet_integration
    fleet_flows
  fi
  wants kind || kind_tier kind_test
}

run_install() {
  use_control_plane
  fleet_integration
  install_flows
  fleet_flows
}

run_long() {
  use_control_plane
  say "long flows"
  bazel_test long --build_tests_only --test_tag_filters=long "${two_at_once[@]}" //...
}

run_fuzz() {
  say "fuzzing, ${FUZZ_SECONDS:-30} s for each target"
  fuzz/fuzz.sh "${FUZZ_SECONDS:-30}" --build_event_json_file="$results/fuzz.json" || true
  sum+=(--bep "$results/fuzz.json")
}

run_asan() {
  use_control_plane
  sanitized asan "${asan[@]}"
}

run_tsan() {
  use_control_plane
  sanitized tsan "${tsan[@]}"
}

run_vm() {
  say "the monitor's BPF program with another kernel"
  local xml=$results/vm.xml
  sum+=(--xml "$xml")
  exec-format/monitor/kernel/vm/run.sh "$xml" || sum+=(--crashed "$xml")
}

run_release() {
  use_control_plane
  cluster_to_change "release" || return 0
  local xml=$results/release.xml
  sum+=(--xml "$xml")
  e2e/cluster/build-tools.sh cosign oras krew actionlint || {
    failed "the tools of a release cannot be built"
    return 0
  }
  release/with-tools.sh actionlint || failed "actionlint, see above"
  release/rehearse.sh "$xml" || sum+=(--crashed "$xml")
  # The kubelet has pulled the images from the registry by itself. From then on it does not take
  # equal images that were loaded for preloaded ones, and wants to pull them (KEP-2535).
  e2e/cluster/kind-down.sh
}

run_neighbours() {
  use_control_plane
  say "other products beside the operator"
  e2e/cluster/build-tools.sh kyverno karpenter || {
    failed "the products cannot be built"
    return 0
  }
  bazel_test neighbours //e2e:neighbours_test
}

# Another seed each time: the plan of faults and what users do.
run_chaos() {
  use_control_plane
  say "real faults on real processes"
  bazel_test chaos //e2e/chaos --test_arg=--seconds=180 --test_arg="--seed=$(date +%s)"
}

run_kind() {
  kind_tier all_kind_test
  console_flows
}

# One part after the other, while one fits into what is left.
run_rotation() {
  # The last minutes are for what a stopped part leaves running, and the sum.
  deadline=$((started + (ci_minutes - 5) * 60))
  local left=("${part_minutes[@]}") choice part first
  [[ ${SKIP_KIND:-} != 1 ]] || leave_out kind install
  if [[ $(free_gigabytes) -lt $sanitizer_gigabytes ]]; then
    say "rotation: without asan and tsan, which need $sanitizer_gigabytes GB of disk"
    leave_out asan tsan
  fi
  while [[ ${#left[@]} -gt 0 && -z $stopped ]]; do
    mapfile -t choice < <(python3 e2e/rotation.py --state="$rotation_state" \
      --minutes-left=$(((deadline - $(date +%s)) / 60)) "${left[@]}")
    say "rotation: ${choice[0]}"
    part=${choice[1]:-}
    [[ -n $part ]] || return 0
    first=${#sum[@]}
    "run_$part"
    if is_due_again "${sum[@]:first}"; then
      python3 e2e/rotation.py --state="$rotation_state" --failed="$part"
    fi
    leave_out "$part"
  done
}

# leave_out PART... - removes these from run_rotation's `left`.
leave_out() {
  local kept=() one
  for one in "${left[@]}"; do
    [[ " $* " == *" ${one%%=*} "* ]] || kept+=("$one")
  done
  left=("${kept[@]}")
}

# is_due_again RESULT... - whether a part of the rotation was stopped or failed; its results, as
# arguments of sum_results.py.
is_due_again() {
  [[ -n $stopped ]] && return
  [[ $# -gt 0 ]] && ! python3 e2e/sum_results.py "$@" >/dev/null
}

main() {
  if [[ ${1:-} == --list ]]; then
    printf '%s\n' basic "${parts[@]}"
    return
  fi
  wanted=("${@:-basic}")
  [[ ${wanted[*]} != all ]] || wanted=(basic "${parts[@]}")
  local part
  for part in "${wanted[@]}"; do
    [[ " basic rotation ${parts[*]} " == *" $part "* ]] || {
      echo "test.sh: no part $part; parts: basic ${parts[*]} all rotation" >&2
      exit 2
    }
  done
  python3 bazel/prune_cache.py ~/.cache/pod-placement/bazel "$cache_gigabytes"
  for part in "${wanted[@]}"; do "run_$part"; done
  say "total of ${wanted[*]}, after $((SECONDS / 60)) minutes"
  local status=0
  "${sum[@]}" || status=$?
  return "$status"
}

main "$@"
