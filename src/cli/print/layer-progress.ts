/** Progress of an image's layers: moving bars on a terminal, otherwise one line for each step. */
import type { Clock } from "#lib/clock.ts";
import type { TextSink } from "../context.ts";
import type { LayerState } from "../machine-images.ts";
import { byteSize } from "./byte-size.ts";

const barWidth = 24;
/** A faster rate is not visible, and slow terminals could not follow. */
const redrawMs = 100;

export class LayerProgress {
  readonly #out: TextSink;
  readonly #clock: Clock;
  readonly #layers = new Map<string, LayerState>();
  #drawn = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor(out: TextSink, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
  }

  update(now: LayerState): void {
    const before = this.#layers.get(now.layer);
    this.#layers.set(now.layer, now);
    if (this.#out.isTTY === true) this.#draw(before?.state !== now.state);
    else if (before?.state !== now.state && now.state !== "waiting") this.#out.write(`${shortDigest(now.layer)}: ${stepText(now)}\n`);
  }

  /** Leaves the last state on the screen. */
  finish(): void {
    if (this.#out.isTTY === true) this.#draw(true);
  }

  #draw(important: boolean): void {
    const now = this.#clock.now();
    if (!important && now - this.#drawnAt < redrawMs) return;
    const lines = [...this.#layers.values()].map((layer) => `\u001b[2K${barLine(layer)}\n`);
    this.#out.write(`${this.#drawn === 0 ? "" : `\u001b[${this.#drawn}A`}${lines.join("")}`);
    this.#drawn = lines.length;
    this.#drawnAt = now;
  }
}

function stepText({ state, total }: LayerState): string {
  return state === "downloading" ? `downloading ${byteSize(total)}` : state;
}

function barLine({ layer, state, bytes, total }: LayerState): string {
  const share = state === "downloading" ? bytes / Math.max(1, total) : state === "waiting" ? 0 : 1;
  const filled = Math.round(Math.min(1, share) * barWidth);
  const bar = `[${"=".repeat(filled)}${" ".repeat(barWidth - filled)}]`;
  const amount = {
    waiting: "",
    downloading: `${byteSize(bytes)} of ${byteSize(total)}`,
    unpacking: byteSize(bytes),
    done: byteSize(total),
  }[state];
  return `${shortDigest(layer)} ${bar} ${state.padEnd(11)} ${amount}`.trimEnd();
}

/** The first twelve digits, as Docker abbreviates ids. */
export function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, "").slice(0, 12);
}
