import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import { eventually } from "../../../../test/world/eventually.ts";
import { SandboxApi } from "../../../../test/world/sandbox-api.ts";

interface SentEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
  /** A comment. */
  readonly ""?: string;
}

/** Events as a browser would see them, and comments. */
class EventReader {
  readonly status: number;
  readonly #chunks: AsyncIterator<string>;
  #rest = "";

  constructor(response: Response) {
    this.status = response.status;
    this.#chunks = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  }

  /** Undefined at the end. */
  async next(): Promise<SentEvent | undefined> {
    for (let at = this.#rest.indexOf("\n\n"); ; at = this.#rest.indexOf("\n\n")) {
      if (at !== -1) {
        const lines = this.#rest.slice(0, at).split("\n");
        this.#rest = this.#rest.slice(at + 2);
        return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
      }
      const { value, done } = await this.#chunks.next();
      if (done === true) return undefined;
      this.#rest += value;
    }
  }
}

async function watch(address: string, id: string, seen?: string, signal?: AbortSignal): Promise<EventReader> {
  const headers = { "x-api-key": "ann", ...(seen !== undefined && { "last-event-id": seen }) };
  return new EventReader(await fetch(`${address}/v1/sandboxes/${id}/watch`, { headers, ...(signal && { signal }) }));
}

function sandboxIn(event: SentEvent | undefined): unknown {
  return (JSON.parse(event?.data ?? "{}") as { sandbox: unknown }).sandbox;
}

test("a sandbox is sent as it is, whenever it changes, and at its end", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const events = await watch(await world.api.listen(), "i1");
  expect(await events.next()).toEqual({ retry: "2000" });
  const first = await events.next();
  expect(first).toMatchObject({ event: "sandbox", id: expect.stringMatching(/^[\w-]{22}$/) });
  expect(sandboxIn(first)).toMatchObject({ sandboxId: "i1", status: "Running" });
  await world.scene.change("i1", { annotations: { [annotationKeys.idleTimeout]: "90" } });
  const second = await events.next();
  expect(sandboxIn(second)).toMatchObject({ sandboxId: "i1", idleTimeout: "1m30s" });
  expect(second?.id).not.toBe(first?.id);
  await world.scene.end("i1");
  expect(sandboxIn(await events.next())).toMatchObject({ status: "Completed" });
  expect(await events.next()).toBeUndefined();
});

test("a client that reconnects gets the states that it has not seen, and no others", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const address = await world.api.listen();
  const before = await watch(address, "i1");
  await before.next();
  const { id } = (await before.next()) ?? {};
  const again = await watch(address, "i1", id);
  await again.next();
  await world.scene.change("i1", { annotations: { [annotationKeys.idleTimeout]: "90" } });
  expect(sandboxIn(await again.next())).toMatchObject({ idleTimeout: "1m30s" });
  const late = await watch(address, "i1", id);
  await late.next();
  expect(sandboxIn(await late.next())).toMatchObject({ idleTimeout: "1m30s" });
});

test("a client that has seen the end is told that no more events follow", async () => {
  await using world = await SandboxApi.open();
  await world.scene.record("old");
  const address = await world.api.listen();
  const first = await watch(address, "old");
  await first.next();
  const last = await first.next();
  expect([sandboxIn(last), await first.next()]).toMatchObject([{ status: "Completed" }, undefined]);
  expect((await watch(address, "old", last?.id)).status).toBe(204);
});

test("a silent connection is kept alive", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const events = await watch(await world.api.listen(), "i1");
  await events.next();
  await events.next();
  for (let turn = 0; turn < 2; turn++) {
    await world.api.clock.step(15_000);
    expect(await events.next()).toEqual({ "": "still here" });
  }
});

test("a sandbox that is not there is a 404 before any bytes", async () => {
  await using world = await SandboxApi.open();
  const answer = await world.api.ask("GET /v1/sandboxes/none/watch");
  expect([answer.status, answer.json]).toMatchObject([404, { code: "not_found" }]);
});

test("a server that ends ends the stream, and a client that goes away leaves nothing behind", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const address = await world.api.listen();
  const gone = new AbortController();
  const leaving = await watch(address, "i1", undefined, gone.signal);
  await leaving.next();
  await leaving.next();
  const staying = await watch(address, "i1");
  await staying.next();
  await staying.next();
  const timers = world.api.clock.pending;
  gone.abort();
  await eventually(() => expect(world.api.clock.pending).toBe(timers - 1));
  await world.api.end();
  expect(await staying.next()).toBeUndefined();
  expect(world.api.clock.pending).toBe(timers - 2);
  expect(world.api.logged.lines).toEqual([]);
});
