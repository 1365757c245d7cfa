/** The caller's sandboxes, pools and Envs, kept current while the caller is signed in. */
import { computed, signal } from "@preact/signals";
import { type Change, followChanges } from "#client/changes.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import { liveSandboxStatuses } from "#model/sandbox-record.ts";
import { api, http } from "../api.ts";
import { sessionEnded } from "../session/session.ts";
import { applyChanges, type Known, knownOf, nothingKnown } from "./apply-changes.ts";

export const known = signal<Known>(nothingKnown);
/** False until the first list is complete. */
export const isListed = signal(false);
/** False while the stream is disconnected. */
export const isLive = signal(true);

/** Newest first. */
export const sandboxes = computed(() =>
  [...known.value.sandboxes.values()].sort((a, b) => (a.claimedAt < b.claimedAt ? 1 : a.claimedAt > b.claimedAt ? -1 : 0)),
);
export const pools = computed(() => [...known.value.pools.values()].sort(byName));
export const envs = computed(() => [...known.value.envs.values()].sort(byName));

/** Returns a function that ends it. */
export function startLive(): () => void {
  const end = new AbortController();
  /** Changes that arrive while the list is loading: they are newer than the list, or already in it. */
  let waiting: Change[] | undefined = [];
  const list = async (): Promise<void> => {
    const mine: Change[] = [];
    waiting = mine;
    const [live, allPools, allEnvs] = await Promise.all([
      liveSandboxes(end.signal),
      api.pools.list(end.signal),
      api.envs.list(undefined, end.signal),
    ]);
    // A newer list is loading.
    if (waiting !== mine) return;
    waiting = undefined;
    known.value = applyChanges(knownOf({ sandboxes: live, pools: allPools, envs: allEnvs }), mine);
    isListed.value = true;
  };
  const listSoon = (delayMs: number): void => {
    window.setTimeout(() => {
      if (!end.signal.aborted) list().catch(() => listSoon(2000));
    }, delayMs);
  };
  const take = (changes: readonly Change[]): void => {
    if (changes.some(({ kind }) => kind === "start")) listSoon(0);
    else if (waiting !== undefined) waiting.push(...changes);
    else known.value = applyChanges(known.value, changes);
  };
  const onState = (isOpen: boolean): void => {
    isLive.value = isOpen;
  };
  followChanges(http, { onChanges: take, onState }, end.signal).catch(() => {
    if (!end.signal.aborted) sessionEnded();
  });
  return () => {
    end.abort();
    known.value = nothingKnown;
    isListed.value = false;
  };
}

async function liveSandboxes(stop: AbortSignal): Promise<readonly Sandbox[]> {
  const found: Sandbox[] = [];
  for (let cursor: string | undefined; ;) {
    const query = { status: liveSandboxStatuses, limit: 1000, ...(cursor !== undefined && { cursor }) };
    const page = await api.sandboxes.page(query, stop);
    found.push(...page.sandboxes);
    if (page.next === undefined) return found;
    cursor = page.next;
  }
}

function byName(a: { readonly metadata: { readonly name?: string } }, b: { readonly metadata: { readonly name?: string } }): number {
  return (a.metadata.name ?? "").localeCompare(b.metadata.name ?? "");
}
