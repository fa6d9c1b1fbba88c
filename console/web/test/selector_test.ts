// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { parseSelector } from "../src/pure/selector";

function selectorOf(text: string) {
  const parsed = parseSelector(text);
  ok("selector" in parsed, JSON.stringify(parsed));
  return parsed.selector;
}

function errorOf(text: string): string {
  const parsed = parseSelector(text);
  ok("error" in parsed, text);
  return parsed.error;
}

test("nothing selects everything", () => {
  deepEqual(selectorOf("  "), { matchLabels: {}, matchExpressions: [] });
});

test("equality becomes matchLabels", () => {
  deepEqual(selectorOf("app=web, example.com/tier == db ,empty=").matchLabels, {
    app: "web",
    "example.com/tier": "db",
    empty: "",
  });
});

test("the other forms become matchExpressions", () => {
  deepEqual(
    selectorOf("tier in (a, b,a),zone notin (c),x!=y,here,!gone,! gone2").matchExpressions,
    [
      { key: "tier", operator: "In", values: ["a", "b"] },
      { key: "zone", operator: "NotIn", values: ["c"] },
      { key: "x", operator: "NotIn", values: ["y"] },
      { key: "here", operator: "Exists", values: [] },
      { key: "gone", operator: "DoesNotExist", values: [] },
      { key: "gone2", operator: "DoesNotExist", values: [] },
    ],
  );
});

test("a key named twice keeps both requirements", () => {
  const selector = selectorOf("app=a,app=b");
  deepEqual(selector.matchLabels, { app: "a" });
  deepEqual(selector.matchExpressions, [{ key: "app", operator: "In", values: ["b"] }]);
});

test("in with one value stays an expression", () => {
  equal(selectorOf("app in (a)").matchExpressions.length, 1);
});

test("errors name what is wrong", () => {
  match(errorOf("app=web,"), /before or after a comma/);
  match(errorOf("tier in (a"), /has no \)/);
  match(errorOf("tier)"), /has no \(/);
  match(errorOf("tier in ()"), /has no value/);
  match(errorOf("cpu>1"), /< or >/);
  match(errorOf("a b"), /is not like/);
  match(errorOf("=web"), /not the key/);
  match(errorOf("UPPER.com/x=1"), /not the key/);
  match(errorOf("app=-web"), /not the value/);
  match(errorOf(`app=${"x".repeat(64)}`), /not the value/);
  match(errorOf("a=b=c"), /not the value/);
});
