#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The demo of `make demo`, on a running cluster: builds the images, loads them on the nodes, deploys
# the operator, and shows the steps of pods. With a KUBECONFIG of the user, the images are pushed to
# REGISTRY, which this machine and the cluster must reach.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=e2e/deploy.sh
. e2e/deploy.sh
deploy_operator

bazel run --run_under="$PWD/e2e/cluster/with-cluster.sh" //e2e:demo
