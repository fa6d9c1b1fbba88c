// SPDX-License-Identifier: Apache-2.0
// Why something does not run, and what to do.

import type { Cause } from "../api/answers";

export function CauseBox({ cause }: { cause: Cause }) {
  return (
    <div class="cause">
      <p class="cause-name">{cause.name}</p>
      <p>{cause.why}</p>
      {cause.next !== undefined && cause.next !== "" && (
        <p>
          <strong>What to do:</strong> {cause.next}
        </p>
      )}
    </div>
  );
}
