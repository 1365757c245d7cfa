/** All changes as one stream, for pages and programs that show an installation live. */
import { Readable } from "node:stream";
import { Type } from "typebox";
import type { Clock } from "#lib/clock.ts";
import { text } from "#model/schema-builders.ts";
import type { Change, ChangeFeed, FeedItem } from "#services/reading/change-feed.ts";
import { streamSignal } from "../http/request-signal.ts";
import { eventText, retryLine, withHeartbeats } from "./event-stream.ts";
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
  "last-event-id": optional(text("Id of the last event received; the stream continues after it.", { maxLength: 64 })),
});

const eventSchema = open(
  {
    sandbox: optional(sandboxSchema),
    sandboxId: optional(text("Id of a sandbox that ended.")),
    pool: optional(poolSchema),
    env: optional(envSchema),
    namespace: optional(text("For a deleted pool or Env.")),
    name: optional(text("For a deleted pool or Env.")),
  },
  "Data of an event, by event name.",
);

export function changeFeedRoutes({ changes, clock }: ChangeFeedRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/events",
      name: "streamChanges",
      summary: "Watch the caller's sandboxes, pools and Envs",
      description:
        "Sends the events sandbox, sandbox-ended, pool, pool-deleted, env and env-deleted, each with the current object. A start event means " +
        "that earlier changes are unknown: list everything after it, and apply the events that follow. A slow reader misses states in " +
        "between, but never the last one. With Last-Event-ID the stream continues after that event, if the server still has the events since then.",
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
    yield* withHeartbeats(items, (changed) => changed.map(textOf).join(""), clock);
  } finally {
    // Not awaited: the generator may sleep until the signal wakes it.
    void items.return();
  }
}

/** All readers get the same change, so it is serialized once. */
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
