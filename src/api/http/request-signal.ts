/** Ends what a request started when nobody waits for it any more. */
import type { Server } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** By server, as plugins see instances of their own. */
const closing = new WeakMap<object, AbortController>();

/** Aborted when the caller goes away before the answer is complete. A server that ends lets the request come to its end. */
export function requestSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort(new Error("the caller went away"));
  });
  return gone.signal;
}

/** For answers that go on by themselves (watches, followed logs, terminals): also aborted when the server ends. */
export function streamSignal(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  return AbortSignal.any([requestSignal(reply), closingOf(request.server.server).signal]);
}

/** To be called once by whoever makes the server. */
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
