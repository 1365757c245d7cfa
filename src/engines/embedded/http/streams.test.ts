import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import type { ListOptions, ObjectClient, WatchEvent, WatchOptions } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import { startFace } from "../../../../test/world/serve-face.ts";

const collection = "/apis/example.test/v1/namespaces/a/widgets";
type Event = WatchEvent<ApiObject>;

function widget(name: string, text = ""): ApiObject & { text: string } {
  return { apiVersion: "example.test/v1", kind: "Widget", metadata: { name }, text };
}

/** The port's watch is typed by kind; these tests speak of widgets only. */
function watching(watch: (options: WatchOptions | undefined) => AsyncIterable<Event>): Pick<ObjectClient, "watch"> {
  return { watch: (_type, options) => watch(options) as AsyncIterable<never> };
}

/** A watch that gives these events and then stays open until it is aborted. */
async function* openWatch(events: readonly Event[], options: WatchOptions | undefined): AsyncGenerator<Event> {
  yield* events;
  const signal = options?.signal;
  await new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error));
    if (signal?.aborted === true) reject(signal.reason as Error);
  });
}

function failingWatch(error: ApiError): AsyncIterable<Event> {
  const next = async (): Promise<never> => {
    throw error;
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

describe("list", () => {
  test("objects come as a list of their kind, with its version and how to go on", async () => {
    const list = { items: [widget("x"), widget("y")], resourceVersion: "12", continue: "more", remainingItemCount: 3 };
    await using face = await startFace({ list: async () => list as never });
    expect((await face.send("GET", collection)).body).toEqual({
      kind: "WidgetList",
      apiVersion: "example.test/v1",
      metadata: { resourceVersion: "12", continue: "more", remainingItemCount: 3 },
      items: list.items,
    });
  });

  test("an empty list is a list", async () => {
    await using face = await startFace({ list: async () => ({ items: [], resourceVersion: "1" }) });
    expect((await face.send("GET", "/api/v1/pods")).body).toEqual({
      kind: "PodList",
      apiVersion: "v1",
      metadata: { resourceVersion: "1" },
      items: [],
    });
  });

  test("a list of many pieces arrives whole", async () => {
    const items = Array.from({ length: 3000 }, (_, index) => widget(`w${index}`, "ü".repeat(100)));
    await using face = await startFace({ list: async () => ({ items, resourceVersion: "1" }) as never });
    expect((await face.send("GET", collection)).body).toMatchObject({ items });
  });

  test("the query reaches the store; 0 means no limit and any version is new enough", async () => {
    const asked: ListOptions[] = [];
    await using face = await startFace({
      list: async (_type, options) => {
        asked.push({ ...options, signal: undefined });
        return { items: [], resourceVersion: "1" };
      },
    });
    await face.send("GET", `${collection}?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=5&continue=c&resourceVersion=0`);
    await face.send("GET", "/apis/example.test/v1/widgets?limit=0");
    expect(asked).toEqual([
      { namespace: "a", labelSelector: "a=b", fieldSelector: "metadata.name=x", limit: 5, continue: "c", signal: undefined },
      { namespace: undefined },
    ]);
  });

  test("a version that the store has never given is too large, also for a page and for one object", async () => {
    await using face = await startFace({
      list: async () => ({ items: [], resourceVersion: "12" }),
      get: async () => widget("w") as never,
    });
    for (const path of [
      `${collection}?resourceVersion=13`,
      `${collection}?limit=1&resourceVersion=13`,
      `${collection}/w?resourceVersion=13`,
    ]) {
      const reply = await face.send("GET", path);
      expect(reply.code).toBe(504);
      expect(reply.headers["retry-after"]).toBe("1");
      expect(reply.body).toMatchObject({
        reason: "Timeout",
        message: "Timeout: Too large resource version: 13, current: 12",
        details: { causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }], retryAfterSeconds: 1 },
      });
    }
    for (const path of [`${collection}?resourceVersion=12`, `${collection}/w?resourceVersion=12`, `${collection}/w?resourceVersion=0`]) {
      expect((await face.send("GET", path)).code).toBe(200);
    }
    expect((await face.send("GET", `${collection}/w?resourceVersion=new`)).code).toBe(400);
  });

  test.each([
    ["limit=x", 400],
    ["resourceVersion=abc", 400],
    ["resourceVersionMatch=Exact", 422],
    ["resourceVersion=1&resourceVersionMatch=Exact", 422],
  ])("the query %s is refused", async (query, code) => {
    await using face = await startFace({});
    expect((await face.send("GET", `${collection}?${query}`)).code).toBe(code);
  });
});

