#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# rules_test.sh PROMETHEUS_RULE TESTS RUNBOOK... - checks the alerts of a PrometheusRule with
# promtool, runs their unit tests, and checks that each alert has a test and a runbook.
set -euo pipefail

rule=$1 tests=$2
shift 2
if ! command -v promtool >/dev/null; then
  echo "SKIPPED: promtool is not installed (e2e/monitoring/packages.txt)"
  exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The spec of the object is a file of Prometheus's rules.
sed -e '1,/^spec:/d' -e 's/^  //' "$rule" >"$folder/rules.yaml"
cp "$tests" "$folder/tests.yaml"
promtool check rules --lint=all --lint-fatal "$folder/rules.yaml"
promtool test rules "$folder/tests.yaml"

failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}
mapfile -t alerts < <(sed -n 's/^ *- alert: //p' "$rule")
[[ ${#alerts[@]} -gt 0 ]] || fail "no alerts in $rule"
for alert in "${alerts[@]}"; do
  page=docs/runbooks/$alert.md
  grep -q "runbook_url: https://pod-placement.invalid/$page\$" "$rule" ||
    fail "$alert has no runbook_url with $page"
  [[ " $* " == *" $page "* ]] || fail "there is no page $page"
  [[ $(grep -c "$alert" "$tests") -ge 2 ]] || fail "$alert has no test in which it fires"
done
for page in "$@"; do
  name=$(basename "$page" .md)
  [[ $name == README || " ${alerts[*]} " == *" $name "* ]] || fail "$page is about no alert"
done
exit "$failed"
