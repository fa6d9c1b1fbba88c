#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the tools of the cluster, starts it and its registry, and pushes the demo images. Does
# nothing if all that is done.
set -euo pipefail
cd "$(dirname "$0")"
./build-tools.sh kubernetes kind kwok coredns >&2
./kind-up.sh
./registry-up.sh
./push-images.sh
