#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Deletes the cache: tools, node image, sysroots, older version, logs. Keeps Go's own caches.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
need_root "$@"

"$CLUSTER_DIR/kind-down.sh"
# By name: the folder may contain other files, and POD_PLACEMENT_CACHE may be wrong.
rm -rf "$TOOLS" "$LOGS" "$POD_PLACEMENT_CACHE"/{podman,tmp,fuzz,sysroots,older} "$PODMAN_RUN"
