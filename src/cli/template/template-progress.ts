/** What is being made of a template: on a terminal one line that is written over, elsewhere a line for each step. */
import type { Clock } from "#lib/clock.ts";
import type { TextSink } from "../context.ts";
import type { TemplateStep } from "../ready-templates.ts";

const redrawMs = 100;

export class TemplateProgress {
  readonly #out: TextSink;
  readonly #clock: Clock;
  #doing = "";
  #shownAt: number | undefined;

  constructor(out: TextSink, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
  }

  readonly update = ({ doing, done, total }: TemplateStep): void => {
    const isNew = doing !== this.#doing;
    this.#doing = doing;
    if (this.#out.isTTY !== true) {
      if (isNew) this.#out.write(`${doing}\n`);
      return;
    }
    const now = this.#clock.now();
    if (!isNew && done < total && this.#shownAt !== undefined && now - this.#shownAt < redrawMs) return;
    this.#shownAt = now;
    const text = total === 0 ? `${doing} …` : `${doing}: ${Math.floor((100 * done) / total)} %`;
    this.#out.write(`\r\u001b[2K${text.slice(0, (this.#out.columns ?? 80) - 1)}`);
  };

  /** Takes the line away: what comes next is written where it stood. */
  finish(): void {
    if (this.#shownAt !== undefined) this.#out.write("\r\u001b[2K");
    this.#shownAt = undefined;
  }
}
