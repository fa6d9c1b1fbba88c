#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The show of `make demo`, on a cluster that is up: builds the images, brings them to the nodes,
# deploys the operator, and follows pods on their way. With a KUBECONFIG of the user's own, REGISTRY
# names a registry that this machine and the cluster reach, and the images go there.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=e2e/deploy.sh
. e2e/deploy.sh
deploy_operator

bazel run --run_under="$PWD/e2e/cluster/with-cluster.sh" //e2e:demo
