// SPDX-License-Identifier: Apache-2.0
// Which waiting pods a filter shows.

import type { WaitingPod } from "../api/answers";
import { NO_CAUSE, causeText } from "./causes";
import { hasWords } from "./words";

// `text`: words that must all be in the namespace, the name or the cause.
export function matchesPod(pod: WaitingPod, text: string, cause: string): boolean {
  if (cause !== "" && (pod.cause?.name || NO_CAUSE) !== cause) return false;
  return hasWords(`${pod.namespace}/${pod.name} ${causeText(pod.cause?.name)}`, text);
}

// The causes and their pods, most pods first.
export function causesOf(pods: readonly WaitingPod[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    const name = pod.cause?.name || NO_CAUSE;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort(([a, most], [b, least]) => least - most || (a < b ? -1 : 1));
}
