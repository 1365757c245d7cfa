/**
 * The native API, typed.
 *
 * - `http-caller.ts`  one request     - `client-error.ts`  how it fails
 * - `keys.ts`         API keys
 */
import { type ClientOptions, HttpCaller } from "./http-caller.ts";
import { KeysClient } from "./keys.ts";

export class AgentBoxClient {
  readonly keys: KeysClient;

  constructor(options: ClientOptions) {
    const http = new HttpCaller(options);
    this.keys = new KeysClient(http);
  }
}
