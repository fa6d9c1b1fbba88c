#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build-tools.sh [TOOL...] - builds tools of the clusters from Go modules: kubernetes, kind, kwok,
# coredns, helm, distribution, health-checks; all of these by default. Prints the folder for
# KUBEBUILDER_ASSETS. Does nothing if they exist. kustomize is a part of kubectl. Only by their
# names, because they take long: kyverno, karpenter, products that run beside the operator in tests;
# cosign, oras and krew, for releases; kubernetes-1.30, the oldest control plane that is supported,
# whose folder for KUBEBUILDER_ASSETS is another one.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"

# Without cgo: static binaries run in every image.
export CGO_ENABLED=0
# Workspace and flags of the user must not change what is built.
export GOWORK=off GOFLAGS=

readonly version_package=k8s.io/component-base/version
# version_ldflags VERSION MINOR - flags of the linker for Kubernetes VERSION.
version_ldflags() {
  printf '%s' "-s -w -X $version_package.gitVersion=$1 -X $version_package.gitMajor=1 " \
    "-X $version_package.gitMinor=$2"
}

# What main prints.
assets=$ASSETS

# build TOOL HASH SECONDS COMMAND... - makes $TOOLS/TOOL-HASH by running COMMAND, for about SECONDS,
# with the file to write as its last argument.
build() {
  local tool=$1 file=$TOOLS/$1-$2 about=$3
  shift 3
  if [[ ! -x $file ]]; then
    command -v go >/dev/null || die "no Go found; run \`make setup\`"
    # A temporary name first: an interrupted build must not look finished.
    step --about="$about" "building $tool" "$@" "$file.tmp"
    mv "$file.tmp" "$file"
  fi
  ln -sfn "../$(basename "$file")" "$BIN/$tool"
}

# build_own FOLDER LDFLAGS FILE - builds the program in a folder of this one, whose go.sum has the
# checksums of its modules.
build_own() {
  cd "$CLUSTER_DIR/$1"
  nice -n 10 go build -trimpath -ldflags "$2" -o "$3" .
}

# build_dependency FOLDER PACKAGE FILE - the same for a program of one of these modules.
build_dependency() {
  cd "$CLUSTER_DIR/$1"
  nice -n 10 go build -trimpath -ldflags '-s -w' -o "$3" "$2"
}

# write_crds FOLDER MODULE SUBFOLDER... FILE - the CRDs in subfolders of a module that the module in
# FOLDER requires.
write_crds() {
  local folder=$1 module=$2 file=${*: -1} root subfolder crd
  root=$(cd "$CLUSTER_DIR/$folder" && go list -m -f '{{.Dir}}' "$module")
  for subfolder in "${@:3:$#-3}"; do
    for crd in "$root/$subfolder"/*.yaml; do
      echo "---"
      cat "$crd"
    done
  done >"$file"
  chmod 755 "$file" # as in write_kwok_stages
}

# install_module PACKAGE@VERSION FILE - go install has no option for the file's name, only for the
# folder.
install_module() {
  local folder
  folder=$(mktemp -d "$TOOLS/install.XXXXXX")
  GOBIN=$folder nice -n 10 go install -trimpath -ldflags '-s -w' "$1"
  mv "$folder"/* "$2"
  rmdir "$folder"
}

# module_folder MODULE@VERSION - downloads a Go module and prints the folder with its sources.
module_folder() {
  (cd "$TOOLS" && go mod download -json "$1") | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'
}

# write_kwok_stages FILE - kwok's own "fast" stages: nodes and pods become ready at once. kwok's
# image contains them; the binary reads them as configuration.
write_kwok_stages() {
  local module
  module=$(module_folder "sigs.k8s.io/kwok@$KWOK_VERSION")
  local -a stages=("$module"/kustomize/stage/{node/fast,node/heartbeat-with-lease,pod/fast}/*.yaml)
  local file
  for file in "${stages[@]}"; do
    [[ $file == */kustomization.yaml ]] || { echo "---"; cat "$file"; }
  done >"$1"
  chmod 755 "$1" # build() recognizes a finished product by its x bit
}

# get_kind_files FOLDER - the files of kind's own node image.
get_kind_files() {
  local module
  module=$(module_folder "sigs.k8s.io/kind@$KIND_VERSION")
  rm -rf "$1"
  cp -R "$module/images/base/files" "$1"
  chmod -R u+w "$1"
}

build_pause() { gcc -Os -static -s -Wall -Wextra -o "$1" "$CLUSTER_DIR/images/pause.c"; }

# --- The tools

get_kubernetes() {
  local ldflags
  ldflags=$(version_ldflags "$KUBERNETES_VERSION" 36)
  build k8s "$(content_hash "$ldflags" "$CLUSTER_DIR"/k8s/{go.mod,go.sum,*.go})" 570 \
    build_own k8s "$ldflags"
  local name
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl; do
    ln -sfn ../bin/k8s "$ASSETS/$name"
    ln -sfn k8s "$BIN/$name"
  done
  ln -sfn k8s "$BIN/kubeadm"
}

