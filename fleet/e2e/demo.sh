#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The demo of `make fleet-demo`: a hub and two members on this machine.
#
# KEEP=1              the fleet runs on after the demo, until Ctrl-C
# KUBEBUILDER_ASSETS  the folder with the programs of a control plane; without it they are built
set -euo pipefail
cd "$(dirname "$0")/../.."

if [[ -z ${KUBEBUILDER_ASSETS:-} ]]; then
  KUBEBUILDER_ASSETS=$(e2e/cluster/build-tools.sh | sed -n 's/^KUBEBUILDER_ASSETS=//p')
fi
export KUBEBUILDER_ASSETS
arguments=()
if [[ ${KEEP:-} == 1 ]]; then arguments=(-- --keep); fi
exec bazel run //fleet/e2e/demo "${arguments[@]}"
