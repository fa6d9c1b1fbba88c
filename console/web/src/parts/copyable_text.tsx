// SPDX-License-Identifier: Apache-2.0
// A text to copy.

import { useRef, useState } from "preact/hooks";
import { announce } from "./announcer";

export function CopyableText({ label, text }: { label: string; text: string }) {
  const block = useRef<HTMLPreElement>(null);
  const [result, setResult] = useState("");
  const report = (what: string) => {
    setResult(what);
    announce(what);
  };
  const copy = async () => {
    try {
      // Absent on pages that are not served over HTTPS.
      await navigator.clipboard.writeText(text);
      report("Copied.");
    } catch {
      if (block.current !== null) getSelection()?.selectAllChildren(block.current);
      report("The text is selected: copy it with the keyboard.");
    }
  };
  return (
    <div class="copyable">
      <pre ref={block} tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <div class="copy-actions">
        <button type="button" class="button" onClick={() => void copy()}>
          Copy
        </button>
        <span class="muted">{result}</span>
      </div>
    </div>
  );
}
