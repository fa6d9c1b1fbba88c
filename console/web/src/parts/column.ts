// SPDX-License-Identifier: Apache-2.0
// A column of a table.

import type { ComponentChildren } from "preact";
import type { SortKey } from "../pure/sort";

export interface Column<T> {
  id: string;
  title: string;
  // The cell as text: what is shown without `render`, and what CSV files have.
  text(row: T): string;
  render?(row: T): ComponentChildren;
  sortKey?(row: T): SortKey;
  isNumber?: boolean;
  // In virtual tables: the width as in grid-template-columns, and that on narrow screens; without
  // `narrow`, narrow screens do not show the column.
  width?: string;
  narrow?: string;
}

export function cellOf<T>(column: Column<T>, row: T): ComponentChildren {
  return column.render === undefined ? column.text(row) : column.render(row);
}
