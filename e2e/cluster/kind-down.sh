#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Deletes everything that kind-up.sh and registry-up.sh started, and restores the settings of the
# machine. Tools and node image stay in the cache.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
! uses_own_node_image || need_root "$@"

delete_cluster() {
  if uses_own_node_image; then
    use_own_podman
    # kind finds and deletes the containers without their network namespace too.
    if [[ -e /run/netns/$NETNS ]]; then
      in_netns "$BIN/kind" delete cluster --name "$CLUSTER" --kubeconfig "$CLUSTER_KUBECONFIG"
      in_netns podman network rm --force kind
    else
      "$BIN/kind" delete cluster --name "$CLUSTER" --kubeconfig "$CLUSTER_KUBECONFIG"
    fi
  else
    "$BIN/kind" delete cluster --name "$CLUSTER" --kubeconfig "$CLUSTER_KUBECONFIG"
  fi
}

restore_sysctls() {
  local name value
  [[ -e $STATE/sysctls ]] || return 0
  while read -r name value; do
    printf '%s\n' "$value" >"/proc/sys/$name" 2>/dev/null || true
  done <"$STATE/sysctls"
}

main() {
  if [[ ! -d $STATE && ! -e /run/netns/$NETNS ]]; then
    return
  fi
  stop_process publish
  stop_process console
  stop_process kwok
  stop_process docker-registry
  [[ ! -x $BIN/kind ]] || step "deleting the cluster $CLUSTER" delete_cluster
  ! uses_own_node_image || [[ ! -e /run/netns/$NETNS ]] || ip netns delete "$NETNS"
  restore_sysctls
  rm -rf "$STATE"
  say "cluster $CLUSTER: deleted"
}

main
