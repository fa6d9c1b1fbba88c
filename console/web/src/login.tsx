// SPDX-License-Identifier: Apache-2.0
// Asks for a token.

import { useEffect, useRef, useState } from "preact/hooks";
import { Logo } from "./parts/logo";
import { Note } from "./parts/note";

interface LoginProps {
  message: string; // of the server
  isRefused: boolean; // the server has refused a token
  onToken(token: string): void;
}

export function Login({ message, isRefused, onToken }: LoginProps) {
  const [token, setToken] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  return (
    <main class="login">
      <Logo />
      <h1>Pod placement</h1>
      <p class="muted">A read-only console: it shows what your token may read.</p>
      {message !== "" && <Note tone={isRefused ? "error" : "info"}>{message}</Note>}
      <form class="card" onSubmit={submit}>
        <div class="field">
          <label for="token">Token</label>
          <input
            id="token"
            ref={input}
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            value={token}
            aria-describedby="token-hint"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
          <p id="token-hint" class="hint">
            It stays in this tab. Create one with{" "}
            <code>kubectl create token NAME --namespace=NS</code>
          </p>
        </div>
        <button type="submit" class="button button-main">
          Sign in
        </button>
      </form>
    </main>
  );
}
