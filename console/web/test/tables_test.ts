// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { WaitingPod, Workload } from "../src/api/answers";
import { formatOrder, nextOrder, parseOrder, sorted } from "../src/pure/sort";
import { causesOf, matchesPod } from "../src/pure/waiting_filter";
import { renderedRows, scrollTopFor, visibleRange } from "../src/pure/window";
import { describeReason, describeRunsOn, matchesWorkload, whyKindOf } from "../src/pure/workloads";

const VIEW = { scrollTop: 1000, height: 100, rowHeight: 10 };

test("only the visible rows and some around them are rendered", () => {
  deepEqual(visibleRange(5000, VIEW, 2), { first: 98, end: 112 });
  deepEqual(visibleRange(5000, { ...VIEW, scrollTop: 0 }, 2), { first: 0, end: 12 });
  deepEqual(visibleRange(3, VIEW, 2), { first: 3, end: 3 });
});

test("the active row stays rendered", () => {
  deepEqual(renderedRows({ first: 5, end: 8 }, 1, 10), [1, 5, 6, 7]);
  deepEqual(renderedRows({ first: 5, end: 8 }, 9, 10), [5, 6, 7, 9]);
  deepEqual(renderedRows({ first: 5, end: 8 }, 6, 10), [5, 6, 7]);
  deepEqual(renderedRows({ first: 0, end: 0 }, -1, 0), []);
});

test("a row that is not visible is scrolled to", () => {
  equal(scrollTopFor(100, VIEW), 1000);
  equal(scrollTopFor(99, VIEW), 990);
  equal(scrollTopFor(110, VIEW), 1010);
});

test("an order is a text of the address", () => {
  deepEqual(parseOrder(undefined, "-age"), { column: "age", descending: true });
  equal(formatOrder(nextOrder({ column: "age", descending: false }, "age")), "-age");
  equal(formatOrder(nextOrder({ column: "age", descending: true }, "pods")), "pods");
});

test("equal rows keep their order when sorted", () => {
  const rows = ["b1", "a1", "b2", "a2"];
  deepEqual(
    sorted(rows, (row) => row.charAt(0), false),
    ["a1", "a2", "b1", "b2"],
  );
  deepEqual(
    sorted(rows, (row) => row.charAt(0), true),
    ["b1", "b2", "a1", "a2"],
  );
});

function pod(name: string, cause?: string): WaitingPod {
  const known = cause === undefined ? {} : { cause: { name: cause, why: "" } };
  return { namespace: "shop", name, created: "", gates: [], ...known };
}

test("pods are found by words and by cause", () => {
  const web = pod("web-0", "AwaitsShard");
  equal(matchesPod(web, "", ""), true);
  equal(matchesPod(web, "SHARD shop/web ", ""), true);
  equal(matchesPod(web, "web db", ""), false);
  equal(matchesPod(web, "", "AwaitsShard"), true);
  equal(matchesPod(web, "", "-"), false);
  equal(matchesPod(pod("x"), "", "-"), true);
  deepEqual(causesOf([pod("a"), web, pod("b", "AwaitsShard")]), [
    ["AwaitsShard", 2],
    ["-", 1],
  ]);
});

const WORKLOAD: Workload = {
  namespace: "shop",
  kind: "Deployment",
  name: "web",
  owner: "team-a",
  pods: 3,
  requests: {},
  runsOn: { "": 1, amd64: 2 },
  imagesAreFor: ["amd64"],
  fate: "held back",
  images: [
    { image: "r.io/a:1", platforms: "linux/amd64", newer: "r.io/a:2" },
    { image: "r.io/b:1", platforms: "", newer: "" },
  ],
};

test("workloads are told as by kubectl placement report", () => {
  equal(describeRunsOn(WORKLOAD), "no node 1, amd64 2");
  equal(
    describeReason(WORKLOAD, "arm64"),
    "r.io/a:1 is for linux/amd64, r.io/a:2 has arm64; r.io/b:1 is not known",
  );
  equal(matchesWorkload(WORKLOAD, "team-a web", "held back"), true);
  equal(matchesWorkload(WORKLOAD, "", "stays"), false);
  equal(whyKindOf("StatefulSet"), "statefulset");
  equal(whyKindOf("Node"), undefined);
});
