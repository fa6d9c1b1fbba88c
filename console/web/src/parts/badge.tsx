// SPDX-License-Identifier: Apache-2.0
// Small words with a colour, which is never all that says something.

import type { ComponentChildren } from "preact";

export type BadgeTone = "good" | "bad" | "warn" | "plain" | "accent";

export function Badge({ tone, children }: { tone: BadgeTone; children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

export function Chips({ names }: { names: readonly string[] }) {
  return (
    <span class="chips">
      {names.map((name) => (
        <span key={name} class="chip" title={name}>
          {name}
        </span>
      ))}
    </span>
  );
}
