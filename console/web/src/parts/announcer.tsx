// SPDX-License-Identifier: Apache-2.0
// Says to screen readers what a user's action has changed. Answers that arrive by themselves are
// not announced: they would interrupt every few seconds.

import { useEffect, useState } from "preact/hooks";

let say: (text: string) => void = () => undefined;

export function announce(text: string): void {
  say(text);
}

export function Announcer() {
  const [text, setText] = useState("");
  useEffect(() => {
    say = setText;
    return () => {
      say = () => undefined;
    };
  }, []);
  return (
    <div class="hidden-text" role="status">
      {text}
    </div>
  );
}
