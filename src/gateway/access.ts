/**
 * Decides what a request may do before anything is done for it. Only requests with access resume a paused sandbox or count as use: knowing its id must not
 * be enough to keep it running. The daemon still checks every request itself.
 */
import { timingSafeEqual } from "node:crypto";
import { fileQuery, refusal } from "#envd-protocol/file-access.ts";
import type { Clock } from "#lib/clock.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { daemonPortOf, interpreterPortOf, swerexPortOf } from "#sandbox/pods/runtimes.ts";
import { publicDaemonPort } from "./daemon-port.ts";
import type { Target } from "./target.ts";

export interface AccessDeps {
  readonly trafficTokenOf: (sandboxId: string) => string;
  readonly accessTokenOf: (sandboxId: string) => string;
  readonly clock: Pick<Clock, "now">;
}

/** The parts of a request that can prove its access. */
export interface Shown {
  readonly method: string;
  readonly trafficToken?: string | undefined;
  readonly accessToken?: string | undefined;
  /** The access token, as clients of SWE-ReX send it. */
  readonly apiKey?: string | undefined;
}

/**
 * - `admitted`: goes on, wakes the sandbox and counts as its use.
 * - `stranger`: forwarded to a running sandbox, but has no effect: the daemon refuses it, or it asks for public facts (`/health`).
 * - `forbidden`: refused here.
 */
export type Access = "admitted" | "stranger" | "forbidden";

export function accessOf(deps: AccessDeps, pod: Pod, target: Target, shown: Shown): Access {
  const { annotations = {} } = pod.metadata;
  const door = doorAt(pod, target.port);
  const isPrivate = target.port !== publicDaemonPort && annotations[annotationKeys.privateTraffic] === "true";
  if (isPrivate && !hasTrafficToken(deps, target, shown) && !hasApiKey(deps, door, target, shown)) return "forbidden";
  if (door === "program" || annotations[annotationKeys.openDaemon] === "true") return "admitted";
  return isOwner(deps, door, target, shown) ? "admitted" : "stranger";
}

type Door = "daemon" | "interpreter" | "swerex" | "program";

function isOwner(...[deps, door, target, shown]: Asked): boolean {
  if (door === "swerex") return hasApiKey(deps, door, target, shown);
  const accessToken = deps.accessTokenOf(target.sandboxId);
  if (isSame(shown.accessToken, accessToken)) return true;
  // The only token that clients of the interpreter send with all requests.
  return door === "interpreter" ? hasTrafficToken(deps, target, shown) : isSignedFile(deps, target.url, shown, accessToken);
}

type Asked = [deps: AccessDeps, door: Door, target: Target, shown: Shown];

function hasTrafficToken({ trafficTokenOf }: AccessDeps, { sandboxId }: Target, { trafficToken }: Shown): boolean {
  return isSame(trafficToken, trafficTokenOf(sandboxId));
}

/** The only token that clients of SWE-ReX can send, and the one that the daemon asks them for. */
function hasApiKey(...[{ accessTokenOf }, door, { sandboxId }, { apiKey }]: Asked): boolean {
  return door === "swerex" && isSame(apiKey, accessTokenOf(sandboxId));
}

/** The program on the port: the daemon, on one of its ports, or a program of the sandbox's user. */
function doorAt(pod: Pod, port: number): Door {
  if (port === publicDaemonPort || port === daemonPortOf(pod)) return "daemon";
  if (port === swerexPortOf(pod)) return "swerex";
  return port === interpreterPortOf(pod) ? "interpreter" : "program";
}

function isSignedFile({ clock }: AccessDeps, url: string, { method, accessToken: token }: Shown, accessToken: string): boolean {
  if (url.split("?", 1)[0] !== "/files") return false;
  const operation = method === "GET" || method === "HEAD" ? "read" : "write";
  return refusal(accessToken, { query: fileQuery(url), operation, token, nowMs: clock.now() }) === undefined;
}

function isSame(given: string | undefined, expected: string): boolean {
  const [left, right] = [Buffer.from(given ?? ""), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
