// SPDX-License-Identifier: Apache-2.0
// The time, for "updated 5 s ago". Only the part that shows it renders again.

import { useEffect, useState } from "preact/hooks";

export function useNow(everySeconds = 1): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everySeconds * 1000);
    return () => clearInterval(timer);
  }, [everySeconds]);
  return now;
}
