// SPDX-License-Identifier: Apache-2.0
// Notes: what is wrong, what could not be read, what is not listed.

import type { ComponentChildren } from "preact";
import type { Unread } from "../api/answers";
import { describeCount } from "../pure/amounts";

export type Tone = "info" | "warning" | "error";

export function Note({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <div class={`note note-${tone}`} role={tone === "error" ? "alert" : undefined}>
      {children}
    </div>
  );
}

export function UnreadNote({ unread }: { unread: Unread[] | undefined }) {
  if (unread === undefined || unread.length === 0) return null;
  return (
    <Note tone="warning">
      <p>You may not read everything, so this may be incomplete:</p>
      <ul>
        {unread.map((part, index) => (
          <li key={index}>
            <strong>{part.what}</strong>: {part.why}
          </li>
        ))}
      </ul>
    </Note>
  );
}

export function LeftOutNote({ count, of }: { count: number | undefined; of: string }) {
  if (count === undefined || count === 0) return null;
  return (
    <Note tone="warning">
      The answer has a limit of size: {describeCount(count)} more {of} are not listed. Choose a
      namespace or narrow the filters to see them.
    </Note>
  );
}
