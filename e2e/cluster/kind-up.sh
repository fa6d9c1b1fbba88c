#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts the cluster: one real node, by kind, and fake nodes of other architectures, by kwok. Does
# nothing if it runs.
#
# The real node's image is built here and the cluster has its own network. With KIND_NODE_IMAGE
# (such as kindest/node:v1.36.1) kind uses that image, with Docker or KIND_EXPERIMENTAL_PROVIDER.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
! uses_own_node_image || need_root "$@"

readonly sysctls=(vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops)

kubectl() { in_netns "$BIN/kubectl" --kubeconfig "$CLUSTER_KUBECONFIG" "$@"; }

# --- Network

make_netns() {
  ip netns add "$NETNS"
  in_netns ip link set lo up
  # A bridge without ports, because not every kernel has dummy devices.
  in_netns ip link add host0 type bridge
  in_netns ip address add "$HOST_ADDRESS/32" dev host0
  in_netns ip link set host0 up
}

# Routes to pods and Services through the node: tests call them without a port-forward, and
# responses of the registry have a route back.
route_to_pods() {
  local node
  node=$(kubectl get node "$REAL_NODE" \
    -o jsonpath='{.status.addresses[?(@.type=="InternalIP")].address}')
  in_netns ip route replace "$POD_SUBNET" via "$node"
  in_netns ip route replace "$SERVICE_SUBNET" via "$node"
}

# --- The real node

# The node changes these settings of the whole machine. kind-down.sh restores them.
save_sysctls() {
  local name
  [[ ! -e $STATE/sysctls ]] || return 0
  for name in "${sysctls[@]}"; do
    printf '%s %s\n' "$name" "$(cat "/proc/sys/$name")"
  done >"$STATE/sysctls"
}

own_cluster_config() {
  cat <<YAML
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: $CLUSTER
networking:
  # The kube-proxy image built here contains nft and no iptables.
  kubeProxyMode: nftables
  podSubnet: $POD_SUBNET
  serviceSubnet: $SERVICE_SUBNET
  apiServerAddress: 127.0.0.1
  apiServerPort: 26443
nodes:
- role: control-plane
  image: $(own_node_image)
containerdConfigPatches:
- |-
  [plugins."io.containerd.grpc.v1.cri"]
    # Without CAP_SYS_RESOURCE a sandbox cannot have the OOM score that it requests.
    restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = false
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  apiVersion: kubelet.config.k8s.io/v1beta1
  # For machines with cgroup v1.
  failCgroupV1: false
  cgroupDriver: cgroupfs
  oomScoreAdj: 0
YAML
}

pulled_cluster_config() {
  cat <<YAML
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: $CLUSTER
nodes:
- role: control-plane
  image: $KIND_NODE_IMAGE
YAML
}

create_cluster() {
  local config=pulled_cluster_config
  ! uses_own_node_image || config=own_cluster_config
  "$config" >"$STATE/kind.yaml"
  # kube-proxy mounts it into its container even if the kernel has no modules.
  ! uses_own_node_image || mkdir -p /lib/modules
  in_netns nice -n 5 "$BIN/kind" create cluster --config "$STATE/kind.yaml" \
    --kubeconfig "$CLUSTER_KUBECONFIG" --wait 120s
}

# One replica of CoreDNS on the real node. On a fake node it would only appear to run.
pin_coredns() {
  kubectl --namespace kube-system patch deployment coredns --type merge --patch '{"spec": {
    "replicas": 1,
    "template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "'"$REAL_NODE"'"}}}}}'
  kubectl --namespace kube-system rollout status deployment coredns --timeout 120s
}

# No resolver to forward to: with `forward`, external names take six seconds to fail.
keep_dns_inside() {
  kubectl --namespace kube-system get configmap coredns -o yaml |
    sed -e '/^ *forward \. /,/^ *}$/d' -e '/^ *loop$/d' |
    kubectl replace -f -
}

# --- The fake nodes

start_kwok() {
  process_runs kwok ||
    start_process kwok "$BIN/kwok" \
      --kubeconfig "$CLUSTER_KUBECONFIG" --config "$BIN/kwok-stages.yaml" \
      --manage-all-nodes=false --manage-nodes-with-annotation-selector kwok.x-k8s.io/node=fake \
      --node-ip "$HOST_ADDRESS" --node-lease-duration-seconds 40 --server-address 127.0.0.1:10247
}

