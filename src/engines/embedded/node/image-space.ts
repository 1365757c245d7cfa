/**
 * Keeps images from filling the machine's disk, as a kubelet does: looks from time to time, and when the disk is fuller than one
 * mark throws away images that no pod uses, the longest unused first, until it is emptier than another. The same marks hold for what a team's
 * pods have brought, of what they may: so a team that has used many images, one after the other, does not come to its limit.
 */
import type { Collected, GarbageOptions } from "#images/content-store/collect-garbage.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { TeamSpace } from "./held-images.ts";

export interface ImageSpaceLimits {
  /** A disk that is fuller than this is made room on. */
  readonly highPercent: number;
  /** Down to this. */
  readonly lowPercent: number;
  /** What was used within this time stays. */
  readonly minAgeMs: number;
}

export const usualImageSpace: ImageSpaceLimits = { highPercent: 85, lowPercent: 80, minAgeMs: 2 * 60_000 };

export interface DiskSpace {
  readonly totalBytes: number;
  readonly usedBytes: number;
}

export interface ImageSpaceDeps {
  readonly images: { gc(options: GarbageOptions): Promise<Collected> };
  /** Says which images are not needed any more. */
  readonly held: { letGo(): Promise<void>; teams(): Promise<readonly TeamSpace[]>; collected(team: string): void };
  /** Of the file system that images lie on. */
  readonly disk: () => DiskSpace;
  readonly limits: ImageSpaceLimits;
  readonly clock: Clock;
  readonly log: Logger;
}

const lookEveryMs = 5 * 60_000;

/** How many bytes must go; 0 while there is room. */
export function excessBytes({ totalBytes, usedBytes }: DiskSpace, { highPercent, lowPercent }: ImageSpaceLimits): number {
  if (usedBytes * 100 <= totalBytes * highPercent) return 0;
  return Math.max(0, Math.ceil(usedBytes - (totalBytes * lowPercent) / 100));
}

export function startImageSpace(deps: ImageSpaceDeps): Timer {
  let timer: Timer;
  const again = (): void => {
    timer = deps.clock.after(lookEveryMs, () => {
      makeRoom(deps)
        .then(() => makeRoomOfTeams(deps))
        .catch((error: unknown) => deps.log.warn({ error }, "no room made on the disk of images"))
        .finally(again);
    });
  };
  again();
  return { cancel: () => timer.cancel() };
}

export async function makeRoom({ images, held, disk, limits, clock, log }: ImageSpaceDeps): Promise<void> {
  if (excessBytes(disk(), limits) === 0) return;
  await held.letGo();
  const keepNewerThan = clock.now() - limits.minAgeMs;
  // First what no name leads to; that may be enough.
  const loose = await images.gc({ keepBytes: Number.POSITIVE_INFINITY, keepNewerThan });
  const excess = excessBytes(disk(), limits);
  if (excess === 0) return log.info({ freedBytes: loose.freedBytes }, "room made on the disk of images");
  const { freedBytes, images: names } = await images.gc({ keepBytes: Math.max(0, loose.keptBytes - excess), keepNewerThan });
  const left = excessBytes(disk(), limits);
  const facts = { freedBytes: loose.freedBytes + freedBytes, images: names, missingBytes: left };
  if (left === 0) log.info(facts, "room made on the disk of images");
  else log.warn(facts, "the disk of images is too full, and no unused image is left on it");
}

export async function makeRoomOfTeams({ images, held, limits, clock, log }: ImageSpaceDeps): Promise<void> {
  const isFull = ({ usedBytes, maxBytes, wasRefused }: TeamSpace): boolean =>
    wasRefused || excessBytes({ totalBytes: maxBytes, usedBytes }, limits) > 0;
  const full = (await held.teams()).filter(isFull);
  if (full.length === 0) return;
  await held.letGo();
  for (const { team, maxBytes, wasRefused } of full) {
    // A large image may need more room than there is above the lower mark.
    const keepBytes = wasRefused ? 0 : Math.floor((maxBytes * limits.lowPercent) / 100);
    const { images: names } = await images.gc({ team, keepBytes, keepNewerThan: clock.now() - limits.minAgeMs });
    held.collected(team);
    if (names.length > 0) log.info({ team, images: names }, "unused images of a team removed, which was near its limit");
  }
  await held.teams();
}
