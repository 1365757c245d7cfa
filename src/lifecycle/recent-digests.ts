import type { Clock } from "#lib/clock.ts";
import { abortable } from "#lib/abortable.ts";
import type { ImageDigests } from "./pool-images.ts";

/** Long enough that a burst asks once, and too short for anybody to notice that an image was imported meanwhile. */
const keptMs = 1000;
const maxKept = 1000;

interface Asked {
  readonly answer: Promise<{ readonly digest: string }>;
  readonly until: number;
}

/** The same answers, asked for once a second: whoever knows images may look on a disk, and a create has no time for that. */
export function recentDigests(digests: ImageDigests, clock: Clock): ImageDigests {
  const kept = new Map<string, Asked>();
  // Not the first caller's signal: others wait for the same answer.
  const unending = new AbortController().signal;
  const ask = (image: string): Asked => {
    const asked = { answer: digests.resolve(image, { signal: unending }), until: clock.now() + keptMs };
    // What could not be said is asked again.
    asked.answer.catch(() => {
      if (kept.get(image) === asked) kept.delete(image);
    });
    kept.delete(image);
    kept.set(image, asked);
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKept) break;
      kept.delete(oldest);
    }
    return asked;
  };
  return {
    resolve: (image, { signal }) => {
      const known = kept.get(image);
      return abortable((known !== undefined && known.until > clock.now() ? known : ask(image)).answer, signal);
    },
  };
}
