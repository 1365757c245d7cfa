/**
 * The daemon over HTTP at its pod's address.
 *
 * - `daemon-client.ts`       the port
 * - `http-daemon-client.ts`  the port over HTTP: health, and orders signed with the control plane's key
 * - `pod-http.ts`            requests to pods: few sockets, short waits
 */
import type { KeyObject } from "node:crypto";
import { header, signInit, signRetire } from "#envd-protocol/arming.ts";
import {
  type DaemonAddress,
  type DaemonCallOptions,
  type DaemonClient,
  DaemonError,
  type DaemonHealth,
  type InitOrder,
} from "./daemon-client.ts";
import type { PodAnswer, PodHttp, PodRequest } from "./pod-http.ts";

export interface HttpDaemonClientDeps {
  readonly http: PodHttp;
  /** The control plane's. */
  readonly privateKey: KeyObject;
}

export function httpDaemonClient({ http, privateKey }: HttpDaemonClientDeps): DaemonClient {
  return {
    health: async (at, options = {}) => healthIn(at, await ask(http, at, { method: "GET", path: "/health" }, options)),
    init: async (at, order, options = {}) => {
      const answer = await ask(http, at, signed(privateKey, order), options);
      if (answer.status !== 204) throw refusal(at, answer);
    },
    retire: async (at, order, options = {}) => {
      const headers = { [header.sandboxId]: order.sandboxId, [header.signature]: signRetire(privateKey, order) };
      const answer = await ask(http, at, { method: "POST", path: "/retire", headers }, options);
      if (answer.status !== 204) throw refusal(at, answer);
    },
  };
}

function signed(key: KeyObject, { body: init, ...subject }: InitOrder): PodRequest {
  const body = Buffer.from(JSON.stringify(init));
  const headers = {
    [header.sandboxId]: subject.sandboxId,
    [header.signature]: signInit(key, subject, body),
    "content-type": "application/json",
  };
  return { method: "POST", path: "/init", headers, body };
}

async function ask(http: PodHttp, at: DaemonAddress, request: PodRequest, { signal }: DaemonCallOptions): Promise<PodAnswer> {
  try {
    return await http.send(at, request, signal);
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    const why = error instanceof Error ? error.message : String(error);
    throw new DaemonError("unreachable", `the daemon at ${placeOf(at)} does not answer: ${why}`, error);
  }
}

function healthIn(at: DaemonAddress, { status, headers }: PodAnswer): DaemonHealth {
  const [podUid, bootId, sandboxId] = [headers[header.podUid], headers[header.bootId], headers[header.sandboxId]];
  if (podUid === undefined || bootId === undefined) {
    throw new DaemonError("refused", `the program at ${placeOf(at)} is not an AgentBox daemon: HTTP ${status} without a daemon's headers`);
  }
  return { podUid, bootId, ...(sandboxId === undefined ? {} : { sandboxId }) };
}

/** A signature is for one boot, so the usual reason for a wrong one is that the container has been started anew. */
function refusal(at: DaemonAddress, { status, text }: PodAnswer): DaemonError {
  const said = `the daemon at ${placeOf(at)} refused: HTTP ${status}${text === "" ? "" : `, ${text}`}`;
  if (status === 401) return new DaemonError("other-boot", said);
  if (status === 409) return new DaemonError("taken", said);
  return new DaemonError(status >= 500 ? "unreachable" : "refused", said);
}

function placeOf({ ip, port }: DaemonAddress): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}
