/**
 * A plugin behind an HTTP endpoint, in any language. Each hook is one signed POST of `{ hook, object, pool? }`; `pool` comes with
 * preCreatePod. The answer is 200 with `{ object }` or `{ refusal }`. Any other answer is thrown here as an error; the chain turns it
 * into a refusal of kind Internal, and limits the time.
 */
import type { Clock } from "#lib/clock.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Hook } from "./call-plugin.ts";
import type { Plugin, Verdict } from "./plugin.ts";
import { createHmac, timingSafeEqual } from "node:crypto";

export interface HttpPluginOptions {
  readonly name: string;
  readonly url: URL;
  readonly secret: string;
  /** Which hooks the endpoint wants to be asked for. */
  readonly hooks: readonly Hook[];
  readonly clock: Pick<Clock, "now">;
}

/** Objects of ours are below a megabyte: API servers take no larger ones. */
const maxAnswerBytes = 2 * 2 ** 20;

export function httpPlugin(options: HttpPluginOptions): Plugin {
  const { name } = options;
  const ofPool =
    (hook: Exclude<Hook, "preCreatePod">) =>
    (object: SandboxPool, signal: AbortSignal): Promise<Verdict<SandboxPool>> =>
      post<SandboxPool>(options, { hook, object }, signal);
  const all: Required<Pick<Plugin, Hook>> = {
    preCreatePool: ofPool("preCreatePool"),
    preUpdatePool: ofPool("preUpdatePool"),
    preDeletePool: ofPool("preDeletePool"),
    preCreatePod: (object, pool, signal) => post<Pod>(options, { hook: "preCreatePod", object, pool }, signal),
  };
  return { name, ...Object.fromEntries(options.hooks.map((hook) => [hook, all[hook]])) };
}

async function post<T>({ url, secret, clock }: HttpPluginOptions, request: object, signal: AbortSignal): Promise<Verdict<T>> {
  const body = JSON.stringify(request);
  const timestamp = String(Math.floor(clock.now() / 1000));
  const headers = {
    "content-type": "application/json",
    [timestampHeader]: timestamp,
    [signatureHeader]: signatureOf(secret, { body, timestamp }),
  };
  // A redirect would take a signed request to another place.
  const response = await sent(url, { method: "POST", headers, body, signal, redirect: "error" });
  const text = await bounded(response);
  if (response.status !== 200) throw new Error(`${url.origin} answered ${response.status}: ${text.slice(0, 200)}`);
  try {
    return JSON.parse(text) as Verdict<T>;
  } catch {
    throw new Error(`${url.origin} answered something that is not JSON`);
  }
}

async function sent(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (error) {
    request.signal?.throwIfAborted();
    const { cause } = error as Error;
    throw new Error(`${url.origin} cannot be reached: ${cause instanceof Error ? cause.message : (error as Error).message}`, {
      cause: error,
    });
  }
}

async function bounded(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    if (size > maxAnswerBytes) throw new Error(`the answer is longer than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/**
 * How requests to a plugin are signed, so that its server can tell them from others: HMAC-SHA256 with a shared secret over
 * `<timestamp>.<body>`, where the timestamp is the header of that name in seconds since the epoch.
 */
export const timestampHeader = "x-agentbox-timestamp";
export const signatureHeader = "x-agentbox-signature";
/** A request that is older may be a recorded one that is sent again. */
export const oldestRequestSeconds = 300;

export interface SignedRequest {
  readonly body: string;
  /** Seconds since the epoch. */
  readonly timestamp: string;
}

/** Value of the header: `sha256=<hex>`. */
export function signatureOf(secret: string, { body, timestamp }: SignedRequest): string {
  return `sha256=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`;
}

/** For servers of plugins that are written in TypeScript, and for tests. */
export function isSignatureGood(secret: string, request: SignedRequest & { readonly signature: string }, nowMs: number): boolean {
  const age = nowMs / 1000 - Number(request.timestamp);
  if (!(Math.abs(age) <= oldestRequestSeconds)) return false;
  const [wanted, given] = [Buffer.from(signatureOf(secret, request)), Buffer.from(request.signature)];
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}
