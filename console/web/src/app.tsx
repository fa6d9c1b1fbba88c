// SPDX-License-Identifier: Apache-2.0
// The session: who is signed in, or the login.

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { Session } from "./api/answers";
import { ApiError, addressOf, request, wasAborted } from "./api/client";
import { forgetToken, keepToken, readToken } from "./api/token";
import { SessionContext } from "./hooks/session";
import { Login } from "./login";
import { Note } from "./parts/note";
import { Shell } from "./shell";

type State =
  | { kind: "asking" }
  | { kind: "login"; message: string; isRefused: boolean }
  | { kind: "failed"; message: string }
  | { kind: "ready"; session: Session };

export function App() {
  const [state, setState] = useState<State>({ kind: "asking" });
  // Counts attempts: each new one asks for the session again.
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    const stop = new AbortController();
    // Also without a token: a proxy before the server may add one.
    request<Session>(addressOf("session"), stop.signal)
      .then((session) => setState({ kind: "ready", session }))
      .catch((error: unknown) => {
        if (wasAborted(error)) return;
        const message = error instanceof Error ? error.message : String(error);
        if (error instanceof ApiError && error.code === 401) {
          setState({ kind: "login", message, isRefused: readToken() !== "" });
          forgetToken();
        } else {
          setState({ kind: "failed", message });
        }
      });
    return () => stop.abort();
  }, [attempt]);

  const askAgain = useCallback((message: string) => {
    forgetToken();
    setState({ kind: "login", message, isRefused: true });
  }, []);
  const signOut = useCallback(() => {
    forgetToken();
    setState({ kind: "login", message: "", isRefused: false });
  }, []);
  const tryAgain = () => {
    setState({ kind: "asking" });
    setAttempt((count) => count + 1);
  };
  const session = state.kind === "ready" ? state.session : undefined;
  const context = useMemo(
    () => (session === undefined ? undefined : { session, askAgain, signOut }),
    [session, askAgain, signOut],
  );

  if (context !== undefined)
    return (
      <SessionContext.Provider value={context}>
        <Shell />
      </SessionContext.Provider>
    );
  if (state.kind === "login")
    return (
      <Login
        message={state.message}
        isRefused={state.isRefused}
        onToken={(token) => {
          keepToken(token);
          tryAgain();
        }}
      />
    );
  return (
    <main class="login">
      <h1>Pod placement</h1>
      {state.kind === "failed" ? (
        <>
          <Note tone="error">{state.message}</Note>
          <button type="button" class="button" onClick={tryAgain}>
            Retry
          </button>
        </>
      ) : (
        <p class="loading">Loading…</p>
      )}
    </main>
  );
}
