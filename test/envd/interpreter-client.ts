/** A small client of the code interpreter, which says what came as it came. */

export interface Ran {
  readonly events: readonly Event[];
  readonly stdout: string;
  readonly stderr: string;
  readonly results: readonly Event[];
  readonly error: Event | undefined;
  /** The text of the last expression. */
  readonly text: unknown;
}

export type Event = Readonly<Record<string, unknown>>;

export interface Wish {
  readonly language?: string;
  readonly context_id?: string;
  readonly env_vars?: Readonly<Record<string, string>>;
}

export class Interpreter {
  readonly url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.url = url;
    this.#token = token;
  }

  ask(path: string, method = "GET", body?: unknown, signal?: AbortSignal): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method,
      headers: { "x-access-token": this.#token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  async run(code: string, wish: Wish = {}): Promise<Ran> {
    const events: Event[] = [];
    for await (const event of this.events(code, wish)) events.push(event);
    const textOf = (type: string): string => events.flatMap((event) => (event["type"] === type ? [String(event["text"])] : [])).join("");
    const results = events.filter(({ type }) => type === "result");
    return {
      events,
      stdout: textOf("stdout"),
      stderr: textOf("stderr"),
      results,
      error: events.find(({ type }) => type === "error"),
      text: results.find((result) => result["is_main_result"] === true)?.["text"],
    };
  }

  async *events(code: string, wish: Wish = {}, signal?: AbortSignal): AsyncGenerator<Event> {
    const response = await this.ask("/execute", "POST", { code, ...wish }, signal);
    if (response.status !== 200 || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
    let rest = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line) as Event;
    }
  }

  async context(wish: object = {}): Promise<{ readonly id: string; readonly language: string; readonly cwd: string }> {
    const response = await this.ask("/contexts", "POST", wish);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return (await response.json()) as { id: string; language: string; cwd: string };
  }
}
