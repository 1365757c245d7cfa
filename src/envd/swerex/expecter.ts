/** The output of a terminal, and waiting until it shows one of several patterns, as Python's pexpect does. */
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Clock, Timer } from "#lib/clock.ts";
import { PythonError } from "./python-error.ts";

export interface Found {
  /** The output before the match. It is removed from the output together with the match. */
  readonly before: string;
  readonly index: number;
}

/** The bound for output that no request reads; older output is dropped. */
const mostKept = 32 * 1024 * 1024;

interface Waiting {
  readonly look: () => void;
  readonly end: () => void;
}

export class Expecter {
  readonly #clock: Clock;
  #text = "";
  #isEnded = false;
  #waiting: Waiting | undefined;

  constructor(output: Readable, clock: Clock) {
    this.#clock = clock;
    const decoder = new StringDecoder("utf8");
    output.on("data", (chunk: Buffer) => {
      this.#text += decoder.write(chunk);
      if (this.#text.length > mostKept) this.#text = this.#text.slice(-mostKept);
      this.#waiting?.look();
    });
    const ended = (): void => this.end();
    // The other side of a terminal closes with an error.
    output.on("error", ended).on("close", ended).on("end", ended);
  }

  /** No more output is expected; what waits for some fails. */
  end(): void {
    this.#isEnded = true;
    this.#waiting?.end();
  }

  /** Returns the output so far, and forgets it. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  /** Patterns are regular expressions, as in pexpect. Undefined: none matched in time. Throws PythonError when the terminal has ended. */
  expect(patterns: readonly string[], timeoutMs: number | undefined): Promise<Found | undefined> {
    const compiled = patterns.map(compile);
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const done = (act: () => void): void => {
        timer?.cancel();
        this.#waiting = undefined;
        act();
      };
      const look = (): void => {
        const found = this.#find(compiled);
        if (found !== undefined) done(() => resolve(found));
      };
      const end = (): void => done(() => reject(new PythonError("endOfFile", "End Of File (EOF): the shell of this session has ended")));
      this.#waiting = { look, end };
      if (timeoutMs !== undefined) timer = this.#clock.after(Math.min(timeoutMs, 2 ** 31 - 1), () => done(() => resolve(undefined)));
      look();
      if (this.#isEnded) this.#waiting?.end();
    });
  }

  /** The match that begins first; of two that begin together, the one that was named first. */
  #find(patterns: readonly RegExp[]): Found | undefined {
    let best: { readonly index: number; readonly start: number; readonly size: number } | undefined;
    for (const [index, pattern] of patterns.entries()) {
      const match = pattern.exec(this.#text);
      if (match !== null && (best === undefined || match.index < best.start)) best = { index, start: match.index, size: match[0].length };
    }
    if (best === undefined) return undefined;
    const before = this.#text.slice(0, best.start);
    this.#text = this.#text.slice(best.start + best.size);
    return { before, index: best.index };
  }
}

function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "s");
  } catch (error) {
    throw new PythonError("badPattern", `${JSON.stringify(pattern)} is no regular expression: ${(error as Error).message}`);
  }
}
