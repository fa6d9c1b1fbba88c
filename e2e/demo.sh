#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The demo of `make demo`: starts a cluster and builds the images beside it, loads them on the
# nodes, deploys the operator, and shows the steps of pods. With a KUBECONFIG of the user, the
# images are pushed to REGISTRY, which this machine and the cluster must reach.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=e2e/cluster/env.sh
. e2e/cluster/env.sh
# shellcheck source=e2e/deploy.sh
. e2e/deploy.sh

# What `make cluster` does, while Bazel builds: both wait for the network and for linkers at times.
start_cluster_and_build() {
  say "demo: with nothing built, this takes about 15 minutes on two processors; later, one minute"
  # In a process group of its own, to be stopped with all its children.
  set -m
  step --about=720 "building the operator's images" build_images &
  local images=$!
  set +m
  # shellcheck disable=SC2064  # expanded now: `images` is local
  trap "kill -- -$images 2>/dev/null" EXIT
  if [[ -z ${KUBECONFIG:-} ]]; then
    e2e/cluster/up.sh || die "no cluster, see above; logs in $LOGS"
  fi
  wait "$images" || die "no images of the operator, see above; logs in $LOGS"
  trap - EXIT
}

start_cluster_and_build
deploy_operator

# push_own_index - pushes the index of the operator's own webhook image for the demo to inspect, if
# `make images` has built it, and sets OWN_IMAGE.
push_own_index() {
  bazel build //webhook:index
  # shellcheck source=/dev/null
  . bazel-bin/webhook/index.ref
  if [[ $ARCHITECTURES != *,* ]]; then
    echo "The operator's own image is built for $ARCHITECTURES only. To see it inspected for all" \
      "architectures, run \`make images\` before."
    return
  fi
  export OWN_IMAGE=$NAME:$TAG
  # shellcheck disable=SC2016  # REGISTRY is set in the cluster's network
  e2e/cluster/with-cluster.sh bash -c 'skopeo copy --all --quiet --insecure-policy \
    --dest-tls-verify=false "oci-archive:$1" "docker://$REGISTRY/$OWN_IMAGE"' \
    - "$PWD/bazel-bin/webhook/index.tar"
}
push_own_index

bazel run --run_under="$PWD/e2e/cluster/with-cluster.sh" //e2e:demo

# A console for the user's cluster is not started unasked.
if [[ -n ${KUBECONFIG:-} ]]; then
  say "console: bazel run //console -- --own-credentials"
else
  console=$(e2e/cluster/console-up.sh "$PWD/bazel-bin/console/console")
  say "console: $console"
  echo "  until \`make down\`; who knows the address may read everything in this cluster"
fi
