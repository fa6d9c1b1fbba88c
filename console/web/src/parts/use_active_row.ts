// SPDX-License-Identifier: Apache-2.0
// The row of a table that the keyboard is at (a roving tabindex). It is known by its key, because
// rows come and go; if it goes, the one in its place is active.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { scrollTopFor } from "../pure/window";
import { ROW_HEIGHT } from "./use_scrolled_view";

interface ActiveRowProps<T> {
  scroller: RefObject<HTMLElement>;
  rows: readonly T[];
  rowKey(row: T): string;
  opened: string;
  onOpen(row: T): void;
}

export interface ActiveRow {
  index: number; // -1 without rows
  onKeyDown(event: KeyboardEvent): void;
  open(index: number): void;
  focused(index: number): void;
}

export function useActiveRow<T>(props: ActiveRowProps<T>): ActiveRow {
  const { scroller, rows, rowKey, opened, onOpen } = props;
  const [active, setActive] = useState({ key: opened, index: 0 });
  // The focus is in the table, and must stay there although its row goes.
  const hasFocus = useRef(false);
  const wantsFocus = useRef(false);

  const found = rows.findIndex((row) => rowKey(row) === active.key);
  const index = found >= 0 ? found : Math.min(active.index, rows.length - 1);

  const activate = (to: number) => {
    const row = rows[to];
    if (row !== undefined && (rowKey(row) !== active.key || to !== active.index))
      setActive({ key: rowKey(row), index: to });
  };

  const element = () => scroller.current?.querySelector<HTMLElement>('[role="row"][tabindex="0"]');

  useLayoutEffect(() => {
    if (index >= 0 && found < 0) activate(index);
    const isLost = hasFocus.current && document.activeElement === document.body;
    if (wantsFocus.current || isLost) element()?.focus({ preventScroll: true });
    wantsFocus.current = false;
    hasFocus.current = scroller.current?.contains(document.activeElement) ?? false;
  });

  const moveTo = (to: number) => {
    const target = Math.max(0, Math.min(rows.length - 1, to));
    const table = scroller.current;
    if (table === null || rows.length === 0) return;
    table.scrollTop = scrollTopFor(target, {
      scrollTop: table.scrollTop,
      height: table.clientHeight - ROW_HEIGHT,
      rowHeight: ROW_HEIGHT,
    });
    wantsFocus.current = true;
    activate(target);
  };

  const open = (at: number) => {
    const row = rows[at];
    if (row === undefined) return;
    activate(at);
    onOpen(row);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / ROW_HEIGHT) - 2);
    const moves: Record<string, () => void> = {
      ArrowDown: () => moveTo(index + 1),
      ArrowUp: () => moveTo(index - 1),
      PageDown: () => moveTo(index + page),
      PageUp: () => moveTo(index - page),
      Home: () => moveTo(0),
      End: () => moveTo(rows.length - 1),
      Enter: () => open(index),
      " ": () => open(index),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };

  const focused = (at: number) => {
    hasFocus.current = true;
    activate(at);
  };
  return { index, onKeyDown, open, focused };
}
