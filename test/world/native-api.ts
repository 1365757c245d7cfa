/** The native API's server with keys for the callers of tests, over whatever services a test gives it. */
import type { FastifyInstance, InjectOptions } from "fastify";
import { Registry } from "prom-client";
import { apiServer } from "#api/http/api-server.ts";
import { drainServer, listenAt } from "#api/http/listen.ts";
import { problemShape } from "#api/http/problem.ts";
import { registerRoutes } from "#api/native/register-routes.ts";
import type { Route } from "#api/native/route.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { Caller } from "#services/caller.ts";
import type { LiveKeys } from "#services/inside/exec-tokens.ts";
import { KeyEnds } from "#services/keys/key-ends.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { recordedLog } from "./recorded-log.ts";
import { admin, ann, bob, eve } from "./service-scene.ts";
import { SteppedClock } from "./stepped-clock.ts";

const callers = { admin, ann, bob, eve } as const satisfies Readonly<Record<string, Caller>>;
export type CallerName = keyof typeof callers;

export interface Asked {
  readonly by?: CallerName;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Undefined when the body is not JSON. */
  readonly json: unknown;
}

export interface ApiDeps {
  readonly clock: SteppedClock;
  readonly log: ReturnType<typeof recordedLog>["log"];
  readonly keys: LiveKeys;
}

interface ApiParts {
  readonly app: FastifyInstance;
  readonly clock: SteppedClock;
  readonly logged: ReturnType<typeof recordedLog>;
  readonly registry: Registry;
  readonly endKey: (keyId: string) => void;
}

export class NativeApi implements AsyncDisposable {
  readonly clock: SteppedClock;
  readonly logged: ReturnType<typeof recordedLog>;
  /** As if the key had been revoked. */
  readonly endKey: (keyId: string) => void;
  readonly #app: FastifyInstance;
  readonly #registry: Registry;
  #closed = false;

  private constructor({ app, clock, logged, registry, endKey }: ApiParts) {
    this.#app = app;
    this.#registry = registry;
    this.endKey = endKey;
    this.clock = clock;
    this.logged = logged;
  }

  static async over(routes: (deps: ApiDeps) => readonly Route[], clock = new SteppedClock()): Promise<NativeApi> {
    const logged = recordedLog();
    const registry = new Registry();
    const ended = new Set<string>();
    const isLive = (keyId: string): boolean => !ended.has(keyId);
    const ends = new KeyEnds({ clock, isLive, expiresAt: () => undefined });
    const app = await apiServer({
      keys: { authenticate: (key) => callers[key as CallerName], whenEnded: (id, listener) => ends.follow(id, listener) },
      clock,
      log: logged.log,
      metrics: prometheusMetrics(registry),
      rateLimit: { perSecond: 0, burst: 0 },
      faces: [{ errors: problemShape, routes: (face) => registerRoutes(face, routes({ clock, log: logged.log, keys: { isLive } })) }],
      ready: () => true,
      metricsText: async () => ({ contentType: "text/plain", text: "" }),
    });
    const endKey = (keyId: string): void => {
      ended.add(keyId);
      ends.check();
    };
    return new NativeApi({ app, clock, logged, registry, endKey });
  }

  /** By ann, unless told otherwise; without a socket. `what` is such as `GET /v1/sandboxes`. */
  async ask(what: string, { by = "ann", body, headers = {} }: Asked = {}): Promise<Answered> {
    const [method, url] = what.split(" ") as [InjectOptions["method"] & string, string];
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const reply = await this.#app.inject({ method, url, headers: { "x-api-key": by, ...type, ...headers }, ...payload });
    const isJson = /json/.test(String(reply.headers["content-type"]));
    return { status: reply.statusCode, headers: reply.headers, text: reply.body, json: isJson ? tryJson(reply.body) : undefined };
  }

  metrics(): Promise<string> {
    return this.#registry.metrics();
  }

  /** On a real port from now on. */
  listen(): Promise<string> {
    return listenAt(this.#app, { host: "127.0.0.1", port: 0 });
  }

  /** An orderly end, in which answers may take as long as they like. */
  async end(): Promise<void> {
    this.#closed = true;
    await drainServer(this.#app, 60_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closed) await drainServer(this.#app, 0);
  }
}

/** A service of which only what a test uses is there; the rest fails the test. */
export function only(service: Partial<SandboxService>): SandboxService {
  return new Proxy(service as SandboxService, {
    get: (target, name) =>
      Reflect.get(target, name) ??
      (() => {
        throw new Error(`the route called ${String(name)}`);
      }),
  });
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
