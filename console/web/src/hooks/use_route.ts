// SPDX-License-Identifier: Apache-2.0
// The route of the address, and how to change it.

import { useEffect, useState } from "preact/hooks";
import { changed, formatRoute, parseRoute } from "../pure/route";
import type { Route } from "../pure/route";

const listeners = new Set<() => void>();

addEventListener("hashchange", () => listeners.forEach((listener) => listener()));

export function currentRoute(): Route {
  return parseRoute(location.hash);
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const update = () => setRoute(currentRoute());
    listeners.add(update);
    update();
    return () => void listeners.delete(update);
  }, []);
  return route;
}

// Changes the query in place: typing into a filter must not fill the history.
export function changeQuery(changes: Record<string, string>): void {
  const hash = formatRoute(changed(currentRoute(), changes));
  if (hash === location.hash) return;
  history.replaceState(null, "", hash);
  listeners.forEach((listener) => listener());
}
