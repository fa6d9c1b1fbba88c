// SPDX-License-Identifier: Apache-2.0
// What every part of the page knows of the session.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "../api/answers";

export interface SessionState {
  session: Session;
  // Asks for another token; `message` says why.
  askAgain(message: string): void;
  signOut(): void;
}

export const SessionContext = createContext<SessionState | undefined>(undefined);

export function useSession(): SessionState {
  const state = useContext(SessionContext);
  if (state === undefined) throw new Error("there is no session");
  return state;
}
