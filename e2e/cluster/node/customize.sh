#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# customize.sh ROOT - makes the Debian system in the folder ROOT a kind node. mmdebstrap calls it.
#
# Follows kind's images/base/Dockerfile and pkg/build/nodeimage, but with Debian's containerd, runc
# and CNI plugins, and with images of the Kubernetes components packed from the binary on the node.
set -euo pipefail
# shellcheck source=../env.sh
. "$(dirname "$0")/../env.sh"

readonly root=$1
readonly kind_files=$BIN/kind-files
work=$(mktemp -d)
readonly work

install_kind_files() {
  mkdir -p "$root"/kind/{bin,manifests} "$root/etc/systemd/system/kubelet.service.d"
  install -m 755 -t "$root/usr/local/bin" "$kind_files"/usr/local/bin/*
  install -m 755 -t "$root/kind/bin" "$kind_files"/kind/bin/*
  install -m 644 -D -t "$root/etc/containerd" "$kind_files/etc/containerd/config.toml"
  install -m 644 -D -t "$root/etc/default" "$kind_files/etc/default/kubelet"
  install -m 644 -D -t "$root/etc/sysctl.d" "$kind_files"/etc/sysctl.d/*
  install -m 644 -t "$root/etc/systemd/system" "$kind_files"/etc/systemd/system/*.{service,slice}
  install -m 644 -t "$root/etc/systemd/system/kubelet.service.d" \
    "$kind_files"/etc/systemd/system/kubelet.service.d/*
  printf %s "$KUBERNETES_VERSION" >"$root/kind/version"
  install -m 644 "$CLUSTER_DIR/node/storage.yaml" "$root/kind/manifests/default-storage.yaml"
  sed "s/KUBERNETES_VERSION/$KUBERNETES_VERSION/; s/REAL_NODE/$REAL_NODE/" \
    "$CLUSTER_DIR/node/minicni.yaml" >"$root/kind/manifests/default-cni.yaml"
}

# Disables the units that a node in a container does not need: devices, consoles, kernel messages.
trim_systemd() {
  local system=$root/lib/systemd/system wanted=$root/etc/systemd/system/multi-user.target.wants unit
  rm -f "$system/sysinit.target.wants/systemd-tmpfiles-setup.service" \
    "$system"/{basic,local-fs,multi-user}.target.wants/* \
    "$system"/sockets.target.wants/*{udev,initctl}* \
    "$root"/etc/systemd/system/*.wants/*
  echo ReadKMsg=no >>"$root/etc/systemd/journald.conf"
  mkdir -p "$wanted"
  for unit in kubelet containerd undo-mount-hacks; do
    ln -sf "/etc/systemd/system/$unit.service" "$wanted/$unit.service"
  done
  # It would register its formats with the one kernel that all containers share.
  ln -sf /dev/null "$root/etc/systemd/system/systemd-binfmt.service"
  ln -sf /usr/lib/systemd/systemd "$root/sbin/init"
}

install_runtime() {
  local plugin
  mkdir -p "$root"/etc/{cni/net.d,kubernetes/manifests} "$root/opt/cni/bin"
  rm -f "$root"/etc/cni/net.d/*
  for plugin in host-local loopback portmap ptp; do
    cp "$root/usr/lib/cni/$plugin" "$root/opt/cni/bin/"
  done
  # kind's unit file looks for containerd here.
  ln -sf /usr/bin/containerd "$root/usr/local/bin/containerd"
  chroot "$root" ctr oci spec | jq '
    .hooks.createContainer += [{path: "/kind/bin/mount-product-files.sh"}]
    | del(.process.rlimits)' \
    >"$root/etc/containerd/cri-base.json"
}

install_kubernetes() {
  local name
  install -m 755 "$(readlink -f "$BIN/k8s")" "$root/usr/local/bin/k8s"
  for name in kubeadm kubectl kubelet; do
    ln -sf /usr/local/bin/k8s "$root/usr/bin/$name"
  done
}

# One image with the names of all Kubernetes components. Contains nft for kube-proxy.
pack_images() {
  local name library pack=$CLUSTER_DIR/images/pack.py
  local -a names=() links=()
  local -a files=("$root/usr/local/bin/k8s:/usr/local/bin/k8s" "$root/usr/sbin/nft:/usr/sbin/nft")
  while read -r name; do
    case $name in
      */coredns:*) python3 "$pack" --name "$name" --entrypoint /coredns \
        "$work/coredns.tar" "$(readlink -f "$BIN/coredns"):/coredns" ;;
      */pause:*) python3 "$pack" --name "$name" --name "$sandbox_image" --entrypoint /pause \
        "$work/pause.tar" "$(readlink -f "$BIN/pause"):/pause" ;;
      *) names+=(--name "$name") ;;
    esac
  done < <("$BIN/k8s" kubeadm config images list --kubernetes-version "$KUBERNETES_VERSION")
  for name in etcd kube-apiserver kube-controller-manager kube-proxy kube-scheduler minicni; do
    links+=(--link "/usr/local/bin/$name:k8s")
  done
  while read -r library; do
    files+=("$root$library:$library")
  done < <(chroot "$root" ldd /usr/sbin/nft | grep -o '/[^ ]*')
  python3 "$pack" "${names[@]}" "${links[@]}" "$work/kubernetes.tar" "${files[@]}"
}

# Imports the images with the node's own containerd, because the node cannot pull images. In a mount
# namespace, which ends with all its mounts.
preload_images() {
  mkdir -p "$root/images"
  mv "$work"/*.tar "$root/images/"
  # Its CRI part would ask for a network configuration, and oom_score for a capability.
  printf '%s\n' 'version = 2' 'oom_score = 0' 'state = "/tmp/containerd"' \
    'disabled_plugins = ["io.containerd.grpc.v1.cri"]' '[grpc]' 'address = "/tmp/containerd.sock"' \
    >"$root/images/containerd.toml"
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --pid --fork chroot "$root" bash -euc '
    mountpoint -q /proc || mount -t proc proc /proc
    ctr() { command ctr --address /tmp/containerd.sock --namespace k8s.io "$@"; }
    containerd --config /images/containerd.toml --log-level warn & containerd=$!
    for _ in $(seq 100); do ctr version >/dev/null 2>&1 && break; sleep 0.1; done
    for archive in /images/*.tar; do ctr images import "$archive"; done
    ctr images ls
    kill "$containerd"
    wait "$containerd" || true
  '
  rm -rf "$root/images" "$root"/tmp/*
}

finish() {
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,locale,man}/*
  # Each node makes its own at its first start.
  rm -f "$root/etc/machine-id" "$root/etc/resolv.conf"
  touch "$root/etc/machine-id"
}

sandbox_image=$(sed -n 's/ *sandbox_image = "\(.*\)"/\1/p' "$kind_files/etc/containerd/config.toml")
readonly sandbox_image

trap 'rm -rf "$work"' EXIT
install_kind_files
trim_systemd
install_runtime
install_kubernetes
pack_images
preload_images
finish
