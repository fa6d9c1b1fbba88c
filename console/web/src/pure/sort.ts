// SPDX-License-Identifier: Apache-2.0
// The order of a table, as the address has it: "pods", or "-pods" for descending.

export interface Order {
  column: string;
  descending: boolean;
}

export function parseOrder(text: string | undefined, fallback: string): Order {
  const order = text === undefined || text === "" ? fallback : text;
  return { column: order.replace(/^-/, ""), descending: order.startsWith("-") };
}

export function formatOrder(order: Order): string {
  return (order.descending ? "-" : "") + order.column;
}

// What a click on the title of a column does.
export function nextOrder(now: Order, column: string): Order {
  return { column, descending: now.column === column && !now.descending };
}

export type SortKey = string | number;

// A sorted copy. Equal rows keep their order.
export function sorted<T>(rows: readonly T[], key: (row: T) => SortKey, descending: boolean): T[] {
  const keyed = rows.map((row) => ({ row, key: key(row) }));
  const sign = descending ? -1 : 1;
  keyed.sort((a, b) => (a.key === b.key ? 0 : a.key < b.key ? -sign : sign));
  return keyed.map((one) => one.row);
}
