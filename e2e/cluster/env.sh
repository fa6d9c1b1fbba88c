# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# Names, versions, paths and functions of the cluster scripts. Source it after `set -euo pipefail`.
#
# Two folders, both outside the repository:
#   $POD_PLACEMENT_CACHE   what is built: tools, node image. The name of each product has a hash of
#                          its sources: a changed script rebuilds only its own product.
#   $STATE                 the running cluster: kubeconfig, pid files; empty when nothing is up.

: "${POD_PLACEMENT_CACHE:=$HOME/.cache/pod-placement}"
export POD_PLACEMENT_CACHE

CLUSTER_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly CLUSTER_DIR

# --- Versions. Also in k8s/go.mod: Kubernetes and etcd.
readonly KUBERNETES_VERSION=v1.36.3
# The oldest that is supported. Also in k8s-1.30/go.mod.
readonly OLDEST_KUBERNETES_VERSION=v1.30.14
readonly COREDNS_VERSION=v1.14.2 # required by kubeadm of this Kubernetes version
readonly KIND_VERSION=v0.33.0
readonly KWOK_VERSION=v0.8.0
readonly HELM_VERSION=v3.22.0
readonly COSIGN_VERSION=v2.6.5
readonly ORAS_VERSION=v1.3.6
readonly KREW_VERSION=v0.5.0

# --- Paths
readonly TOOLS=$POD_PLACEMENT_CACHE/tools
readonly BIN=$TOOLS/bin       # kubectl, kind, kwok, coredns, helm, the rest of Kubernetes by name
readonly ASSETS=$TOOLS/assets # the control plane, for KUBEBUILDER_ASSETS
readonly OLDEST_ASSETS=$TOOLS/assets-1.30 # the same with the oldest Kubernetes
readonly STATE=$POD_PLACEMENT_CACHE/run
readonly LOGS=$POD_PLACEMENT_CACHE/log
# In memory: podman recognizes a restart of the machine by it.
readonly PODMAN_RUN=/run/pod-placement
readonly CLUSTER_KUBECONFIG=$STATE/kubeconfig

# --- The cluster
readonly CLUSTER=pod-placement
readonly REAL_NODE=$CLUSTER-control-plane
readonly FAKE_ARCHITECTURES=(arm64 ppc64le s390x)
# Nodes of arm64 with the taint kubernetes.io/arch=arm64:NoSchedule.
readonly TAINTED_NODE=fake-arm64-tainted
readonly REGISTRY_PORT=5000

# The cluster has its own network namespace without a route out: it cannot reach a real registry or
# another host, and its addresses cannot conflict with those of the machine. With KIND_NODE_IMAGE,
# which must be pulled, it is an ordinary kind cluster in the machine's network.
readonly NETNS=pod-placement
readonly POD_SUBNET=10.244.0.0/16
readonly SERVICE_SUBNET=10.96.0.0/16
# The namespace's address, on its own device. Independent of the subnet of podman's bridge: the
# node's configuration needs the address before the bridge exists.
readonly HOST_ADDRESS=10.251.0.1

# Python must not write compiled modules of images/ to the repository.
export PYTHONDONTWRITEBYTECODE=1

# Debian configures Go not to download newer toolchains; the modules need one.
export GOTOOLCHAIN=auto

# --- Helpers

# uses_own_node_image - whether the node image is built here, and not pulled.
uses_own_node_image() { [[ -z ${KIND_NODE_IMAGE:-} ]]; }

