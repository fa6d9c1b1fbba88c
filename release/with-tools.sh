#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# with-tools.sh COMMAND... - runs a command with the tools of releases (make setup-release) in PATH.
set -euo pipefail
# shellcheck source=../e2e/cluster/env.sh
. "$(dirname "$0")/../e2e/cluster/env.sh"
export PATH=$BIN:$PATH
exec "$@"
