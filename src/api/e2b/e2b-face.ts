/**
 * The API for E2B's SDKs, over the same use cases as the native API. The files of routes decide nothing, they translate. A template of E2B is an Env of
 * ours, or a pool without an Env, by its name.
 *
 * - `sandbox-routes.ts`   create, connect, read, end, timeouts  - `sandbox-body.ts`  a sandbox as JSON
 * - `list-routes.ts`      lists and their pages                 - `create-command.ts` a create as a command
 * - `template-reference.ts` what a templateID means            - `metadata-wishes.ts` options in metadata keys
 * - `template-routes.ts`  what sandboxes can be created from    - `log-routes.ts`    logs of sandboxes
 * - `build-routes.ts`   building templates                - `build-status.ts`  how a build stands · `tag-routes.ts` tags
 * - `log-entry.ts`        level and time of a log line
 * - `metric-routes.ts`    resource usage of sandboxes           - `key-routes.ts`    API keys, a face of their own
 * - `snapshot-routes.ts`  snapshots and forks of sandboxes
 * - `other-routes.ts`     teams, health, and what is missing
 * - `volume-routes.ts`    volumes                        - `volume-content-routes.ts`  their files, a face of their own
 * - `network-body.ts`     network rules of a sandbox            - `not-yet.ts`       the answer for missing features
 * - `event-routes.ts`     events and webhooks
 * - `just-done.ts`        pauses and resumes at once
 * - `error-shape.ts`      failures in E2B's form
 */
import type { ApiFace } from "../http/api-server.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Caller } from "#services/caller.ts";
import type { CheckpointService } from "#services/checkpoints/checkpoint-service.ts";
import type { CreateSources } from "#services/creating/create-sources.ts";
import type { PoolSize } from "#services/pools/pool-size.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import type { SandboxStatistics } from "#services/reading/sandbox-statistics.ts";
import type { SandboxUsage } from "#services/usage/sandbox-usage.ts";
import type { TemplateBuilds } from "#services/builds/template-builds.ts";
import { buildRoutes } from "./build-routes.ts";
import type { WebhookService } from "#services/webhooks/webhook-service.ts";
import { e2bErrors } from "./error-shape.ts";
import { eventRoutes } from "./event-routes.ts";
import { listRoutes } from "./list-routes.ts";
import { logRoutes } from "./log-routes.ts";
import { metricRoutes } from "./metric-routes.ts";
import { otherRoutes } from "./other-routes.ts";
import { sandboxRoutes } from "./sandbox-routes.ts";
import { snapshotRoutes } from "./snapshot-routes.ts";
import { tagRoutes } from "./tag-routes.ts";
import { templateRoutes } from "./template-routes.ts";
import { volumeRoutes } from "./volume-routes.ts";
import { volumeContentRoutes, type VolumeContents } from "./volume-content-routes.ts";
import type { VolumeService } from "#services/volumes/volume-service.ts";

export interface E2bServices {
  readonly sandboxes: SandboxService;
  readonly checkpoints: CheckpointService;
  readonly sources: CreateSources;
  /** Left out where templates cannot be built. */
  readonly builds?: TemplateBuilds | undefined;
  readonly usage: SandboxUsage;
  readonly volumes: VolumeService;
  /** Left out where nothing is told of sandboxes. */
  readonly webhooks?: WebhookService | undefined;
  /** Counts of live and ended sandboxes. */
  readonly statistics: (caller: Caller, wanted: { readonly since?: string }) => Promise<SandboxStatistics>;
  /** Usage of a pool's sandboxes. */
  readonly sizeOf: (pool: SandboxPool) => PoolSize;
  /** The daemon token of a sandbox. */
  readonly accessTokenOf: (sandboxId: string) => string;
  readonly trafficTokenOf: (sandboxId: string) => string;
  /** Sandboxes are hosts below this domain, with its port if it is not the default. Left out: clients must know the address. */
  readonly domain?: string | undefined;
  /** The longest lifetime that a request may ask for, in seconds. */
  readonly maxTimeoutSeconds: number;
}

export function e2bFace(services: E2bServices): ApiFace {
  return {
    errors: e2bErrors,
    routes: (app) => {
      sandboxRoutes(app, services);
      listRoutes(app, services);
      logRoutes(app, services);
      metricRoutes(app, services);
      templateRoutes(app, services);
      if (services.webhooks !== undefined) eventRoutes(app, services.webhooks);
      volumeRoutes(app, services.volumes);
      snapshotRoutes(app, services);
      if (services.builds !== undefined) {
        buildRoutes(app, services.builds);
        tagRoutes(app, services.builds);
      }
      otherRoutes(app, { hasBuilds: services.builds !== undefined, hasEvents: services.webhooks !== undefined });
    },
  };
}

/** Apart from the other routes: the caller is a volume's token instead of an API key. */
export function volumeContentFace(contents: VolumeContents): ApiFace {
  return { errors: e2bErrors, routes: (app) => volumeContentRoutes(app, contents) };
}
