/** Ends what a request started when its client has disconnected. */
import type { Server } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { KeyService } from "#services/keys/key-service.ts";
import { callerIfKnown } from "./caller-of.ts";

/** By server, as plugins see instances of their own. */
const closing = new WeakMap<object, AbortController>();

type WhenKeyEnds = KeyService["whenEnded"];

/** By server, too. */
const keyEnds = new WeakMap<object, WhenKeyEnds>();

/**
 * Aborted when the client disconnects before the answer is complete, and when its key is revoked or expires. A shutdown of the server lets the request
 * finish. `keyId`: the request's own key when left out.
 */
export function requestSignal(reply: FastifyReply, keyId = callerIfKnown(reply.request)?.keyId): AbortSignal {
  const gone = new AbortController();
  const whenEnded = keyEnds.get(reply.server.server);
  const forget =
    keyId === undefined || whenEnded === undefined
      ? undefined
      : whenEnded(keyId, () => gone.abort(new Error("the API key was revoked or has expired")));
  reply.raw.once("close", () => {
    forget?.();
    if (!reply.raw.writableFinished) gone.abort(new Error("the client disconnected"));
  });
  return gone.signal;
}

/** For answers without an end of their own (watches, followed logs, terminals): also aborted on shutdown of the server. */
export function streamSignal(request: FastifyRequest, reply: FastifyReply, keyId?: string): AbortSignal {
  return AbortSignal.any([requestSignal(reply, keyId), closingOf(request.server.server).signal]);
}

/** From now on requests end with their keys. */
export function endWithKeys(app: FastifyInstance, whenEnded: WhenKeyEnds): void {
  keyEnds.set(app.server, whenEnded);
}

/** Call it once, where the server is made. */
export function endStreamsOnClose(app: FastifyInstance): void {
  app.addHook("preClose", async () => {
    closingOf(app.server).abort(new Error("the server ends"));
  });
}

function closingOf(server: Server): AbortController {
  const controller = closing.get(server) ?? new AbortController();
  closing.set(server, controller);
  return controller;
}
