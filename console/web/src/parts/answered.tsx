// SPDX-License-Identifier: Apache-2.0
// An answer with all that must be said beside it: errors, and what may not be read.

import type { ComponentChildren } from "preact";
import type { Answer } from "../api/answers";
import type { Live } from "../hooks/use_answer";
import { useNow } from "../hooks/use_now";
import { describeSeconds } from "../pure/age";
import { Note, UnreadNote } from "./note";

function Age({ since }: { since: number }) {
  return <>{describeSeconds((useNow() - since) / 1000)}</>;
}

interface AnsweredProps<T> {
  live: Live<T>;
  children: (data: T) => ComponentChildren;
}

export function Answered<T extends Answer>({ live, children }: AnsweredProps<T>) {
  const { data, error, receivedAt } = live;
  return (
    <>
      {error !== undefined && (
        <Note tone="error">
          <p>{error}</p>
          {receivedAt !== undefined && (
            <p aria-live="off">
              What is shown is <Age since={receivedAt} /> old.
            </p>
          )}
        </Note>
      )}
      {data === undefined && live.isLoading && <p class="loading">Loading…</p>}
      {data !== undefined && <UnreadNote unread={data.unread} />}
      {data !== undefined && children(data)}
    </>
  );
}

// "updated 5 s ago", and a button.
export function Freshness<T>({ live }: { live: Live<T> }) {
  const now = useNow();
  return (
    <div class="freshness">
      <span class="muted">
        {live.receivedAt === undefined
          ? live.isLoading
            ? "loading"
            : "not updated yet"
          : `updated ${describeSeconds((now - live.receivedAt) / 1000)} ago`}
      </span>
      <button type="button" class="button" onClick={live.refresh} aria-disabled={live.isLoading}>
        Refresh
      </button>
    </div>
  );
}
