/**
 * How long idempotency keys are remembered: a day. A team that uses very many has its oldest ones forgotten earlier, because each is an object of the
 * store: without a bound one team's creates could fill it.
 */
import { spread, type Random } from "#lib/backoff.ts";
import { type Clock, type Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { noteIn, remove } from "./idempotent-create.ts";

export interface ForgetKeysDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly keysNamespace: string;
}

const keptMs = 24 * 3_600_000;
/** Of each team. */
export const mostKeys = 20_000;
/** Clients that repeat a create do it sooner. */
const keptAtLeastMs = 10 * 60_000;
const everyMs = 3_600_000;
/** After so many new ones this process does not wait for its time. */
const soonAfter = 2000;

/** Any number of processes may do it at once, each at its own time. */
export class KeysToForget {
  readonly #deps: ForgetKeysDeps;
  #noted = 0;
  #timer: Timer | undefined;
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;
  #isStopped = false;

  constructor(deps: ForgetKeysDeps) {
    this.#deps = deps;
    this.#later();
  }

  /** This process has remembered another one. */
  noted(): void {
    this.#noted += 1;
    if (this.#noted >= soonAfter && !this.#isWorking) this.#now();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#work;
  }

  #later(): void {
    const { clock, random } = this.#deps;
    this.#timer = clock.after(spread(everyMs, 0.2, random), () => this.#now());
  }

  #now(): void {
    if (this.#isStopped) return;
    this.#timer?.cancel();
    this.#noted = 0;
    this.#isWorking = true;
    this.#work = this.#forget();
  }

  async #forget(): Promise<void> {
    try {
      await forgetOldKeys(this.#deps);
    } catch (error) {
      this.#deps.log.warn({ error }, "old idempotency keys could not be forgotten");
    }
    this.#isWorking = false;
    if (!this.#isStopped) this.#later();
  }
}

interface Known {
  readonly note: ConfigMap;
  readonly until: number;
  readonly madeAt: number;
}

export async function forgetOldKeys(deps: Pick<ForgetKeysDeps, "client" | "clock" | "keysNamespace">, most = mostKeys): Promise<void> {
  const { client, clock, keysNamespace: namespace } = deps;
  const ofTeams = new Map<string, Known[]>();
  let token: string | undefined;
  do {
    const page = await client.list(ConfigMaps, { namespace, labelSelector: labelKeys.idempotencyKey, limit: 500, continue: token });
    for (const note of page.items) {
      const known = knownIn(note);
      const team = note.metadata.labels?.[labelKeys.team];
      if (clock.now() > known.until + keptMs) await remove(deps, note);
      else if (team !== undefined) listOf(ofTeams, team).push(known);
    }
    token = page.continue;
  } while (token !== undefined && token !== "");
  for (const known of ofTeams.values()) for (const { note } of tooMany(known, most, clock.now())) await remove(deps, note);
}

function listOf(lists: Map<string, Known[]>, name: string): Known[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}

function knownIn(note: ConfigMap): Known {
  return { note, until: noteIn(note)?.until ?? 0, madeAt: Date.parse(note.metadata.creationTimestamp ?? "") || 0 };
}

/** The oldest ones beyond `most`, without those that may still be needed. */
function tooMany(known: readonly Known[], most: number, now: number): readonly Known[] {
  const oldest = known.toSorted((a, b) => a.madeAt - b.madeAt).slice(0, Math.max(0, known.length - most));
  return oldest.filter(({ until, madeAt }) => now > until && now >= madeAt + keptAtLeastMs);
}
