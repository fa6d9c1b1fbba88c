// SPDX-License-Identifier: Apache-2.0
// How much of something is used.

import { describeShare } from "../pure/amounts";

interface BarProps {
  label: string; // for screen readers
  share: number | undefined; // from 0 to 1
  tone?: "good" | "bad";
}

export function Bar({ label, share, tone }: BarProps) {
  const width = `${(share ?? 0) * 100}%`;
  return (
    <div class="bar" role="img" aria-label={`${label}: ${describeShare(share)}`}>
      <div class={tone === undefined ? "bar-part" : `bar-part bar-${tone}`} style={{ width }} />
    </div>
  );
}