# A folder of assets with the oldest control plane, and otherwise the programs of $ASSETS.
get_kubernetes_1_30() {
  local ldflags name
  ldflags=$(version_ldflags "$OLDEST_KUBERNETES_VERSION" 30)
  build k8s-1.30 "$(content_hash "$ldflags" "$CLUSTER_DIR"/k8s-1.30/{go.mod,go.sum,*.go})" 400 \
    build_own k8s-1.30 "$ldflags"
  get_kubernetes
  get_distribution
  get_health_checks
  mkdir -p "$OLDEST_ASSETS"
  for name in "$ASSETS"/*; do ln -sfn "../assets/${name##*/}" "$OLDEST_ASSETS/${name##*/}"; done
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler; do
    ln -sfn ../bin/k8s-1.30 "$OLDEST_ASSETS/$name"
  done
  assets=$OLDEST_ASSETS
}

# With the pause image's program, which is written in C.
get_kind() {
  build kind "$KIND_VERSION" 30 install_module "sigs.k8s.io/kind@$KIND_VERSION"
  build kind-files "$KIND_VERSION" 1 get_kind_files
  build pause "$(content_hash "$CLUSTER_DIR/images/pause.c")" 1 build_pause
}

get_kwok() {
  build kwok "$KWOK_VERSION" 110 install_module "sigs.k8s.io/kwok/cmd/kwok@$KWOK_VERSION"
  build kwok-stages.yaml "$KWOK_VERSION" 1 write_kwok_stages
}

get_coredns() {
  build coredns "$COREDNS_VERSION" 110 install_module "github.com/coredns/coredns@$COREDNS_VERSION"
}

get_helm() {
  build helm "$HELM_VERSION" 70 install_module "helm.sh/helm/v3/cmd/helm@$HELM_VERSION"
}

# They sign and push releases.
get_cosign() {
  build cosign "$COSIGN_VERSION" 400 \
    install_module "github.com/sigstore/cosign/v2/cmd/cosign@$COSIGN_VERSION"
}

get_oras() {
  build oras "$ORAS_VERSION" 40 install_module "oras.land/oras/cmd/oras@$ORAS_VERSION"
}

# Installs plugins of kubectl, as users do.
get_krew() {
  build krew "$KREW_VERSION" 20 install_module "sigs.k8s.io/krew/cmd/krew@$KREW_VERSION"
}

# A registry for tests, where they find the control plane: they have no other folder of tools.
get_distribution() {
  build distribution "$(content_hash "$CLUSTER_DIR"/distribution/{go.mod,go.sum,*.go})" 60 \
    build_own distribution '-s -w'
  ln -sfn ../bin/distribution "$ASSETS/distribution"
}

# The interpreters of Argo CD's and Flux's health checks, for the files in examples/.
get_health_checks() {
  local folder=$CLUSTER_DIR/../neighbours/health
  build health-checks "$(content_hash "$folder"/{go.mod,go.sum,*.go})" 60 \
    build_own ../neighbours/health '-s -w'
  ln -sfn ../bin/health-checks "$ASSETS/health-checks"
}

# get_neighbour NAME SECONDS MODULE PACKAGE SUBFOLDER... - a product from its Go module, with its
# CRDs.
get_neighbour() {
  local name=$1 about=$2 module=$3 package=$4 folder=../neighbours/$1 hash
  hash=$(content_hash "$CLUSTER_DIR/$folder"/go.{mod,sum})
  build "$name" "$hash" "$about" build_dependency "$folder" "$module/$package"
  build "$name-crds.yaml" "$hash" 1 write_crds "$folder" "$module" "${@:5}"
  ln -sfn "../bin/$name" "$ASSETS/$name"
  ln -sfn "../bin/$name-crds.yaml" "$ASSETS/$name-crds.yaml"
}

get_kyverno() {
  get_neighbour kyverno 600 github.com/kyverno/kyverno cmd/kyverno \
    config/crds/{kyverno,policies.kyverno.io,policyreport,reports}
}

# With its provider for tests, whose nodes kwok drives.
get_karpenter() {
  get_neighbour karpenter 300 sigs.k8s.io/karpenter kwok {pkg,kwok}/apis/crds
  get_kwok
  local name
  for name in kwok kwok-stages.yaml; do ln -sfn "../bin/$name" "$ASSETS/$name"; done
}

main() {
  mkdir -p "$BIN" "$ASSETS"
  local tool tools=("$@")
  [[ $# -gt 0 ]] || tools=(kubernetes kind kwok coredns helm distribution health-checks)
  for tool in "${tools[@]}"; do "get_${tool//[-.]/_}"; done
  say "KUBEBUILDER_ASSETS=$assets"
}

main "$@"
