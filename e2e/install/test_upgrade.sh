#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test_upgrade.sh REVISION - the install flows on the kind cluster, with the programs and manifests
# of an older revision of this repository. Builds them in the cache, with the revision's own files.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=e2e/cluster/env.sh
. e2e/cluster/env.sh
# shellcheck source=e2e/deploy.sh
. e2e/deploy.sh

readonly older=$POD_PLACEMENT_CACHE/older
readonly optional=(//operator/helm:chart //operator/olm:bundle)

build_older() {
  local target folder image targets=(//operator:deploy)
  rm -rf "$older/tree"
  mkdir -p "$older/tree"
  git archive "$1" | tar --extract --directory="$older/tree"
  cd "$older/tree"
  for image in "${IMAGES[@]}"; do
    [[ ! -d $image ]] || targets+=("$image:image")
  done
  for target in "${optional[@]}"; do
    folder=${target#//}
    [[ ! -d ${folder%:*} ]] || targets+=("$target")
  done
  bazel --output_base="$older/bazel" build "${targets[@]}"
  bazel --output_base="$older/bazel" shutdown
}

main() {
  [[ -z ${KUBECONFIG:-} ]] || die "it would remove the operator of the cluster of KUBECONFIG"
  local revision image
  revision=$(git rev-parse --quiet --verify "$1^{commit}") || die "no revision $1 in this clone"
  (build_older "$revision")
  build_images
  bazel build "${optional[@]}"

  "$CLUSTER_DIR/up.sh"
  load_images "$PWD" "${IMAGES[@]}"
  for image in "${IMAGES[@]}"; do
    [[ ! -d $older/tree/$image ]] || load_images "$older/tree" "$image"
  done
  "$CLUSTER_DIR/with-cluster.sh" python3 e2e/install/install_flows.py --older "$older/tree"
}

main "$@"
