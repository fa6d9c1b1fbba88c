#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes the demo images to the registry (see images/push_demo.py).
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
! uses_own_node_image || need_root "$@"

in_netns python3 "$CLUSTER_DIR/images/push_demo.py" "$(cat "$STATE/registry")" "$BIN/pause"
