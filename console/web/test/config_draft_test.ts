// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { EMPTY_DRAFT, configOf, problemsOf } from "../src/pure/config_draft";
import type { Draft } from "../src/pure/config_draft";
import { toYaml } from "../src/pure/yaml";

const DRAFT: Draft = {
  name: "web",
  selector: "app=web,tier in (a,true),!old",
  priority: "10",
  weights: [
    { architecture: "arm64", weight: "75" },
    { architecture: "amd64", weight: "25" },
  ],
};

test("a draft becomes a PodPlacementConfig", () => {
  deepEqual(problemsOf(DRAFT, "shop"), {});
  equal(
    toYaml(configOf(DRAFT, "shop")),
    `apiVersion: multiarch.openshift.io/v1beta1
kind: PodPlacementConfig
metadata:
  name: web
  namespace: shop
spec:
  labelSelector:
    matchLabels:
      app: web
    matchExpressions:
    - key: tier
      operator: In
      values:
      - a
      - "true"
    - key: old
      operator: DoesNotExist
  priority: 10
  plugins:
    nodeAffinityScoring:
      enabled: true
      platforms:
      - architecture: arm64
        weight: 75
      - architecture: amd64
        weight: 25
`,
  );
});

test("an empty selector is left out", () => {
  deepEqual(problemsOf(EMPTY_DRAFT, "shop"), {});
  equal(toYaml(configOf(EMPTY_DRAFT, "shop")).includes("labelSelector"), false);
});

function problemsWith(part: Partial<Draft>, namespace = "shop") {
  return problemsOf({ ...DRAFT, ...part }, namespace);
}

test("the limits are those of the CRD", () => {
  match(problemsWith({ name: "Web" }).name ?? "", /lower-case/);
  match(problemsWith({}, "").namespace ?? "", /namespace/);
  match(problemsWith({}, "a.b").namespace ?? "", /not the name/);
  match(problemsWith({ selector: "a b" }).selector ?? "", /is not like/);
  for (const priority of ["", "-1", "256", "1.5", "x"])
    match(problemsWith({ priority }).priority ?? "", /0 to 255/);
  match(problemsWith({ weights: [] }).weights ?? "", /at least one/);
  for (const weight of ["", "0", "101"])
    match(problemsWith({ weights: [{ architecture: "arm64", weight }] }).weights ?? "", /1 to 100/);
  const twice = [DRAFT.weights, DRAFT.weights].flat();
  match(problemsWith({ weights: twice }).weights ?? "", /twice/);
  const unknown = [{ architecture: "unknown", weight: "1" }];
  match(problemsWith({ weights: unknown }).weights ?? "", /not the name/);
});

test("YAML keeps strings strings", () => {
  equal(
    toYaml({ a: "1", b: "no", c: "x: y", d: "", e: "1e3", f: "a.b/c-d", g: [], h: {}, i: ["é"] }),
    'a: "1"\nb: "no"\nc: "x: y"\nd: ""\ne: "1e3"\nf: a.b/c-d\ng: []\nh: {}\ni:\n- "é"\n',
  );
});
