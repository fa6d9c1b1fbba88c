# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# deploy_operator: builds the images of this tree and deploys them on the running cluster. Source it
# at the root of the repository.

readonly IMAGES=(operator webhook shard cluster-controller console exec-format/monitor)
readonly FLEET_IMAGES=(fleet/hub fleet/agent)

# The images loaded on this cluster, one NAME:TAG per line. Deleted with the cluster.
loaded_tags_file() {
  printf '%s/run/loaded-images\n' "${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}"
}

# The functions check each command by themselves: after `deploy_operator ||`, `set -e` has no effect
# in them.

# load_images TREE IMAGE... - loads images of a built tree on the kind node, if it does not have
# them.
load_images() {
  local image archive tag loaded tree=$1
  shift
  loaded=$(loaded_tags_file)
  touch "$loaded"
  for image; do
    archive=$tree/bazel-bin/$image/image.tar
    tag=$image:$(sed -n 's/^TAG=//p' "$tree/bazel-bin/$image/image.ref")
    if grep -qxF "$tag" "$loaded"; then continue; fi
    e2e/cluster/load-image.sh "$archive" || return
    printf '%s\n' "$tag" >>"$loaded"
  done
}

build_images() {
  echo "building the images and the deploy program"
  bazel build "${IMAGES[@]/%/:image}" //operator:deploy //operator:undeploy \
    //e2e:demo //console
}

deploy_operator() {
  build_images || return
  if [[ -n ${KUBECONFIG:-} ]]; then
    : "${REGISTRY:?must name a registry that this machine and the cluster of KUBECONFIG reach}"
    bazel run //operator:push -- "$REGISTRY" ${REGISTRY_INSECURE:+--insecure} || return
    bazel run //operator:deploy -- --registry="$REGISTRY"
  else
    load_images "$PWD" "${IMAGES[@]}" || return
    bazel run --run_under="$PWD/e2e/cluster/with-cluster.sh" //operator:deploy
  fi
}
