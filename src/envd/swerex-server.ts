import type { Server } from "node:http";
import type { ArmedState } from "./armed-state.ts";
import { partServer } from "./part-server.ts";

export interface SwerexOptions {
  readonly state: ArmedState;
  readonly helper: string;
  /** The user that its sessions run as. */
  readonly user: string;
}

/** SWE-ReX's client gives the server 150 ms to say that it is alive, and reads every answer as JSON. */
export function swerexServer(options: SwerexOptions): Server {
  return partServer({
    state: options.state,
    load: async () => {
      const [{ SwerexService }, { systemClock }] = await Promise.all([import("./swerex/swerex-service.ts"), import("#lib/clock.ts")]);
      return new SwerexService({ ...options, clock: systemClock });
    },
    refuse: (response, why) => response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify({ detail: why })),
    isEager: true,
  });
}

/** The original server of the image, with the sandbox's token as its key. Its output is the container's log. */
export async function startSwerexProcess(state: ArmedState, port: number, user: string): Promise<void> {
  const [{ runEntrypoint }, { Accounts }] = await Promise.all([import("./armed/entrypoint.ts"), import("./accounts/accounts.ts")]);
  const accounts = new Accounts();
  const account = accounts.find(user) ?? accounts.ofProcess(0, 0);
  const key = state.init.accessToken ?? "";
  const script =
    'if command -v swerex-remote >/dev/null; then exec swerex-remote --port "$0" --auth-token "$1"; fi; exec python3 -m swerex.server --port "$0" --auth-token "$1"';
  runEntrypoint(["/bin/sh", "-c", script, String(port), key], state, account);
}
