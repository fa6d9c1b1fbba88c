// SPDX-License-Identifier: Apache-2.0
// A value that has not changed for some time: what somebody has finished typing.

import { useEffect, useState } from "preact/hooks";

export function useSettled<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    if (Object.is(value, settled)) return undefined;
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, settled, milliseconds]);
  return settled;
}
