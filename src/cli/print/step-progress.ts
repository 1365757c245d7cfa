/** How far work on a file is: a line on a terminal that is written over, once the work takes longer than two seconds. */
import type { Clock } from "#lib/clock.ts";
import type { TextSink } from "../context.ts";
import type { BackupStep } from "../machine-backups.ts";
import { byteSize } from "./byte-size.ts";

const patienceMs = 2000;
const redrawMs = 200;

export class StepProgress {
  readonly #out: TextSink;
  readonly #clock: Clock;
  readonly #began: number;
  #shownAt: number | undefined;

  constructor(out: TextSink, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
    this.#began = clock.now();
  }

  readonly update = (step: BackupStep): void => {
    const now = this.#clock.now();
    if (this.#out.isTTY !== true || now - this.#began < patienceMs) return;
    if (this.#shownAt !== undefined && now - this.#shownAt < redrawMs) return;
    this.#shownAt = now;
    this.#out.write(`\r\u001b[2K${stepText(step)}`);
  };

  /** Takes the line away: what comes next is written where it stood. */
  finish(): void {
    if (this.#shownAt !== undefined) this.#out.write("\r\u001b[2K");
  }
}

function stepText({ doing, done, total, unit }: BackupStep): string {
  if (unit === "bytes" && total > 1) return `${doing}: ${byteSize(done)} of ${byteSize(total)}`;
  const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
  return unit === "pages" ? `${doing}: ${percent} %` : `${doing} …`;
}
