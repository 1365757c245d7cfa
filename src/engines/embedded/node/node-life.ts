/**
 * When this node was last known to live, kept on disk: so that containers that are gone after a start can be told apart by what ended them, and
 * when. `agentbox down` notes itself; a machine that lost power is known by its new boot.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MonotonicClock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";

/** What ended every container that was running then and is gone now. */
export interface LostEnd {
  readonly reason: "ServerDown" | "NodeRestarted" | "RestoredFromBackup";
  readonly message: string;
  /** As late as is known: what lived then may have lived a few seconds more. */
  readonly at: number;
  /** Nothing that was started before this lives. */
  readonly until: number;
}

interface Life {
  /** Of the machine. */
  readonly bootId: string;
  readonly aliveAt: number;
  /** The end before this life, which may not have been told yet. */
  readonly lost?: LostEnd;
}

const everyMs = 10_000;

/** In front of what the node itself keeps, which `down` removes. */
function lifeFile(home: string): string {
  return join(home, "node-life.json");
}

function bootIdOfMachine(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Undefined when nothing was lost, as far as is known. */
export function lostBefore(home: string, now: number, bootId = bootIdOfMachine()): LostEnd | undefined {
  const life = readLife(home);
  if (life === undefined || life.bootId === bootId || life.bootId === noBoot) return life?.lost;
  return { reason: "NodeRestarted", message: "the machine restarted, and all that ran on it ended", at: life.aliveAt, until: now };
}

/** Says every few seconds that the node lives; with the end before, until a later one takes its place. */
export function keepLife({
  home,
  clock,
  log,
}: {
  readonly home: string;
  readonly clock: MonotonicClock;
  readonly log: Logger;
}): Disposable {
  const lost = lostBefore(home, clock.now());
  let timer: Timer | undefined;
  const note = (): void => {
    try {
      writeLife(home, { bootId: bootIdOfMachine(), aliveAt: clock.now(), ...(lost === undefined ? {} : { lost }) });
    } catch (error) {
      log.warn({ error }, "the time of life of this node could not be noted");
    }
  };
  const again = (): void => {
    note();
    timer = clock.after(everyMs, again);
  };
  again();
  return {
    [Symbol.dispose]: () => {
      timer?.cancel();
      note();
    },
  };
}

/** Called when all containers of the node are removed on purpose. What a restart of the machine has ended before stays so. */
export function noteDown(home: string, now: number, bootId = bootIdOfMachine()): void {
  const life = readLife(home);
  const before = lostBefore(home, now, bootId);
  const lost = life !== undefined && life.bootId !== bootId && before !== undefined ? before : downAt(now);
  writeLife(home, { bootId, aliveAt: now, lost });
}

/** Of a folder that was restored and has not been started yet: no boot of any machine ended what is on record in it. */
const noBoot = "none";

/** Called in a folder made of a backup: what ran when the backup was made is not on this machine. `now` may be earlier, where clocks differ. */
export function noteRestored(home: string, backupAt: number, now: number): void {
  const message = `it ran when the backup of ${new Date(backupAt).toISOString()} was made, and a backup holds no processes`;
  const lost: LostEnd = { reason: "RestoredFromBackup", message, at: backupAt, until: Math.max(now, backupAt) };
  writeLife(home, { bootId: noBoot, aliveAt: backupAt, lost });
}

function downAt(at: number): LostEnd {
  return { reason: "ServerDown", message: "agentbox down ended all sandboxes of this machine", at, until: at };
}

function readLife(home: string): Life | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(lifeFile(home), "utf8"));
    return isLife(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

function isLife(value: unknown): value is Life {
  return typeof value === "object" && value !== null && "bootId" in value && "aliveAt" in value && typeof value.aliveAt === "number";
}

function writeLife(home: string, life: Life): void {
  const file = lifeFile(home);
  writeFileSync(`${file}.new`, JSON.stringify(life), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
