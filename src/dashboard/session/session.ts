/** The session of this page. */
import { signal } from "@preact/signals";
import type { ConsoleSession } from "#client/console-session.ts";
import { actingTenant, rememberedPage, rememberPage, setActingTenant, type Tenant } from "./acting.ts";
import { api, messageOf } from "../api.ts";
import { go, hrefOf, place } from "../route.ts";

export type SessionState =
  | { readonly kind: "asking" }
  | { readonly kind: "signed-out"; readonly why?: string }
  | { readonly kind: "signed-in"; readonly session: ConsoleSession };

export const sessionState = signal<SessionState>({ kind: "asking" });

/** Where an OpenID Connect provider sends browsers back to. */
const providerReturns = "oidc";

export async function findSession(): Promise<void> {
  if (place.value.parts[0] === providerReturns) return finishOidc();
  try {
    const session = await api.session.current();
    sessionState.value = session === undefined ? { kind: "signed-out" } : { kind: "signed-in", session };
  } catch {
    sessionState.value = { kind: "signed-out", why: "The server does not answer. Reload the page to try again." };
  }
}

export async function signIn(key: string): Promise<void> {
  setActingTenant(undefined);
  sessionState.value = { kind: "signed-in", session: await api.session.signIn(key) };
}

/** Leaves this page for the provider's. */
export async function startOidc(): Promise<void> {
  const { url } = await api.session.startOidc();
  rememberPage();
  setActingTenant(undefined);
  window.location.assign(url);
}

async function finishOidc(): Promise<void> {
  const answer = window.location.search;
  // Its code is in no history and in no later address.
  go(rememberedPage() ?? hrefOf([]), { replace: true });
  try {
    sessionState.value = { kind: "signed-in", session: await api.session.finishOidc(answer) };
  } catch (error) {
    sessionState.value = { kind: "signed-out", why: messageOf(error) };
  }
}

export async function signOut(): Promise<void> {
  await api.session.signOut().catch(() => {});
  setActingTenant(undefined);
  sessionState.value = { kind: "signed-out" };
}

/** For admins. Throws ClientError, and the page goes on as before. */
export async function actAs(tenant: Tenant): Promise<void> {
  const before = actingTenant();
  setActingTenant(tenant);
  try {
    sessionState.value = { kind: "signed-in", session: await api.session.act() };
  } catch (error) {
    setActingTenant(before);
    throw error;
  }
  go(hrefOf([]));
}

export async function stopActing(): Promise<void> {
  setActingTenant(undefined);
  go(hrefOf([]));
  await findSession();
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
