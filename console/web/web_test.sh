#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# web_test.sh [PACKAGES] - the unit tests of the pages' pure modules. PACKAGES is a file in
# node_modules (set by the target web_test); without it, the packages are those of
# third_party/npm/install.sh.
set -euo pipefail

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly folder
if [[ -n ${1:-} ]]; then
  packages=$(dirname "$1")
else
  packages=$("$folder/../../third_party/npm/install.sh" "$folder")/node_modules
fi
exec node "$folder/build.mjs" "$packages" "${TEST_TMPDIR:-/tmp}" --tests
