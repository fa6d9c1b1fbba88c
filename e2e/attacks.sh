#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# attacks.sh - what hostile tenants, members and registries tried, tried again: the tests of
# SECURITY.md's bounds on a real API server, with the figures that they measure. Last line: the
# number of attacks that were held off and that were not; the exit code is 0 if all were.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=e2e/deploy.sh
. e2e/deploy.sh

held=0
lost=0

# all_ran FILTER LOG - whether a test passed for each pattern of the filter.
all_ran() {
  local pattern name passed patterns
  mapfile -t passed < <(sed -n 's/^\[       OK \] \([^ ]*\).*/\1/p' "$2")
  IFS=: read -ra patterns <<<"$1"
  for pattern in "${patterns[@]}"; do
    for name in "${passed[@]}"; do
      # shellcheck disable=SC2053  # a pattern
      [[ $name != $pattern ]] || continue 2
    done
    echo "no test passed for $pattern"
    return 1
  done
}

# attack WHAT TARGET FILTER - the log of the test is read from its file: Bazel prints none of more
# than a megabyte.
attack() {
  local build test_log log
  printf '\n=== %s\n' "$1"
  build=$(mktemp) log=$(mktemp)
  test_log=$testlogs/${2#//}
  test_log=${test_log/://}/test.log
  rm -f "$test_log"
  if bazel test "$2" --test_sharding_strategy=disabled --test_arg="--gtest_filter=$3" \
    --cache_test_results=no >"$build" 2>&1 && cp "$test_log" "$log" && all_ran "$3" "$log"; then
    held=$((held + 1))
    echo "held off"
  else
    lost=$((lost + 1))
    echo "NOT HELD OFF, see $build and $test_log"
  fi
  sed -n 's/^figure: /  /p' "$log"
}

KUBEBUILDER_ASSETS=$(e2e/cluster/build-tools.sh | sed -n 's/^KUBEBUILDER_ASSETS=//p')
export KUBEBUILDER_ASSETS
testlogs=$(bazel info bazel-testlogs)
readonly testlogs

readonly flows=//e2e:integration_test
attack "eleven large PodPlacementConfigs of one user, then every budget full" \
  //e2e:long_flows_test 'MemoryBudgetsFlow.*'
attack "pods with 40,000 owners, tolerations, containers, labels" $flows 'ConditionCostFlow.*'
attack "pods that the policy webhook merges at great cost" \
  //scheduling-policies/webhook:turns_test '*'
attack "reviews of ephemeral containers that are hostile, too many, or wait for slow registries" \
  //ephemeral-containers/webhook:warning_webhook_test '*'
attack "reviews that do not come from the API server, and bodies that fill the server's memory" \
  //kube/server:https_server_test '*Admitted*:*ReleaseTheMemory*'
attack "reviews of ephemeral containers that do not come from the API server" \
  //ephemeral-containers/webhook:warning_server_test '*'
attack "PodPlacementConfigs of many namespaces, gated by policy" \
  $flows 'GatingPoliciesFlow.ConfigsOfOtherNamespacesCostAPodNothing'
attack "pods that say that they are an operand's, a DaemonSet's, or a mirror" \
  //scheduling-policies:target_test '*'
attack "failures that nodes or tenants invent, to keep the pods of others from an architecture" \
  //exec-format/learning:evidence_test '*'
attack "images that do not run, of one tenant, beyond its share" \
  //exec-format/learning:learner_test '*ANamespaceHasItsShare:*ImagesAreReadAtAPace'
attack "members that report more than the CRDs allow" //fleet/e2e:crds_test '*'
attack "tenants and members that fill every limit of a hub" //fleet/benchmark:full_budgets '*'
attack "CEL of one tenant before that of others" //fleet/cel:cached_selectors_test '*'
attack "a member that changes its works" //fleet/e2e:deploy_test '*'
attack "a member that reports times of the future, or nothing" \
  //fleet/rollout/controller:rollout_reconciler_test '*HoldNoRollout*:*TimesOut*'
attack "a member that writes while its access is taken away" \
  //fleet/standalone/membership:membership_test '*AMemberThatWritesWithoutEnd*:*APartOfTheAccess*'

printf '\n%s held off, %s not\n' "$held" "$lost"
[[ $lost -eq 0 ]]
