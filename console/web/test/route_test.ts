// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { changed, formatRoute, linkTo, parseRoute } from "../src/pure/route";

test("a route is read from the address", () => {
  deepEqual(parseRoute("#/waiting?cause=A&namespace=a%20b"), {
    page: "waiting",
    query: { cause: "A", namespace: "a b" },
  });
  deepEqual(parseRoute(""), { page: "overview", query: {} });
  equal(parseRoute("#/nothing").page, "overview");
  equal(parseRoute("#token=abc").page, "overview");
});

test("equal routes have the same address", () => {
  equal(formatRoute({ page: "images", query: { b: "2", a: "1", c: "" } }), "#/images?a=1&b=2");
  const route = parseRoute("#/waiting?pod=shop%2Fweb-0");
  deepEqual(parseRoute(formatRoute(route)), route);
});

test("a change keeps the rest", () => {
  const route = parseRoute("#/waiting?cause=A&text=x");
  equal(formatRoute(changed(route, { text: "", pod: "a/b" })), "#/waiting?cause=A&pod=a%2Fb");
});

test("a link to another page keeps the namespace alone", () => {
  const route = parseRoute("#/waiting?cause=A&namespace=shop");
  equal(linkTo("configs", route), "#/configs?namespace=shop");
  equal(linkTo("waiting", route, { cause: "-" }), "#/waiting?cause=-&namespace=shop");
});
