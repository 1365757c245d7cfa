/** Single sandboxes: create, connect, read, end, and change their timeouts. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { callerOf } from "../http/caller-of.ts";
import { requestSignal } from "../http/request-signal.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Caller } from "#services/caller.ts";
import type { CreateSandbox, SandboxView } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { type CreateBody, createBody, createCommand, timeoutOf } from "./create-command.ts";
import type { E2bServices } from "./e2b-face.ts";
import { egressOf, type NetworkBody, networkBody, refuseMissingNetwork } from "./network-body.ts";
import { JustDone } from "./just-done.ts";
import { alive, type BodyOptions, createdBody, detailBody } from "./sandbox-body.ts";

export const idParams = Type.Object({ sandboxID: Type.String() });
const timeoutBody = Type.Object({ timeout: Type.Integer({ minimum: 0 }) });
const connectBody = Type.Object({ timeout: Type.Optional(Type.Integer({ minimum: 1 })), memory: Type.Optional(Type.Boolean()) });
const pauseBody = Type.Union([Type.Object({ memory: Type.Optional(Type.Boolean()) }), Type.Null()]);
const refreshBody = Type.Union([Type.Object({ duration: Type.Optional(Type.Integer({ minimum: 0, maximum: 3600 })) }), Type.Null()]);

/** Defaults of the two generations of the API. */
const generations = [
  { base: "", timeoutSeconds: 15, alwaysSecure: false },
  { base: "/v2", timeoutSeconds: 300, alwaysSecure: true },
] as const;

const defaultRefreshSeconds = 60;

export function sandboxRoutes(app: FastifyInstance, services: E2bServices): void {
  const done = new JustDone();
  for (const { base, ...defaults } of generations) {
    app.post(`${base}/sandboxes`, { schema: { body: createBody } }, async (request, reply) => {
      const { command, wait } = createCommand(request.body as CreateBody, { ...defaults, maxTimeoutSeconds: services.maxTimeoutSeconds });
      const created = await services.sandboxes.create(
        callerOf(request),
        { ...command, ...idempotencyOf(request) },
        { wait, signal: requestSignal(reply) },
      );
      return reply.code(201).send(createdBody(created.sandbox, optionsOf(services, created.sandbox)));
    });
    app.post(`${base}/sandboxes/:sandboxID/connect`, { schema: { params: idParams, body: connectBody } }, async (request, reply) => {
      const { timeout = defaults.timeoutSeconds, memory } = request.body as Static<typeof connectBody>;
      const { view, isResumed } = await connected(services, { request, reply }, { timeout, memory });
      return reply.code(isResumed ? 201 : 200).send(createdBody(view, optionsOf(services, view)));
    });
  }
  app.post("/sandboxes/:sandboxID/resume", { schema: { params: idParams, body: connectBody } }, async (request, reply) => {
    const { timeout = 15, memory } = request.body as Static<typeof connectBody>;
    const { view, isResumed } = await connected(services, { request, reply }, { timeout, memory });
    if (isResumed) done.note("resume", view.sandboxId);
    else if (!done.isSince("resume", view.sandboxId, reply)) {
      throw new ServiceError("conflict", `sandbox ${view.sandboxId} is already running`);
    }
    return reply.code(201).send(createdBody(view, optionsOf(services, view)));
  });
  app.get("/sandboxes/:sandboxID", { schema: { params: idParams } }, async (request) => {
    const view = await aliveOne(services, request);
    return detailBody(view, optionsOf(services, view));
  });
  app.delete("/sandboxes/:sandboxID", { schema: { params: idParams } }, async (request, reply) => {
    const { sandboxId } = await aliveOne(services, request);
    await services.sandboxes.end(callerOf(request), sandboxId);
    return reply.code(204).send();
  });
  app.put("/sandboxes/:sandboxID/network", { schema: { params: idParams, body: networkBody } }, async (request, reply) => {
    const body = request.body as NetworkBody;
    refuseMissingNetwork(body);
    const { sandboxId } = await aliveOne(services, request);
    await services.sandboxes.setEgress(callerOf(request), sandboxId, { egress: egressOf(body), signal: requestSignal(reply) });
    return reply.code(204).send();
  });
  timeRoutes(app, services, done);
}

