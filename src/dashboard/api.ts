/** The native API for the console, with the session of the browser. */
import { BuildsClient } from "#client/builds.ts";
import { CheckpointsClient } from "#client/checkpoints.ts";
import { ConsoleSessionClient } from "#client/console-session.ts";
import { EnvsClient } from "#client/envs.ts";
import { FilesClient } from "#client/files.ts";
import { HealthClient } from "#client/health.ts";
import { HttpCaller } from "#client/http-caller.ts";
import { KeysClient } from "#client/keys.ts";
import { LimitsClient } from "#client/limits.ts";
import { NumbersClient } from "#client/numbers.ts";
import { PoolsClient } from "#client/pools.ts";
import { ReportsClient } from "#client/reports.ts";
import { SandboxesClient } from "#client/sandboxes.ts";
import { TemplatesClient } from "#client/templates.ts";
import { VolumesClient } from "#client/volumes.ts";
import { WebhooksClient } from "#client/webhooks.ts";
import { actingHeaders } from "./session/acting.ts";

export const http = new HttpCaller({ url: window.location.origin, headers: actingHeaders });

export const api = {
  session: new ConsoleSessionClient(http),
  sandboxes: new SandboxesClient(http),
  files: new FilesClient(http),
  numbers: new NumbersClient(http),
  pools: new PoolsClient(http),
  envs: new EnvsClient(http),
  templates: new TemplatesClient(http),
  builds: new BuildsClient(http),
  checkpoints: new CheckpointsClient(http),
  volumes: new VolumesClient(http),
  webhooks: new WebhooksClient(http),
  keys: new KeysClient(http),
  limits: new LimitsClient(http),
  reports: new ReportsClient(http),
  health: new HealthClient(http),
} as const;

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
