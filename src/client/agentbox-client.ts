/**
 * The native API, typed.
 *
 * - `http-caller.ts`  one request     - `client-error.ts`   how it fails
 * - `keys.ts`         API keys        - `sandboxes.ts`      sandboxes; `sandbox-types.ts` what is said of them
 * - `pools.ts`        pools
 * - `json-lines.ts`   answers line by line             - `terminal.ts`  a person at a command
 */
import { type ClientOptions, HttpCaller } from "./http-caller.ts";
import { KeysClient } from "./keys.ts";
import { PoolsClient } from "./pools.ts";
import { SandboxesClient } from "./sandboxes.ts";

export class AgentBoxClient {
  readonly keys: KeysClient;
  readonly sandboxes: SandboxesClient;
  readonly pools: PoolsClient;

  constructor(options: ClientOptions) {
    const http = new HttpCaller(options);
    this.keys = new KeysClient(http);
    this.pools = new PoolsClient(http);
    this.sandboxes = new SandboxesClient(http);
  }
}