function timeRoutes(app: FastifyInstance, services: E2bServices, done: JustDone): void {
  app.post("/sandboxes/:sandboxID/timeout", { schema: { params: idParams, body: timeoutBody } }, async (request, reply) => {
    const { timeout } = request.body as Static<typeof timeoutBody>;
    const { sandboxId } = await aliveOne(services, request);
    await services.sandboxes.setTimeouts(callerOf(request), sandboxId, {
      // Clients send 0 for "now".
      lifetimeMs: Math.max(1, timeoutOf(timeout, services.maxTimeoutSeconds) * 1000),
    });
    return reply.code(204).send();
  });
  app.post("/sandboxes/:sandboxID/refreshes", { schema: { params: idParams, body: refreshBody } }, async (request, reply) => {
    const { duration = defaultRefreshSeconds } = (request.body as Static<typeof refreshBody>) ?? {};
    const { sandboxId } = await aliveOne(services, request);
    await services.sandboxes.setTimeouts(callerOf(request), sandboxId, { lifetimeMs: Math.max(1, duration * 1000), onlyLater: true });
    return reply.code(204).send();
  });
  app.post("/sandboxes/:sandboxID/pause", { schema: { params: idParams, body: pauseBody } }, async (request, reply) => {
    const { memory } = (request.body as Static<typeof pauseBody>) ?? {};
    const { sandboxId, status } = await aliveOne(services, request);
    if (status === "Paused" && !done.isSince("pause", sandboxId, reply)) {
      throw new ServiceError("conflict", `sandbox ${sandboxId} is already paused`);
    }
    await services.sandboxes.pause(callerOf(request), sandboxId, requestSignal(reply), withoutUndefined({ memory }));
    done.note("pause", sandboxId);
    return reply.code(204).send();
  });
}

/** SDKs that repeat a create after a failure send an idempotency key, so that only one sandbox is created. */
function idempotencyOf({ headers }: FastifyRequest): Pick<CreateSandbox, "idempotencyKey"> {
  const key = headers["idempotency-key"];
  if (key === undefined) return {};
  if (typeof key === "string" && /^[a-z0-9-]{1,255}$/.test(key)) return { idempotencyKey: key };
  const field = "header.idempotency-key";
  throw new ServiceError("invalid_request", `${field}: must have 1 to 255 lower-case letters, digits and hyphens`, { field });
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface Connected {
  readonly view: SandboxView;
  readonly isResumed: boolean;
}

interface ConnectWish {
  readonly timeout: number;
  /** False: a paused sandbox starts anew with its files, also when its memory is there. */
  readonly memory: boolean | undefined;
}

/** Resumes a paused sandbox and gives it the requested time. The end of a running sandbox is only moved later. */
async function connected(services: E2bServices, { request, reply }: Exchange, { timeout, memory }: ConnectWish): Promise<Connected> {
  const { sandboxes, maxTimeoutSeconds } = services;
  const caller = callerOf(request);
  const lifetimeMs = timeoutOf(timeout, maxTimeoutSeconds) * 1000;
  const found = await aliveOne(services, request);
  const isResumed = found.status === "Paused";
  if (isResumed && memory === false) await sandboxes.pause(caller, found.sandboxId, requestSignal(reply), { memory });
  if (isResumed) await sandboxes.resume(caller, found.sandboxId, requestSignal(reply));
  // A connect must not give an end to a sandbox that has none.
  const onlyLater = !isResumed || found.endTime === undefined;
  return { view: await sandboxes.setTimeouts(caller, found.sandboxId, { lifetimeMs, onlyLater }), isResumed };
}

export async function aliveOne({ sandboxes }: E2bServices, request: FastifyRequest): Promise<SandboxView> {
  const caller: Caller = callerOf(request);
  return alive(await sandboxes.view(caller, idOf(request)));
}

/** Older clients send `<id>-<client>`. */
export function idOf(request: FastifyRequest): string {
  return (request.params as Static<typeof idParams>).sandboxID.split("-", 1)[0] ?? "";
}

/**
 * The token for the sandbox's ports, also if these are public: the interpreter requires a token for its contexts, and E2B's clients send no other one
 * there.
 */
export function optionsOf({ domain, accessTokenOf, trafficTokenOf }: E2bServices, { sandboxId, openDaemon }: SandboxView): BodyOptions {
  if (openDaemon === true) return { domain };
  return { domain, envdAccessToken: accessTokenOf(sandboxId), trafficAccessToken: trafficTokenOf(sandboxId) };
}
