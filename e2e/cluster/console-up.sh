#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# console-up.sh PROGRAM - starts the console for this cluster, with the administrator's credentials,
# at a loopback port of this machine, and prints its address. Who knows the address may read
# everything in the cluster. kind-down.sh ends it.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
[[ $# -eq 1 ]] || die "usage: console-up.sh PROGRAM"
! uses_own_node_image || need_root "$@"

readonly port=8500

# line_of NAME PATTERN - the first line of a process's log that has PATTERN.
line_of() {
  local line
  for _ in $(seq 100); do
    if line=$(grep -m 1 -E -- "$2" "$LOGS/$1.log"); then
      printf '%s\n' "$line"
      return
    fi
    process_runs "$1" || break
    sleep 0.1
  done
  die "$1 does not serve: $(tail -n 5 "$LOGS/$1.log")"
}

main() {
  [[ -e $CLUSTER_KUBECONFIG ]] || die "no cluster is running; run \`make cluster\`"
  local address published=$port
  # The log has the secret.
  umask 077
  # Another build of the console may have another page.
  stop_process publish
  stop_process console
  rm -f "$LOGS/console.log" "$LOGS/publish.log"
  start_process console "$1" --own-credentials --kubeconfig="$CLUSTER_KUBECONFIG" \
    --address="127.0.0.1:$port" --health-address=127.0.0.1:0
  address=$(line_of console '^http://')
  if uses_own_node_image; then
    setsid python3 "$CLUSTER_DIR/publish.py" "/run/netns/$NETNS" "$port" "$port" \
      >"$LOGS/publish.log" 2>&1 </dev/null &
    printf '%d\n' $! >"$STATE/publish.pid"
    published=$(line_of publish '^[0-9]+$')
  fi
  printf '%s\n' "${address/:$port\//:$published/}"
}

main "$@"
