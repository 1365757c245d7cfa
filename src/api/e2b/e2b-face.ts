/**
 * The API that E2B's SDKs speak, over the same use cases as the native one: each file translates and decides nothing. A template of
 * theirs is an Env of ours, or a pool without an Env, by its name.
 *
 * - `sandbox-routes.ts`   create, connect, read, end, time      - `sandbox-body.ts`  how one is shown
 * - `list-routes.ts`      lists and their pages                 - `create-command.ts` what a request for one means
 * - `template-reference.ts` what a templateID names            - `metadata-wishes.ts` what keys of the metadata ask for
 * - `template-routes.ts`  what there is to create from          - `log-routes.ts`    what sandboxes have written
 * - `log-entry.ts`        levels and times of their lines
 * - `metric-routes.ts`    what sandboxes use                    - `key-routes.ts`    API keys, a face of their own
 * - `other-routes.ts`     teams and health, and what is not there yet
 * - `network-body.ts`     where one may connect to             - `not-yet.ts`       what is answered for what is missing
 * - `error-shape.ts`      failures in their form
 */
import type { ApiFace } from "../http/api-server.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Caller } from "#services/caller.ts";
import type { CreateSources } from "#services/creating/create-sources.ts";
import type { PoolSize } from "#services/pools/pool-size.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import type { SandboxStatistics } from "#services/reading/sandbox-statistics.ts";
import type { SandboxUsage } from "#services/usage/sandbox-usage.ts";
import { e2bErrors } from "./error-shape.ts";
import { listRoutes } from "./list-routes.ts";
import { logRoutes } from "./log-routes.ts";
import { metricRoutes } from "./metric-routes.ts";
import { otherRoutes } from "./other-routes.ts";
import { sandboxRoutes } from "./sandbox-routes.ts";
import { templateRoutes } from "./template-routes.ts";

export interface E2bServices {
  readonly sandboxes: SandboxService;
  readonly sources: CreateSources;
  readonly usage: SandboxUsage;
  /** How many sandboxes there are and were. */
  readonly statistics: (caller: Caller, wanted: { readonly since?: string }) => Promise<SandboxStatistics>;
  /** Of a pool's sandboxes. */
  readonly sizeOf: (pool: SandboxPool) => PoolSize;
  /** The daemon's token of a sandbox. */
  readonly accessTokenOf: (sandboxId: string) => string;
  readonly trafficTokenOf: (sandboxId: string) => string;
  /** Sandboxes are hosts of it, with its port if it is not the usual one. Left out: clients have to know. */
  readonly domain?: string | undefined;
  /** The longest lifetime that may be asked for, in seconds. */
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
      otherRoutes(app);
    },
  };
}
