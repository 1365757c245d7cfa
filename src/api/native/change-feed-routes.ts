/** Everything that changes, as one stream: how pages and programs show an installation live. */
import { Readable } from "node:stream";
import { Type } from "typebox";
import type { Clock } from "#lib/clock.ts";
import { text } from "#model/schema-builders.ts";
import type { Change, ChangeFeed, FeedItem } from "#services/reading/change-feed.ts";
import { streamSignal } from "../http/request-signal.ts";
import { eventText, heartbeat, quietFor, retryLine } from "./event-stream.ts";
import { type Route, route } from "./route.ts";
import { sandboxBody } from "./sandboxes/sandbox-body.ts";
import { open, optional } from "./schemas/builders.ts";
import { envSchema } from "./schemas/envs.ts";
import { poolSchema } from "./schemas/objects.ts";
import { sandboxSchema } from "./schemas/sandbox.ts";

export interface ChangeFeedRoutesDeps {
  readonly changes: Pick<ChangeFeed, "read">;
  readonly clock: Clock;
}

const feedHeaders = Type.Object({
  "last-event-id": optional(text("The id of the last event that was seen: the stream goes on after it.", { maxLength: 64 })),
});

const eventSchema = open(
  {
    sandbox: optional(sandboxSchema),
    sandboxId: optional(text("Of an ended sandbox.")),
    pool: optional(poolSchema),
    env: optional(envSchema),
    namespace: optional(text("Of a pool or Env that has gone.")),
    name: optional(text("Of a pool or Env that has gone.")),
  },
  "What an event carries, by its name.",
);

export function changeFeedRoutes({ changes, clock }: ChangeFeedRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/events",
      name: "streamChanges",
      summary: "The caller's sandboxes, pools and Envs as they change",
      description:
        "Events named sandbox, sandbox-ended, pool, pool-deleted, env and env-deleted, each with the thing as it is now. A start event says " +
        "that what came before is not known: list everything after it, and apply what follows. A slow reader misses states that came " +
        "between, never the last one. With Last-Event-ID the stream goes on where it was, if the server still knows that place.",
      headers: feedHeaders,
      answers: [{ status: 200, description: "Events.", schema: eventSchema, contentType: "text/event-stream" }],
      errors: [],
      handle: async ({ caller, headers, request, reply }) => {
        const items = changes.read(caller(), headers["last-event-id"], streamSignal(request, reply));
        reply.type("text/event-stream").header("x-accel-buffering", "no");
        return Readable.from(eventsOf(items, clock), { objectMode: false });
      },
    }),
  ];
}

async function* eventsOf(items: AsyncGenerator<readonly FeedItem[], void>, clock: Clock): AsyncGenerator<string, void> {
  try {
    yield retryLine;
    for (let next = items.next(); ;) {
      // Nobody may be there any more to hear of its failure.
      next.catch(() => {});
      const turn = await quietFor(next, clock);
      if (turn === undefined) {
        yield heartbeat;
        continue;
      }
      if (turn.done === true) return;
      yield turn.value.map(textOf).join("");
      next = items.next();
    }
  } finally {
    // Not waited for: the generator may be asleep until the signal wakes it.
    void items.return();
  }
}

/** All readers get the same change, which is written once. */
const written = new WeakMap<Change, string>();

function textOf(item: FeedItem): string {
  if (item.kind === "start") return eventText("start", item.id, {});
  const { change, id } = item;
  const known = written.get(change);
  if (known !== undefined) return known;
  const { kind, ...data } = change;
  const event = eventText(kind, id, change.kind === "sandbox" ? { sandbox: sandboxBody(change.sandbox) } : data);
  written.set(change, event);
  return event;
}
