/** A sandbox as it changes, as server-sent events: what a browser reads with EventSource, and everybody else line by line. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { Type } from "typebox";
import type { Clock } from "#lib/clock.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { text } from "#model/schema-builders.ts";
import type { SandboxDetail, SandboxService } from "#services/sandbox-service.ts";
import { streamSignal } from "../http/request-signal.ts";
import { type Route, route } from "./route.ts";
import { sandboxBody } from "./sandbox-body.ts";
import { optional } from "./schemas/builders.ts";
import { oneSandboxSchema, sandboxParams } from "./schemas/sandbox.ts";

export interface WatchRoutesDeps {
  readonly sandboxes: SandboxService;
  readonly clock: Clock;
}

/** Often enough for what stands between us and the reader, which forgets silent connections after a minute or so. */
const heartbeatMs = 15_000;
/** How long a reader waits before he comes again. */
const retryMs = 2000;

const watchHeaders = Type.Object({
  "last-event-id": optional(text("The id of the last event that was seen: it is not sent again.", { maxLength: 64 })),
});

export function watchRoutes({ sandboxes, clock }: WatchRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/sandboxes/{sandboxId}/watch",
      name: "watchSandbox",
      summary: "A sandbox now, and again whenever it changes",
      description: "Ends with the sandbox. Whoever reads slowly misses what came between, never the end.",
      params: sandboxParams,
      headers: watchHeaders,
      answers: [
        { status: 200, description: "Events named sandbox.", schema: oneSandboxSchema, contentType: "text/event-stream" },
        { status: 204, description: "The last event was of its end: there is nothing more to come." },
      ],
      errors: ["not_found"],
      handle: async ({ caller, params, headers, request, reply }) => {
        const states = sandboxes.watch(caller(), params.sandboxId, streamSignal(request, reply))[Symbol.asyncIterator]();
        const first = await states.next();
        const seen = headers["last-event-id"];
        if (first.done !== true && isTerminalStatus(first.value.status) && idOf(first.value) === seen) {
          await states.return?.();
          // The one answer after which an EventSource does not come again.
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

/** Asks for the next state when the last one has been taken: between them, states may be left out. */
async function* eventsOf({ first, states, seen }: Watched, clock: Clock): AsyncGenerator<string, void> {
  try {
    yield `retry: ${retryMs}\n\n`;
    if (first.done === true) return;
    if (idOf(first.value) !== seen) yield eventOf(first.value);
    for (let next = states.next(); ;) {
      // Nobody may be there any more to hear of its failure.
      next.catch(() => {});
      const turn = await quietFor(next, clock);
      if (turn === undefined) {
        yield ": still here\n\n";
        continue;
      }
      if (turn.done === true) return;
      yield eventOf(turn.value);
      next = states.next();
    }
  } finally {
    await states.return?.();
  }
}

/** What comes, or undefined when nothing came for a while. */
async function quietFor<T>(coming: Promise<T>, clock: Clock): Promise<T | undefined> {
  const quiet = Promise.withResolvers<undefined>();
  const timer = clock.after(heartbeatMs, () => quiet.resolve(undefined));
  try {
    return await Promise.race([coming, quiet.promise]);
  } finally {
    timer.cancel();
  }
}

function eventOf(detail: SandboxDetail): string {
  return `id: ${idOf(detail)}\nevent: sandbox\ndata: ${JSON.stringify({ sandbox: sandboxBody(detail) })}\n\n`;
}

/** The same for the same state, in any process. */
function idOf(detail: SandboxDetail): string {
  return createHash("sha256")
    .update(JSON.stringify(sandboxBody(detail)))
    .digest("base64url")
    .slice(0, 22);
}
