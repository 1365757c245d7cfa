/** The side of load.ts that is asked what it measured. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { loopbackServer } from "./loopback-server.ts";

export interface Order {
  readonly url: string;
  readonly apiKey: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly parallel: number;
  /** Left out: as fast as answers come. */
  readonly perSecond?: number;
  /** At random, as independent clients come, instead of evenly. */
  readonly isPoisson?: boolean;
  /** Each sandbox is ended this long after its answer, and its pod can be recycled. Left out: the caller ends them. */
  readonly endAfterMs?: number;
}

export interface Answer {
  readonly ms: readonly number[];
  readonly ids: readonly string[];
  /** What was said instead of a sandbox, and how often. */
  readonly failures: Readonly<Record<string, number>>;
  readonly tookMs: number;
}

export class Asker implements Disposable {
  readonly #child = fork(join(import.meta.dirname, "load.ts"));

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends requests to an idle server until the client is fast, so that later measurements do not include the client's warm-up. */
  async warmUp(): Promise<void> {
    const answer = JSON.stringify({ sandbox: { sandboxId: "none" } });
    await using server = await loopbackServer((request, response) => {
      request.resume();
      response.writeHead(201, { "content-type": "application/json" }).end(answer);
    });
    await this.ask({ url: `http://127.0.0.1:${server.port}`, apiKey: "none", body: {}, count: 2000, parallel: 50 });
  }

  /** Whatever comes of it. */
  async tell(order: Order): Promise<Answer> {
    this.#child.send(order);
    const [answer] = (await once(this.#child, "message")) as [Answer];
    return answer;
  }

  /** Throws unless all of them get a sandbox. */
  async ask(order: Order): Promise<Answer> {
    const answer = await this.tell(order);
    const failed = Object.entries(answer.failures);
    if (failed.length > 0) throw new Error(`not all were answered: ${failed.map(([why, times]) => `${times} × ${why}`).join("; ")}`);
    return answer;
  }

  [Symbol.dispose](): void {
    this.#child.disconnect();
  }
}
