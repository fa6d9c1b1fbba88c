// SPDX-License-Identifier: Apache-2.0
// Which rows of a long table are in the DOM.

export interface Range {
  first: number;
  end: number; // one past the last row
}

export interface View {
  scrollTop: number; // pixels
  height: number;
  rowHeight: number;
}

export function visibleRange(rows: number, view: View, overscan: number): Range {
  const first = Math.floor(view.scrollTop / view.rowHeight) - overscan;
  const end = Math.ceil((view.scrollTop + view.height) / view.rowHeight) + overscan;
  const clamp = (index: number) => Math.min(rows, Math.max(0, index));
  return { first: clamp(first), end: clamp(end) };
}

// The rows of the range, and the active one wherever it is: a row that has the focus must stay in
// the DOM.
export function renderedRows(range: Range, active: number, rows: number): number[] {
  const indexes: number[] = [];
  const isOutside = active >= 0 && active < rows && (active < range.first || active >= range.end);
  if (isOutside && active < range.first) indexes.push(active);
  for (let index = range.first; index < range.end; index++) indexes.push(index);
  if (isOutside && active >= range.end) indexes.push(active);
  return indexes;
}

// How far to scroll so that a row is visible below the head, which covers the top.
export function scrollTopFor(index: number, view: View): number {
  const top = index * view.rowHeight;
  const bottom = top + view.rowHeight;
  if (top < view.scrollTop) return top;
  if (bottom > view.scrollTop + view.height) return bottom - view.height;
  return view.scrollTop;
}
