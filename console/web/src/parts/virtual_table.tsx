// SPDX-License-Identifier: Apache-2.0
// A table of thousands of rows: only those that are visible are in the DOM. It is an ARIA grid of
// rows: the arrow keys, Page Up, Page Down, Home and End move between rows, Enter opens one.

import type { ComponentChildren, CSSProperties } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { nextOrder } from "../pure/sort";
import type { Order } from "../pure/sort";
import { renderedRows, visibleRange } from "../pure/window";
import { cellOf } from "./column";
import type { Column } from "./column";
import { useActiveRow } from "./use_active_row";
import { ROW_HEIGHT, useScrolledView } from "./use_scrolled_view";

const OVERSCAN = 6;

interface VirtualTableProps<T> {
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  rowKey(row: T): string;
  empty: ComponentChildren;
  onOpen(row: T): void;
  opened: string; // the key of the row that is open; "" for none
  order?: Order;
  onOrder?(order: Order): void;
  // Fits its rows, up to a limit, instead of a fixed height.
  isShort?: boolean;
}

function widthsOf<T>(columns: Column<T>[]): CSSProperties {
  const narrow = columns.filter((column) => column.narrow !== undefined);
  return {
    "--columns": columns.map((column) => column.width ?? "minmax(0, 1fr)").join(" "),
    "--narrow-columns": narrow.map((column) => column.narrow).join(" "),
  };
}

function classOf<T>(column: Column<T>): string {
  return `cell${column.isNumber ? " number" : ""}${column.narrow === undefined ? " wide" : ""}`;
}

function HeadCell<T>({
  column,
  order,
  onOrder,
}: Pick<VirtualTableProps<T>, "order" | "onOrder"> & {
  column: Column<T>;
}) {
  const isSortable = column.sortKey !== undefined && order !== undefined && onOrder !== undefined;
  if (!isSortable)
    return (
      <div class={classOf(column)} role="columnheader">
        {column.title}
      </div>
    );
  const isSorted = order.column === column.id;
  const direction = order.descending ? "descending" : "ascending";
  return (
    <div class={classOf(column)} role="columnheader" aria-sort={isSorted ? direction : "none"}>
      <button type="button" class="sort" onClick={() => onOrder(nextOrder(order, column.id))}>
        {column.title}
        <span aria-hidden="true">{isSorted ? (order.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </div>
  );
}

export function VirtualTable<T>(props: VirtualTableProps<T>) {
  const { label, columns, rows, rowKey, empty, onOpen, opened, isShort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const view = useScrolledView(scroller);
  const active = useActiveRow({ scroller, rows, rowKey, opened, onOpen });
  const range = visibleRange(rows.length, view, OVERSCAN);
  const body: CSSProperties = { height: `${rows.length * ROW_HEIGHT}px` };

  // Another order or filter begins at the top.
  const orderText = props.order && `${props.order.column} ${String(props.order.descending)}`;
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    if (!isFirst.current) scroller.current?.scrollTo(0, 0);
    isFirst.current = false;
  }, [orderText]);

  return (
    <div
      ref={scroller}
      class={`grid${isShort ? " grid-short" : ""}${columns.length > 6 ? " grid-many" : ""}`}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      style={widthsOf(columns)}
    >
      <div role="rowgroup" class="grid-head">
        <div class="row" role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <HeadCell key={column.id} column={column} {...orderProps(props)} />
          ))}
        </div>
      </div>
      <div class="grid-body" role="rowgroup" style={body} onKeyDown={active.onKeyDown}>
        {renderedRows(range, active.index, rows.length).map((index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const key = rowKey(row);
          return (
            <div
              key={key}
              class="row"
              role="row"
              aria-rowindex={index + 2}
              aria-selected={key === opened}
              tabIndex={index === active.index ? 0 : -1}
              data-opens={key}
              style={{ top: `${index * ROW_HEIGHT}px` }}
              onClick={() => active.open(index)}
              onFocus={() => active.focused(index)}
            >
              {columns.map((column) => (
                <div
                  key={column.id}
                  class={classOf(column)}
                  role="gridcell"
                  title={column.text(row)}
                >
                  {cellOf(column, row)}
                </div>
              ))}
            </div>
          );
        })}
        {rows.length === 0 && (
          <div role="row" class="grid-empty">
            <div role="gridcell" class="muted">
              {empty}
            </div>
          </div>
        )}
      </div>
    </div>
  );
}

function orderProps<T>({ order, onOrder }: VirtualTableProps<T>) {
  return order === undefined || onOrder === undefined ? {} : { order, onOrder };
}
