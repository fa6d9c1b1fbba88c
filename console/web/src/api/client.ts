// SPDX-License-Identifier: Apache-2.0
// Requests to the console's server. Addresses are relative: the page may be below any path.

import { readToken } from "./token";

export const TIMEOUT_SECONDS = 60;

export class ApiError extends Error {
  // 0: there was no answer.
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

// Names and values of a query; empty values are left out.
export type Query = Record<string, string>;

export function addressOf(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== "");
  const text = new URLSearchParams(pairs).toString();
  return `api/${path}${text === "" ? "" : `?${text}`}`;
}

// Ages are those of the server's clock: that of this machine may be wrong.
let clockDifference = 0;

export function serverNow(): number {
  return Date.now() + clockDifference;
}

function noteDate(response: Response): void {
  const date = Date.parse(response.headers.get("Date") ?? "");
  if (Number.isNaN(date)) return;
  // The header has whole seconds, and was written before the answer arrived.
  const difference = date - Date.now();
  clockDifference = Math.abs(difference) > 5000 ? difference : 0;
}

function messageOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("message" in body)) return undefined;
  return typeof body.message === "string" && body.message !== "" ? body.message : undefined;
}

async function read<T>(response: Response): Promise<T> {
  let body: unknown;
  try {
    body = await response.json();
  } catch (error) {
    if (error instanceof DOMException) throw error; // aborted
    if (response.ok) throw new ApiError(response.status, "The answer is not JSON.");
  }
  if (!response.ok)
    throw new ApiError(
      response.status,
      messageOf(body) ?? `The server answered with the status ${response.status}.`,
    );
  // The server of this page is of the same build: its answers have the shapes of answers.ts.
  return body as T;
}

// `stop`: ends the request, which then fails with an AbortError.
export async function request<T>(address: string, stop: AbortSignal, yaml?: string): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const token = readToken();
  if (token !== "") headers["X-Forwarded-Access-Token"] = token;
  if (yaml !== undefined) headers["Content-Type"] = "application/yaml";
  const both = new AbortController();
  let isLate = false;
  const abort = () => both.abort();
  const timer = setTimeout(() => {
    isLate = true;
    abort();
  }, TIMEOUT_SECONDS * 1000);
  stop.addEventListener("abort", abort);
  if (stop.aborted) abort();
  try {
    const options: RequestInit = { headers, signal: both.signal, cache: "no-store" };
    if (yaml !== undefined) Object.assign(options, { method: "POST", body: yaml });
    const response = await fetch(address, options);
    noteDate(response);
    return await read<T>(response);
  } catch (error) {
    if (isLate) throw new ApiError(0, `No answer within ${TIMEOUT_SECONDS} s.`);
    if (error instanceof TypeError)
      throw new ApiError(0, "The server of this page does not answer.");
    throw error;
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", abort);
  }
}

export function wasAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
