import { spread, type Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { forgetOldKeys } from "./idempotent-create.ts";

export interface ForgetKeysDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly keysNamespace: string;
}

const everyMs = 3_600_000;

/** Forgets old idempotency keys now and then, until the signal is aborted. Every process does it, each at its own time. */
export async function forgetKeysNowAndThen(deps: ForgetKeysDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(deps.clock, spread(everyMs, 0.2, deps.random), signal).catch(() => {});
    if (signal.aborted) return;
    try {
      await forgetOldKeys(deps);
    } catch (error) {
      deps.log.warn({ error }, "old idempotency keys could not be forgotten");
    }
  }
}
