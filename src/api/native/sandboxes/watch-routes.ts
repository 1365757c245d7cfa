/** A sandbox as it changes, as server-sent events: browsers read them with EventSource, other clients line by line. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { Type } from "typebox";
import type { Clock } from "#lib/clock.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { text } from "#model/schema-builders.ts";
import type { SandboxDetail, SandboxService } from "#services/sandbox-service.ts";
import { streamSignal } from "#api/http/request-signal.ts";
import { eventText, retryLine, withHeartbeats } from "#api/native/event-stream.ts";
import { type Route, route } from "#api/native/route.ts";
import { sandboxBody } from "./sandbox-body.ts";
import { optional } from "#api/native/schemas/builders.ts";
import { oneSandboxSchema, sandboxParams } from "#api/native/schemas/sandbox.ts";

export interface WatchRoutesDeps {
  readonly sandboxes: SandboxService;
  readonly clock: Clock;
}

const watchHeaders = Type.Object({
  "last-event-id": optional(text("Id of the last event received; that event is not sent again.", { maxLength: 64 })),
});

export function watchRoutes({ sandboxes, clock }: WatchRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/sandboxes/{sandboxId}/watch",
      name: "watchSandbox",
      summary: "Watch a sandbox",
      description:
        "Sends the sandbox as it is now, and again after each change. The stream ends with the sandbox. A slow client may miss states in between, but never the end.",
      params: sandboxParams,
      headers: watchHeaders,
      answers: [
        { status: 200, description: "Events named sandbox.", schema: oneSandboxSchema, contentType: "text/event-stream" },
        { status: 204, description: "The last event received was the end of the sandbox; no more events will follow." },
      ],
      errors: ["not_found"],
      handle: async ({ caller, params, headers, request, reply }) => {
        const states = sandboxes.watch(caller(), params.sandboxId, streamSignal(request, reply))[Symbol.asyncIterator]();
        const first = await states.next();
        const seen = headers["last-event-id"];
        if (first.done !== true && isTerminalStatus(first.value.status) && idOf(first.value) === seen) {
          await states.return?.();
          // The only answer after which an EventSource does not reconnect.
          reply.code(204);
          return undefined;
        }
        reply.type("text/event-stream").header("x-accel-buffering", "no");
        return Readable.from(eventsOf({ first, states, seen }, clock), { objectMode: false });
      },
    }),
  ];
}

interface Watched {
  readonly first: IteratorResult<SandboxDetail, unknown>;
  readonly states: AsyncIterator<SandboxDetail, unknown>;
  readonly seen: string | undefined;
}

/** States between the one that was taken last and the newest may be skipped. */
async function* eventsOf({ first, states, seen }: Watched, clock: Clock): AsyncGenerator<string, void> {
  try {
    yield retryLine;
    if (first.done === true) return;
    if (idOf(first.value) !== seen) yield eventOf(first.value);
    yield* withHeartbeats(states, eventOf, clock);
  } finally {
    await states.return?.();
  }
}

function eventOf(detail: SandboxDetail): string {
  return eventText("sandbox", idOf(detail), { sandbox: sandboxBody(detail) });
}

/** Equal for equal states, in every process. */
function idOf(detail: SandboxDetail): string {
  return createHash("sha256")
    .update(JSON.stringify(sandboxBody(detail)))
    .digest("base64url")
    .slice(0, 22);
}
