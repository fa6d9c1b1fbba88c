#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the image of a kind node from Debian packages and the tools built here, for machines that
# cannot pull kind's image. Prints its name. Does nothing if an image with the same sources exists.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
need_root "$@"

# The packages of kind's own image, and Debian's containerd, runc and CNI plugins, which kind
# builds.
readonly packages=systemd,conntrack,iptables,nftables,iproute2,ethtool,util-linux,mount,kmod,\
libseccomp2,pigz,e2fsprogs,bash,ca-certificates,curl,jq,procps,containerd,runc,\
containernetworking-plugins

readonly unfinished=localhost/pod-placement-node:unfinished

make_image() {
  use_own_podman
  # mmdebstrap needs a gigabyte in TMPDIR; /tmp may be small or in memory.
  mkdir -p "$POD_PLACEMENT_CACHE/tmp"
  TMPDIR=$POD_PLACEMENT_CACHE/tmp nice -n 10 mmdebstrap \
    --variant=minbase --mode=root --include="$packages" \
    --customize-hook="$CLUSTER_DIR/node/customize.sh" --format=tar bookworm - |
    nice -n 10 podman import --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' \
      --change 'STOPSIGNAL SIGRTMIN+3' --change 'ENV container=docker' - "$unfinished"
  # podman also imports the incomplete output of a failed mmdebstrap: only a complete image gets the
  # name.
  podman tag "$unfinished" "$1"
  podman untag "$unfinished" "$unfinished"
}

# Images of older sources, 800 MB each.
remove_other_images() {
  local image
  podman images --format '{{.Repository}}:{{.Tag}}' \
    --filter reference=localhost/pod-placement-node |
    while read -r image; do
      [[ $image == "$1" ]] || podman rmi "$image" >/dev/null 2>&1 || true # one in use stays
    done
}

main() {
  use_own_podman
  local name
  name=$(own_node_image)
  if ! podman image exists "$name"; then
    step --about=75 "building the node image" make_image "$name"
    remove_other_images "$name"
  fi
  say "$name"
}

main
