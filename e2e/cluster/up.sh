#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts the cluster and its registry, and pushes the demo images. Does nothing if all that is done.
set -euo pipefail
cd "$(dirname "$0")"
./kind-up.sh
./registry-up.sh
./push-images.sh
