/**
 * The native API, typed.
 *
 * - `http-caller.ts`  one request     - `client-error.ts`   how it fails
 * - `keys.ts`         API keys        - `sandboxes.ts`      sandboxes; `sandbox-types.ts` their types
 * - `pools.ts`        pools           - `limits.ts`         limits
 * - `templates.ts`    templates       - `volumes.ts`        volumes
 * - `checkpoints.ts`  checkpoints and forks
 * - `builds.ts`       template builds
 * - `envs.ts`         Envs                        - `metrics.ts`  usage of sandboxes
 * - `json-lines.ts`   answers line by line             - `terminal.ts`  an interactive terminal
 * - `exec-stream.ts`  a command with its streams       - `network-failure.ts`  why there was no answer
 * - `reports.ts`        the audit log, usage over time
 * - `mcp-bridge.ts`   MCP on standard input and output
 */
import { BuildsClient } from "./builds.ts";
import { CheckpointsClient } from "./checkpoints.ts";
import { EnvsClient } from "./envs.ts";
import { type ClientOptions, HttpCaller } from "./http-caller.ts";
import { KeysClient } from "./keys.ts";
import { LimitsClient } from "./limits.ts";
import { McpBridge, type McpBridgeOptions } from "./mcp-bridge.ts";
import { MetricsClient } from "./metrics.ts";
import { PoolsClient } from "./pools.ts";
import { ReportsClient } from "./reports.ts";
import { SandboxesClient } from "./sandboxes.ts";
import { VolumesClient } from "./volumes.ts";
import { TemplatesClient } from "./templates.ts";

export class AgentBoxClient {
  readonly keys: KeysClient;
  readonly sandboxes: SandboxesClient;
  readonly builds: BuildsClient;
  readonly checkpoints: CheckpointsClient;
  readonly pools: PoolsClient;
  readonly limits: LimitsClient;
  readonly templates: TemplatesClient;
  readonly envs: EnvsClient;
  readonly metrics: MetricsClient;
  readonly volumes: VolumesClient;
  readonly reports: ReportsClient;
  readonly #http: HttpCaller;

  constructor(options: ClientOptions) {
    const http = new HttpCaller(options);
    this.#http = http;
    this.keys = new KeysClient(http);
    this.builds = new BuildsClient(http);
    this.pools = new PoolsClient(http);
    this.limits = new LimitsClient(http);
    this.templates = new TemplatesClient(http);
    this.envs = new EnvsClient(http);
    this.volumes = new VolumesClient(http);
    this.metrics = new MetricsClient(http);
    this.reports = new ReportsClient(http);
    this.sandboxes = new SandboxesClient(http);
    this.checkpoints = new CheckpointsClient(http);
  }

  /** Serves MCP to the client that started this program, until the client disconnects. */
  async serveMcp(options: McpBridgeOptions): Promise<void> {
    await new McpBridge(this.#http, options).run();
  }
}