# fake_node NAME ARCHITECTURE [SPEC] - without taints, only affinity decides.
fake_node() {
  cat <<YAML
---
apiVersion: v1
kind: Node
metadata:
  name: $1
  annotations:
    kwok.x-k8s.io/node: fake
    node.alpha.kubernetes.io/ttl: "0"
  labels:
    kubernetes.io/arch: $2
    kubernetes.io/hostname: $1
    kubernetes.io/os: linux
    type: kwok
spec: {${3-}}
status:
  allocatable: {cpu: "32", memory: 256Gi, pods: "1000"}
  capacity: {cpu: "32", memory: 256Gi, pods: "1000"}
  nodeInfo:
    architecture: $2
    operatingSystem: linux
    kubeletVersion: fake
YAML
}

# One of each fake architecture, and a node pool as managed clusters have it.
fake_nodes() {
  local architecture
  for architecture in "${FAKE_ARCHITECTURES[@]}"; do
    fake_node "fake-$architecture" "$architecture"
  done
  fake_node "$TAINTED_NODE" arm64 \
    'taints: [{key: kubernetes.io/arch, value: arm64, effect: NoSchedule}]'
}

add_fake_nodes() {
  start_kwok
  fake_nodes | kubectl apply -f -
  kubectl wait --for condition=Ready node "${FAKE_ARCHITECTURES[@]/#/fake-}" "$TAINTED_NODE" \
    --timeout 60s
}

# ---

real_node_is_well() {
  [[ -e $CLUSTER_KUBECONFIG ]] &&
    kubectl --request-timeout 5s wait --for condition=Ready node "$REAL_NODE" --timeout 5s \
      >/dev/null 2>&1
}

fake_nodes_are_well() {
  process_runs kwok &&
    kubectl --request-timeout 5s get node "${FAKE_ARCHITECTURES[@]/#/fake-}" "$TAINTED_NODE" \
      >/dev/null 2>&1
}

create_real_node() {
  # Deletes the remains of an interrupted start or of a reboot.
  "$CLUSTER_DIR/kind-down.sh"

  mkdir -p "$STATE"
  if uses_own_node_image; then
    "$CLUSTER_DIR/node-image.sh"
    use_own_podman
    make_netns
  fi
  save_sysctls
  step --about=60 "creating the cluster $CLUSTER" create_cluster
  if uses_own_node_image; then
    route_to_pods
    keep_dns_inside >/dev/null
  fi
  step "moving CoreDNS to the real node" pin_coredns
}

# Kernels 6.18 lose elements of a map that is flushed and refilled in one transaction, which
# kube-proxy does every hour: some Services stop working after each further change. After its table
# is deleted, it works for another hour.
renew_service_rules() {
  local proxy
  proxy=$(kubectl --namespace kube-system get pods --selector k8s-app=kube-proxy \
    --field-selector "spec.nodeName=$REAL_NODE" --output name)
  kubectl --namespace kube-system exec "$proxy" -- nft delete table ip kube-proxy
  kubectl --namespace kube-system delete "$proxy"
  kubectl --namespace kube-system rollout status daemonset kube-proxy --timeout 60s
}

# proxy_older_than MINUTES - whether kube-proxy has run for that long.
proxy_older_than() {
  local started
  started=$(kubectl --namespace kube-system get pods --selector k8s-app=kube-proxy \
    --field-selector "spec.nodeName=$REAL_NODE" --output jsonpath='{.items[0].status.startTime}')
  (($(date +%s) - $(date --date "$started" +%s) > $1 * 60))
}

main() {
  real_node_is_well || create_real_node
  if uses_own_node_image && proxy_older_than 30; then
    step "renewing the rules of Services" renew_service_rules
  fi
  fake_nodes_are_well || step "creating fake nodes: ${FAKE_ARCHITECTURES[*]}" add_fake_nodes
  say "cluster $CLUSTER: ready; KUBECONFIG=$CLUSTER_KUBECONFIG"
}

main
