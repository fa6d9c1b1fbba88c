// SPDX-License-Identifier: Apache-2.0
// The address of what is shown: "#/waiting?namespace=shop&cause=AwaitsInspection". It is the only
// state that a link shares, so it has the page, the namespace, the filters and what is open.

export const PAGES = ["overview", "waiting", "workloads", "configs", "images", "fleet"] as const;
export type Page = (typeof PAGES)[number];

export interface Route {
  page: Page;
  query: Readonly<Record<string, string>>;
}

function isPage(name: string): name is Page {
  return (PAGES as readonly string[]).includes(name);
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const name = mark < 0 ? text : text.slice(0, mark);
  const query: Record<string, string> = {};
  if (mark >= 0) {
    for (const [key, value] of new URLSearchParams(text.slice(mark + 1))) query[key] = value;
  }
  return { page: isPage(name) ? name : "overview", query };
}

// Equal routes give equal text: keys are sorted, and empty values left out.
export function formatRoute(route: Route): string {
  const pairs = Object.entries(route.query).filter(([, value]) => value !== "");
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  const query = new URLSearchParams(pairs).toString();
  return `#/${route.page}${query === "" ? "" : `?${query}`}`;
}

export function changed(route: Route, changes: Record<string, string>): Route {
  return { page: route.page, query: { ...route.query, ...changes } };
}

// A link to a page, which keeps only the namespace of what is shown now.
export function linkTo(page: Page, now: Route, query: Record<string, string> = {}): string {
  return formatRoute({ page, query: { namespace: now.query["namespace"] ?? "", ...query } });
}
