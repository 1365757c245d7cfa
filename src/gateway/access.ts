/**
 * What a request may do, before anything is done for it. A paused sandbox is woken, and its idle timeout put off, only by requests that it
 * lets in: knowing its id is not enough to keep it awake. The daemon still answers for itself what it refuses.
 */
import { timingSafeEqual } from "node:crypto";
import { fileQuery, refusal } from "#envd-protocol/file-access.ts";
import type { Clock } from "#lib/clock.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { daemonPortOf, interpreterPortOf } from "#sandbox/pods/runtimes.ts";
import { publicDaemonPort } from "./daemon-port.ts";
import type { Target } from "./target.ts";

export interface AccessDeps {
  readonly trafficTokenOf: (sandboxId: string) => string;
  readonly accessTokenOf: (sandboxId: string) => string;
  readonly clock: Pick<Clock, "now">;
}

/** What of a request can show that it is let in. */
export interface Shown {
  readonly method: string;
  readonly trafficToken?: string | undefined;
  readonly accessToken?: string | undefined;
}

/**
 * - `admitted`: goes on, wakes the sandbox and counts as its use.
 * - `stranger`: goes on to a sandbox that runs, and counts for nothing: the daemon refuses it, or it asks what all may ask (`/health`).
 * - `forbidden`: goes no further.
 */
export type Access = "admitted" | "stranger" | "forbidden";

export function accessOf(deps: AccessDeps, pod: Pod, target: Target, shown: Shown): Access {
  const { annotations = {} } = pod.metadata;
  const hasTrafficToken = (): boolean => isSame(shown.trafficToken, deps.trafficTokenOf(target.sandboxId));
  const isPrivate = target.port !== publicDaemonPort && annotations[annotationKeys.privateTraffic] === "true";
  if (isPrivate && !hasTrafficToken()) return "forbidden";
  const door = doorAt(pod, target.port);
  if (door === "program" || annotations[annotationKeys.openDaemon] === "true") return "admitted";
  const accessToken = deps.accessTokenOf(target.sandboxId);
  if (isSame(shown.accessToken, accessToken)) return "admitted";
  // The only token that clients of the interpreter send with all of their requests.
  if (door === "interpreter") return hasTrafficToken() ? "admitted" : "stranger";
  return isSignedFile(deps, target.url, shown, accessToken) ? "admitted" : "stranger";
}

/** What listens on the port: the daemon, on one of its ports, or a program of the sandbox's user. */
function doorAt(pod: Pod, port: number): "daemon" | "interpreter" | "program" {
  if (port === publicDaemonPort || port === daemonPortOf(pod)) return "daemon";
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
