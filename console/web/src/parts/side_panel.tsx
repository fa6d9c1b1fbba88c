// SPDX-License-Identifier: Apache-2.0
// A panel beside a table, with the details of a row. Escape closes it, and the focus returns to the
// row.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { PAGE_TITLE_ID } from "./page_head";

interface SidePanelProps {
  // The key of the row: data-opens of a row or button.
  subject: string;
  title: string;
  kind: string;
  onClose(): void;
  children: ComponentChildren;
}

function focusRow(subject: string): void {
  const row = document.querySelector<HTMLElement>(`[data-opens="${CSS.escape(subject)}"]`);
  (row ?? document.getElementById(PAGE_TITLE_ID))?.focus();
}

export function SidePanel({ subject, title, kind, onClose, children }: SidePanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const close = () => {
    onClose();
    focusRow(subject);
  };
  const latestClose = useRef(close);
  latestClose.current = close;

  useEffect(() => heading.current?.focus(), [subject]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      // In a search field, Escape clears the text.
      const isTyping = event.target instanceof HTMLInputElement && event.target.value !== "";
      if (event.key !== "Escape" || event.defaultPrevented || isTyping) return;
      event.preventDefault();
      latestClose.current();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);

  return (
    <div class="panel" role="dialog" aria-modal="false" aria-labelledby="panel-title">
      <div class="panel-head">
        <div>
          <p class="muted">{kind}</p>
          <h2 id="panel-title" ref={heading} tabIndex={-1}>
            {title}
          </h2>
        </div>
        <button type="button" class="button" onClick={close}>
          Close
        </button>
      </div>
      <div class="panel-body" tabIndex={0} role="region" aria-labelledby="panel-title">
        {children}
      </div>
    </div>
  );
}
