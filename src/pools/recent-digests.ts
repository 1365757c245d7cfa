import type { Clock } from "#lib/clock.ts";
import { abortable } from "#lib/abortable.ts";
import type { ImageDigests, ImagePuller } from "./pool-images.ts";

/** Long enough to serve a burst with one answer, and short enough that a newly imported image is noticed at once. */
const keptMs = 1000;
const maxKept = 1000;

interface Asked {
  readonly answer: Promise<{ readonly digest: string }>;
  readonly until: number;
}

/** Caches answers for a second: the source may read from disk, and a create has no time for that. */
export function recentDigests(digests: ImageDigests, clock: Clock): ImageDigests {
  const kept = new Map<string, Asked>();
  // Not the first caller's signal: others wait for the same answer.
  const unending = new AbortController().signal;
  const ask = (image: string, puller: ImagePuller | undefined): Asked => {
    const key = keyOf(image, puller);
    const asked = { answer: digests.resolve(image, { signal: unending, puller }), until: clock.now() + keptMs };
    // What could not be said is asked again.
    asked.answer.catch(() => {
      if (kept.get(key) === asked) kept.delete(key);
    });
    kept.delete(key);
    kept.set(key, asked);
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKept) break;
      kept.delete(oldest);
    }
    return asked;
  };
  return {
    resolve: (image, { signal, puller }) => {
      const known = kept.get(keyOf(image, puller));
      return abortable((known !== undefined && known.until > clock.now() ? known : ask(image, puller)).answer, signal);
    },
  };
}

/** What one may see of a registry, another may not. */
function keyOf(image: string, puller: ImagePuller | undefined): string {
  if (puller === undefined) return image;
  const { namespace, serviceAccountName = "", imagePullSecrets = [], choice = "" } = puller;
  return [image, choice, namespace, serviceAccountName, ...imagePullSecrets.map(({ name }) => name)].join("\n");
}