describe("watch", () => {
  test("events come one per line, bookmarks as objects that carry only a version", async () => {
    const events: Event[] = [
      { type: "ADDED", object: widget("x") },
      { type: "BOOKMARK", resourceVersion: "9" },
      { type: "DELETED", object: widget("x") },
    ];
    const asked: WatchOptions[] = [];
    await using face = await startFace(
      watching(async function* (options) {
        asked.push({ ...options, signal: undefined });
        yield* events;
      }),
    );
    const reply = await face.send("GET", `${collection}?watch=true&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=60`);
    expect(
      reply.text
        .trimEnd()
        .split("\n")
        .map((text) => JSON.parse(text) as unknown),
    ).toEqual([
      events[0],
      { type: "BOOKMARK", object: { kind: "Widget", apiVersion: "example.test/v1", metadata: { resourceVersion: "9" } } },
      events[2],
    ]);
    expect(asked).toMatchObject([{ namespace: "a", resourceVersion: "7", bookmarks: true, timeoutSeconds: 60 }]);
  });

  test("the head is sent before the first event, and each event at once", async () => {
    const gate = Promise.withResolvers<Event>();
    await using face = await startFace(
      watching(async function* (options) {
        yield await gate.promise;
        yield* openWatch([], options);
      }),
    );
    const response = await face.open(`${collection}?watch=1`);
    expect(response.statusCode).toBe(200);
    gate.resolve({ type: "ADDED", object: widget("x") });
    const [text] = (await once(createInterface(response), "line")) as [string];
    expect(JSON.parse(text)).toMatchObject({ type: "ADDED" });
    response.destroy();
  });

  test("version 0 asks for the state first, as no version does", async () => {
    const asked: (string | undefined)[] = [];
    await using face = await startFace(
      watching(async function* (options) {
        asked.push(options?.resourceVersion);
        yield { type: "BOOKMARK", resourceVersion: "1" };
      }),
    );
    await face.send("GET", `${collection}?watch=true&resourceVersion=0`);
    await face.send("GET", `${collection}?watch=true`);
    expect(asked).toEqual([undefined, undefined]);
  });

  test("a version that is too old is told inside the stream", async () => {
    await using face = await startFace(watching(() => failingWatch(new ApiError("Expired", "too old resource version: 1 (5)"))));
    const reply = await face.send("GET", `${collection}?watch=true&resourceVersion=1`);
    expect(reply.code).toBe(200);
    expect(reply.body).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
  });

  test("a selector that does not parse is refused with its own code", async () => {
    await using face = await startFace(watching(() => failingWatch(new ApiError("BadRequest", "unable to parse requirement"))));
    expect(await face.send("GET", `${collection}?watch=true&labelSelector=a%20b`)).toMatchObject({ code: 400 });
  });

  test("what goes wrong later is an ERROR event after the good ones", async () => {
    await using face = await startFace(
      watching(async function* () {
        yield { type: "ADDED", object: widget("x") };
        throw new ApiError("InternalError", "the disk is gone");
      }),
    );
    const reply = await face.send("GET", `${collection}?watch=true`);
    const [added, error] = reply.text.split("\n").map((text) => (text === "" ? undefined : (JSON.parse(text) as { type: string })));
    expect(added?.type).toBe("ADDED");
    expect(error).toMatchObject({ type: "ERROR", object: { reason: "InternalError", message: "the disk is gone" } });
  });

  test("the store learns when the watcher goes away", async () => {
    const ended = Promise.withResolvers<string>();
    await using face = await startFace(
      watching(async function* (options) {
        try {
          yield* openWatch([], options);
        } finally {
          ended.resolve("ended");
        }
      }),
    );
    const response = await face.open(`${collection}?watch=true`);
    response.destroy();
    expect(await ended.promise).toBe("ended");
  });

  test("stop ends an open watch as if its time were up", async () => {
    await using face = await startFace(watching((options) => openWatch([{ type: "ADDED", object: widget("x") }], options)));
    const response = await face.open(`${collection}?watch=true`);
    const lines: string[] = [];
    createInterface(response).on("line", (text) => {
      lines.push(text);
      face.stop();
    });
    await once(response, "end");
    expect(response.complete).toBe(true);
    expect(lines).toHaveLength(1);
  });

  test("a reader that does not read is not written to without end, and one that leaves frees the watch", async () => {
    let produced = 0;
    const freed = Promise.withResolvers<string>();
    await using face = await startFace(
      watching(async function* () {
        try {
          for (;;) {
            produced++;
            await Promise.resolve();
            yield { type: "MODIFIED", object: widget("x", "y".repeat(64 * 1024)) };
          }
        } finally {
          freed.resolve("freed");
        }
      }),
    );
    const response = await face.open(`${collection}?watch=true`);
    let before = -1;
    while (before !== produced) {
      before = produced;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(produced).toBeLessThan(200);
    response.destroy();
    expect(await freed.promise).toBe("freed");
  });

  test("streaming of initial lists is refused in the way that makes clients fall back", async () => {
    await using face = await startFace({});
    const reply = await face.send(
      "GET",
      `${collection}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0`,
    );
    expect(reply).toMatchObject({ code: 422, body: { reason: "Invalid", details: { causes: [{ field: "sendInitialEvents" }] } } });
  });
});
