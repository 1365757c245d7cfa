/** The session of this page. */
import { signal } from "@preact/signals";
import type { ConsoleSession } from "#client/console-session.ts";
import { api } from "./api.ts";

export type SessionState =
  | { readonly kind: "asking" }
  | { readonly kind: "signed-out"; readonly why?: string }
  | { readonly kind: "signed-in"; readonly session: ConsoleSession };

export const sessionState = signal<SessionState>({ kind: "asking" });

export async function findSession(): Promise<void> {
  try {
    const session = await api.session.current();
    sessionState.value = session === undefined ? { kind: "signed-out" } : { kind: "signed-in", session };
  } catch {
    sessionState.value = { kind: "signed-out", why: "The server does not answer. Reload the page to try again." };
  }
}

export async function signIn(key: string): Promise<void> {
  sessionState.value = { kind: "signed-in", session: await api.session.signIn(key) };
}

export async function signOut(): Promise<void> {
  await api.session.signOut().catch(() => {});
  sessionState.value = { kind: "signed-out" };
}

/** The key was revoked, or the session has expired. */
export function sessionEnded(): void {
  sessionState.value = { kind: "signed-out", why: "Your session has ended. Sign in again." };
}

export function signedIn(): ConsoleSession {
  const { value } = sessionState;
  if (value.kind !== "signed-in") throw new Error("not signed in");
  return value.session;
}
