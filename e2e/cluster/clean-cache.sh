#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Deletes what the cluster scripts keep: tools, node image, logs. Go's own caches stay, they are not
# ours.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
need_root "$@"

"$CLUSTER_DIR/kind-down.sh"
# By name: the folder may hold what others keep there, and a wrong POD_PLACEMENT_CACHE shall do no
# harm.
rm -rf "$TOOLS" "$LOGS" "$POD_PLACEMENT_CACHE"/{podman,tmp,fuzz} "$PODMAN_RUN"
