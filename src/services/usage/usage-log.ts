/**
 * What sandboxes used in the last hour, in memory: five numbers of four bytes for each moment, so that a sandbox that runs for an hour
 * costs 15 KB and one that runs for a minute costs 1.2 KB.
 */
export interface UsageSample {
  readonly atMs: number;
  /** In percent of what the sandbox may use. */
  readonly cpuPercent: number;
  readonly memoryBytes: number;
  readonly cacheBytes: number;
  readonly diskBytes: number;
}

const columns = 5;
const samplesInPiece = 60;
const maxPieces = 13;
const kibibyte = 1024;
const largest = 2 ** 32 - 1;

export class UsageLog {
  readonly #logs = new Map<string, SampleRing>();
  readonly #maxSandboxes: number;

  constructor(maxSandboxes = 10_000) {
    this.#maxSandboxes = maxSandboxes;
  }

  /** If too many sandboxes are kept already, samples of a new one are dropped. */
  add(sandboxId: string, sample: UsageSample): void {
    let ring = this.#logs.get(sandboxId);
    if (ring === undefined) {
      if (this.#logs.size >= this.#maxSandboxes) return;
      ring = new SampleRing();
      this.#logs.set(sandboxId, ring);
    }
    ring.add(sample);
  }

  /** Oldest first, both ends included. */
  between(sandboxId: string, fromMs: number, toMs: number): readonly UsageSample[] {
    const samples = this.#logs.get(sandboxId)?.all() ?? [];
    return [...samples].filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  }

  last(sandboxId: string): UsageSample | undefined {
    return this.#logs.get(sandboxId)?.last();
  }

  ids(): Iterable<string> {
    return this.#logs.keys();
  }

  forget(sandboxId: string): void {
    this.#logs.delete(sandboxId);
  }
}

/** Grows piece by piece, and drops the oldest piece when an hour is full. */
class SampleRing {
  readonly #pieces: Uint32Array[] = [];
  #inLast = samplesInPiece;

  add({ atMs, cpuPercent, memoryBytes, cacheBytes, diskBytes }: UsageSample): void {
    if (this.#inLast === samplesInPiece) {
      this.#pieces.push(new Uint32Array(columns * samplesInPiece));
      this.#inLast = 0;
      if (this.#pieces.length > maxPieces) this.#pieces.shift();
    }
    const numbers = [atMs / 1000, cpuPercent * 100, memoryBytes / kibibyte, cacheBytes / kibibyte, diskBytes / kibibyte];
    this.#pieces.at(-1)?.set(numbers.map(asWhole), columns * this.#inLast);
    this.#inLast++;
  }

  *all(): Generator<UsageSample> {
    for (const [index, piece] of this.#pieces.entries()) {
      const count = index === this.#pieces.length - 1 ? this.#inLast : samplesInPiece;
      for (let at = 0; at < count; at++) yield sampleAt(piece, at);
    }
  }

  last(): UsageSample | undefined {
    const piece = this.#pieces.at(-1);
    return piece === undefined ? undefined : sampleAt(piece, this.#inLast - 1);
  }
}

function asWhole(value: number): number {
  return Math.min(largest, Math.max(0, Math.floor(value)));
}

function sampleAt(piece: Uint32Array, at: number): UsageSample {
  const [seconds = 0, cpu = 0, memory = 0, cache = 0, disk = 0] = piece.subarray(columns * at, columns * (at + 1));
  return {
    atMs: seconds * 1000,
    cpuPercent: cpu / 100,
    memoryBytes: memory * kibibyte,
    cacheBytes: cache * kibibyte,
    diskBytes: disk * kibibyte,
  };
}
