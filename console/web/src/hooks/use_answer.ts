// SPDX-License-Identifier: Apache-2.0
// An answer of the server, kept up to date. After a failure what was known stays, with the error
// beside it.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, request, wasAborted } from "../api/client";
import { waitSeconds } from "../pure/backoff";
import { useSession } from "./session";

export interface Live<T> {
  data: T | undefined;
  receivedAt: number | undefined; // milliseconds since 1970, by this machine
  error: string | undefined; // of the newest request
  isLoading: boolean;
  refresh(): void;
}

export interface AnswerOptions {
  // Seconds between two requests; absent: asks once, and on refresh().
  every?: number;
  // Sent as the body of a POST.
  yaml?: string;
}

interface State<T> {
  question: string;
  data?: T;
  receivedAt?: number;
  error?: string;
  isLoading: boolean;
}

// `address`: undefined asks nothing. A new address is a new question: the old answer is dropped,
// and its request ended.
export function useAnswer<T>(address: string | undefined, options: AnswerOptions = {}): Live<T> {
  const { every, yaml } = options;
  const question = `${address ?? ""}\n${yaml ?? ""}`;
  const [state, setState] = useState<State<T>>({ question, isLoading: false });
  const { askAgain } = useSession();
  const again = useRef<() => void>(() => undefined);

  useEffect(() => {
    if (address === undefined) {
      setState({ question, isLoading: false });
      return undefined;
    }
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let isBusy = false;
    let isDue = false; // a request was due while nobody looked

    const plan = () => {
      if (every === undefined || stop.signal.aborted) return;
      clearTimeout(timer);
      timer = setTimeout(
        () => {
          if (document.hidden) isDue = true;
          else void ask();
        },
        waitSeconds(every, failures) * 1000,
      );
    };
    const ask = async () => {
      if (isBusy) return; // one at a time
      isBusy = true;
      isDue = false;
      clearTimeout(timer);
      setState((old) =>
        old.question === question ? { ...old, isLoading: true } : { question, isLoading: true },
      );
      try {
        const data = await request<T>(address, stop.signal, yaml);
        if (stop.signal.aborted) return; // another question since
        failures = 0;
        setState({ question, data, receivedAt: Date.now(), isLoading: false });
      } catch (error) {
        if (stop.signal.aborted || wasAborted(error)) return;
        failures++;
        if (error instanceof ApiError && error.code === 401) askAgain(error.message);
        const message = error instanceof Error ? error.message : String(error);
        setState((old) => ({ ...old, question, error: message, isLoading: false }));
      } finally {
        isBusy = false;
      }
      plan();
    };
    const onVisible = () => {
      if (!document.hidden && isDue) void ask();
    };
    again.current = () => void ask();
    document.addEventListener("visibilitychange", onVisible);
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
    // `question` stands for address and yaml.
  }, [question, every, askAgain]);

  const refresh = useCallback(() => again.current(), []);
  const isOld = state.question !== question;
  return {
    data: isOld ? undefined : state.data,
    receivedAt: isOld ? undefined : state.receivedAt,
    error: isOld ? undefined : state.error,
    isLoading: isOld ? address !== undefined : state.isLoading,
    refresh,
  };
}
