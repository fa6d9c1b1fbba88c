#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts a registry (Debian's docker-registry) with plain HTTP and without credentials. Prints its
# address for nodes, pods and with-cluster.sh as REGISTRY=host:port.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
! uses_own_node_image || need_root "$@"

# An address of this machine that nodes and pods can reach.
host_address() {
  if uses_own_node_image; then
    printf %s "$HOST_ADDRESS"
  else
    # The machine's address on the bridge of kind's nodes.
    local network
    network=$(docker network inspect kind --format '{{.Id}}')
    ip -4 -oneline address show dev "br-${network:0:12}" |
      awk '{sub("/.*", "", $4); print $4; exit}'
  fi
}

# write_config ADDRESS
write_config() {
  mkdir -p "$STATE/registry-storage"
  cat >"$STATE/docker-registry.yml" <<YAML
version: 0.1
log:
  level: warn
  accesslog: {disabled: true}
storage:
  filesystem: {rootdirectory: $STATE/registry-storage}
  # Tests take images away, too.
  delete: {enabled: true}
http:
  addr: $1
  # For uploads to continue after a restart; a registry for tests has nothing to hide.
  secret: pod-placement
YAML
}

# trust_in_nodes ADDRESS - configures plain HTTP for this registry in the containerd of each node.
trust_in_nodes() {
  local node engine=${KIND_EXPERIMENTAL_PROVIDER:-docker} folder=/etc/containerd/certs.d/$1
  for node in $(in_netns "$BIN/kind" --quiet get nodes --name "$CLUSTER"); do
    in_netns "$engine" exec --interactive "$node" \
      sh -c "mkdir -p $folder && cat >$folder/hosts.toml" <<TOML
server = "http://$1"
[host."http://$1"]
TOML
  done
}

main() {
  [[ -e $CLUSTER_KUBECONFIG ]] || die "no cluster is running; run kind-up.sh first"
  ! uses_own_node_image || use_own_podman

  local address
  if ! process_runs docker-registry; then
    address=$(host_address):$REGISTRY_PORT
    write_config "$address"
    start_process docker-registry docker-registry serve "$STATE/docker-registry.yml"
    trust_in_nodes "$address"
    for _ in $(seq 100); do
      in_netns curl --silent --fail --noproxy '*' "http://$address/v2/" >/dev/null && break
      process_runs docker-registry ||
        die "the registry ended: $(tail -n 5 "$LOGS/docker-registry.log")"
      sleep 0.1
    done
    printf '%s\n' "$address" >"$STATE/registry"
  fi
  say "REGISTRY=$(cat "$STATE/registry")"
}

main
