#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the image of a kind node from Debian packages and the tools built here, for machines that cannot pull kind's.
# Prints its name. Does nothing when there is one of the same ingredients.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
need_root "$@"

# What kind's own image has installed, and Debian's containerd, runc and CNI plugins for those it builds.
readonly packages=systemd,conntrack,iptables,nftables,iproute2,ethtool,util-linux,mount,kmod,libseccomp2,pigz,e2fsprogs,\
bash,ca-certificates,curl,jq,procps,containerd,runc,containernetworking-plugins

readonly unfinished=localhost/pod-placement-node:unfinished

make_image() {
  use_own_podman
  # mmdebstrap works in TMPDIR, which must hold a gigabyte; /tmp may be small or in memory.
  mkdir -p "$POD_PLACEMENT_CACHE/tmp"
  TMPDIR=$POD_PLACEMENT_CACHE/tmp nice -n 10 mmdebstrap --variant=minbase --mode=root --include="$packages" \
    --customize-hook="$CLUSTER_DIR/node/customize.sh" --format=tar bookworm - |
    nice -n 10 podman import --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' \
      --change 'STOPSIGNAL SIGRTMIN+3' --change 'ENV container=docker' - "$unfinished"
  # If mmdebstrap failed, podman took what came for an image all the same; only a whole one gets the name.
  podman tag "$unfinished" "$1"
  podman untag "$unfinished" "$unfinished"
}

main() {
  use_own_podman
  local name
  name=$(own_node_image)
  podman image exists "$name" || step "making the node image" make_image "$name"
  say "$name"
}

main