say() { printf '%s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# need_root ARGS... - runs the calling script again as root with ARGS, unless it is root.
# Namespaces, mounts and the node's container need root. Builds with Go do not, and use the user's
# cache.
need_root() {
  [[ $EUID -eq 0 ]] && return
  exec sudo env "PATH=$PATH" "HOME=$HOME" "POD_PLACEMENT_CACHE=$POD_PLACEMENT_CACHE" \
    "KIND_NODE_IMAGE=${KIND_NODE_IMAGE:-}" ${KUBECONFIG:+"KUBECONFIG=$KUBECONFIG"} bash "$0" "$@"
}

# content_hash WORD... - a short hash of the words, and of the content of words that are files.
content_hash() {
  local word
  for word in "$@"; do
    printf '%s\n' "${word##*/}"
    [[ ! -f $word ]] || cat "$word"
  done | sha256sum | cut -c 1-12
}

# left ABOUT ELAPSED - how much of a step remains, if it takes ABOUT seconds.
left() {
  local seconds=$(($1 - $2))
  if (($1 == 0)); then
    return
  elif ((seconds <= 0)); then
    printf ' (usually %d s)' "$1"
  elif ((seconds < 90)); then
    printf ' (about %d s left)' "$seconds"
  else
    printf ' (about %d min left)' $(((seconds + 30) / 60))
  fi
}

# step [--about=SECONDS] TITLE COMMAND... - runs a long command. Prints a line at its start, every
# minute, and at its end with the duration. Its output is written to a log, and the end of the log
# is printed on failure. SECONDS: how long it takes on a machine with two processors.
step() {
  local about=0
  if [[ $1 == --about=* ]]; then
    about=${1#--about=}
    shift
  fi
  local title=$1 start=$SECONDS status=0 log ticker
  shift
  mkdir -p "$LOGS"
  log=$LOGS/$(tr -cs '[:alnum:].\n' - <<<"$title").log
  printf '  ..      %s%s\n' "$title" "$(left "$about" 0)"
  while sleep 60 && kill -0 $$ 2>/dev/null; do
    printf '  .. %4ds %s%s\n' $((SECONDS - start)) "$title" "$(left "$about" $((SECONDS - start)))"
  done &
  ticker=$!
  # In a subshell that is not a condition: `set -e` is in effect in functions passed as COMMAND.
  set +e
  (set -e; "$@") >"$log" 2>&1
  status=$?
  set -e
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [[ $status -ne 0 ]]; then
    printf '  FAILED %s after %d s; end of %s:\n' "$title" $((SECONDS - start)) "$log" >&2
    tail -n 40 "$log" >&2
    return "$status"
  fi
  printf '  ok %4ds %s\n' $((SECONDS - start)) "$title"
}

# own_node_image - the name of the node image built here, with a hash of its sources.
own_node_image() {
  printf 'localhost/pod-placement-node:%s\n' "$(content_hash "$REAL_NODE" "$KIND_VERSION" \
    "$(readlink "$BIN/k8s")" "$(readlink "$BIN/coredns")" "$CLUSTER_DIR/node-image.sh" \
    "$CLUSTER_DIR"/node/* "$CLUSTER_DIR"/images/{oci.py,pack.py,pause.c})"
}

# use_own_podman - gives podman and kind in this process their own storage in the cache, separate
# from containers and settings of the machine's podman.
use_own_podman() {
  mkdir -p "$POD_PLACEMENT_CACHE/podman/networks"
  cat >"$POD_PLACEMENT_CACHE/podman/containers.conf" <<CONF
[containers]
# Without CAP_SYS_RESOURCE the limits cannot exceed the machine's hard limits.
default_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "$PODMAN_RUN/libpod"
[network]
network_backend = "netavark"
network_config_dir = "$POD_PLACEMENT_CACHE/podman/networks"
CONF
  cat >"$POD_PLACEMENT_CACHE/podman/storage.conf" <<CONF
[storage]
driver = "overlay"
runroot = "$PODMAN_RUN/storage"
graphroot = "$POD_PLACEMENT_CACHE/podman/storage"
CONF
  export CONTAINERS_CONF=$POD_PLACEMENT_CACHE/podman/containers.conf
  export CONTAINERS_STORAGE_CONF=$POD_PLACEMENT_CACHE/podman/storage.conf
  export KIND_EXPERIMENTAL_PROVIDER=podman
}

# The prefix of a command in the cluster's network. nsenter, because `ip netns exec` mounts a new
# /sys, which hides the cgroups that containers need.
ENTER_NETNS=()
! uses_own_node_image || ENTER_NETNS=(nsenter "--net=/run/netns/$NETNS" --)
readonly ENTER_NETNS

# in_netns COMMAND... - runs COMMAND in the cluster's network.
in_netns() { "${ENTER_NETNS[@]}" "$@"; }

# start_process NAME COMMAND... - starts a process in the cluster's network, with pid file and log.
start_process() {
  local name=$1
  shift
  mkdir -p "$STATE" "$LOGS"
  # Without a shell function in between, so the pid is that of the process itself.
  "${ENTER_NETNS[@]}" setsid "$@" >"$LOGS/$name.log" 2>&1 </dev/null &
  printf '%d\n' $! >"$STATE/$name.pid"
}

# process_runs NAME - whether a process started by start_process runs. Compares the command too,
# because another process may have the pid after a reboot.
process_runs() {
  local pid
  pid=$(cat "$STATE/$1.pid" 2>/dev/null) || return 1
  [[ -r /proc/$pid/cmdline ]] && tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -- "$1"
}

stop_process() {
  local pid
  if process_runs "$1"; then
    pid=$(cat "$STATE/$1.pid")
    kill "$pid"
    for _ in $(seq 50); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  fi
  rm -f "$STATE/$1.pid"
}
