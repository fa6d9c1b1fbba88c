#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh [ARGUMENT...] - the tests of the evaluator in Go, with the race detector. The arguments
# are those of `go test`: test.sh -run Serve -v. Needs a C compiler, and no network once the modules
# are packed (third_party/go/vendor.sh). The tests import only what the program imports.
#
# The evaluator as a process, its limit of memory and its end are tested in ../evaluator_test.cc.
set -euo pipefail

module=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly module
if [[ -n ${GO_ENV:-} ]]; then # set by the target go_test, with VENDOR
  # shellcheck source=/dev/null disable=SC2154
  . "./$GO_ENV"
  readonly go vendor=$VENDOR
  export GOCACHE=$go_cache
else
  mapfile -t modules < <("$module/../../../third_party/go/vendor.sh" "$module")
  [[ ${#modules[@]} -eq 4 ]] || exit 1
  readonly vendor=${modules[0]}/vendor.tar go=${modules[1]}
fi

work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
cp "$module"/{go.mod,go.sum,*.go} "$work"
tar --extract --file="$vendor" --directory="$work"
cd "$work"
export GOPATH=$work/gopath
export CGO_ENABLED=1 GOENV=off GOPROXY=off GOTOOLCHAIN=local GOWORK=off
# Without -trimpath, the name of the folder is part of what is compiled: all modules, every time.
export GOFLAGS='-mod=vendor -trimpath'
"$go" test -race -shuffle=on "$@" .
