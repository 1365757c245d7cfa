import type { ServerResponse } from "node:http";
import type { WatchEvent } from "#kube/object-client.ts";
import { isApiError } from "#kube/api-error.ts";
import type { ApiObject } from "#model/meta.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";
import { type Answer, writable } from "./answer.ts";
import { asApiError, failureStatus } from "./status.ts";

type Events = AsyncIterator<WatchEvent<ApiObject>>;
type Step = IteratorResult<WatchEvent<ApiObject>>;
/** A step that was taken, with the failure as a value so that it may be looked at later. */
type Outcome = { readonly step: Step } | { readonly failure: unknown };

/**
 * A watch as newline-delimited JSON. What is wrong with the request itself (a selector that does not parse) is refused with a
 * status code of its own, as it shows before anything else happens; a version that is too old, and whatever goes
 * wrong later, comes as an ERROR event inside the stream: that is where clients look for it.
 */
export async function watchAnswer(type: ResourceType, watch: AsyncIterable<WatchEvent<ApiObject>>, signal: AbortSignal): Promise<Answer> {
  const events = watch[Symbol.asyncIterator]();
  const first = outcomeOf(events);
  const early = await Promise.race([first, nothingYet()]);
  if (early !== undefined && "failure" in early && !isApiError(early.failure, "Expired", "Gone")) throw early.failure;
  return { stream: (response) => streamWatch({ type, events, first, signal }, response) };
}

interface Watch {
  readonly type: ResourceType;
  readonly events: Events;
  readonly first: Promise<Outcome>;
  readonly signal: AbortSignal;
}

async function streamWatch(watch: Watch, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "Content-Type": "application/json" });
  // The client must learn that the watch stands before the first event, which may be hours away.
  response.flushHeaders();
  try {
    for (let next = await watch.first; !response.destroyed; next = await outcomeOf(watch.events)) {
      if ("failure" in next) {
        if (!watch.signal.aborted) response.write(line({ type: "ERROR", object: failureStatus(asApiError(next.failure)) }));
        return;
      }
      if (next.step.done === true) return;
      response.write(line(wireEvent(watch.type, next.step.value)));
      await writable(response);
    }
  } finally {
    response.end();
    await watch.events.return?.();
  }
}

function wireEvent(type: ResourceType, event: WatchEvent<ApiObject>): unknown {
  if (event.type !== "BOOKMARK") return event;
  const metadata = { resourceVersion: event.resourceVersion };
  return { type: "BOOKMARK", object: { kind: type.kind, apiVersion: apiVersionOf(type), metadata } };
}

function line(event: unknown): string {
  return `${JSON.stringify(event)}\n`;
}

async function outcomeOf(events: Events): Promise<Outcome> {
  try {
    return { step: await events.next() };
  } catch (failure) {
    return { failure };
  }
}

/** A turn of the event loop: time enough for a store in this process to refuse. */
function nothingYet(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)));
}
