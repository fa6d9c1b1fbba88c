// SPDX-License-Identifier: Apache-2.0
// A plain table, for up to some hundred rows.

import type { ComponentChildren } from "preact";
import { cellOf } from "./column";
import type { Column } from "./column";

interface DataTableProps<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey(row: T): string;
  empty: ComponentChildren;
  // The first cell becomes a button that opens the row.
  onOpen?(row: T): void;
  opened?: string;
}

export function DataTable<T>(props: DataTableProps<T>) {
  const { label, columns, rows, rowKey, empty, onOpen, opened } = props;
  if (rows.length === 0) return <p class="empty muted">{empty}</p>;
  return (
    <div class="table-scroll" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" class={column.isNumber ? "number" : undefined}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = rowKey(row);
            return (
              <tr key={key} class={key === opened ? "opened" : undefined}>
                {columns.map((column, index) => (
                  <td key={column.id} class={column.isNumber ? "number" : undefined}>
                    {index === 0 && onOpen !== undefined ? (
                      <button
                        type="button"
                        class="link"
                        data-opens={key}
                        aria-expanded={key === opened}
                        onClick={() => onOpen(row)}
                      >
                        {cellOf(column, row)}
                      </button>
                    ) : (
                      cellOf(column, row)
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
