#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# load-image.sh ARCHIVE... - loads the images of Docker or OCI archives on the real node, with the
# names in the archive.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
[[ $# -gt 0 ]] || die "usage: load-image.sh ARCHIVE..."
! uses_own_node_image || need_root "$@"

! uses_own_node_image || use_own_podman
for archive in "$@"; do
  step "loading $(basename "$archive")" \
    in_netns "$BIN/kind" load image-archive "$archive" --name "$CLUSTER"
done
