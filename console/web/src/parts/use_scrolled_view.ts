// SPDX-License-Identifier: Apache-2.0
// How far an element is scrolled, and how much of it is visible.

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { View } from "../pure/window";

// As --row-height in app.css. The head of a table is as high as a row.
export const ROW_HEIGHT = 34;

export function viewOf(element: HTMLElement): View {
  return {
    // Whole rows, so that a small step renders nothing.
    scrollTop: Math.floor(element.scrollTop / ROW_HEIGHT) * ROW_HEIGHT,
    height: Math.max(0, element.clientHeight - ROW_HEIGHT),
    rowHeight: ROW_HEIGHT,
  };
}

export function useScrolledView(scroller: RefObject<HTMLElement>): View {
  const [view, setView] = useState<View>({ scrollTop: 0, height: 600, rowHeight: ROW_HEIGHT });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const update = () =>
      setView((old) => {
        const now = viewOf(element);
        return old.scrollTop === now.scrollTop && old.height === now.height ? old : now;
      });
    update();
    element.addEventListener("scroll", update, { passive: true });
    const observer = new ResizeObserver(update);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", update);
      observer.disconnect();
    };
  }, []);
  return view;
}
