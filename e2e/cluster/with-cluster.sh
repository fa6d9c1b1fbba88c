#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# with-cluster.sh COMMAND... - runs COMMAND in the cluster's network, with KUBECONFIG, REGISTRY and
# kubectl in PATH. If KUBECONFIG is set, runs COMMAND unchanged.
#
#   with-cluster.sh kubectl get nodes
#   with-cluster.sh skopeo inspect --raw --tls-verify=false docker://$REGISTRY/demo/multi:1
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
[[ $# -gt 0 ]] || die "usage: with-cluster.sh COMMAND..."

# The user's kubectl is preferred for the user's cluster, the kubectl built here for this cluster.
if [[ -n ${KUBECONFIG:-} ]]; then
  export PATH=$PATH:$BIN
  exec "$@"
fi
[[ -e $CLUSTER_KUBECONFIG ]] || die "no cluster is running; run \`make cluster\`"
! uses_own_node_image || need_root "$@"

export PATH=$BIN:$PATH KUBECONFIG=$CLUSTER_KUBECONFIG
REGISTRY=$(cat "$STATE/registry" 2>/dev/null || true)
export REGISTRY
exec "${ENTER_NETNS[@]}" "$@"
