import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { ArmedState } from "./armed-state.ts";

/**
 * Breaks off the answers that are under way when the sandbox ends. What commands and code still say while they are killed is no result: clients see a
 * broken connection, and raise their error for a sandbox that has ended. `isSpared`: requests of the control plane.
 */
export function breakOffAtEnd(server: Server, state: ArmedState, isSpared: (request: IncomingMessage) => boolean = () => false): void {
  const open = new Set<ServerResponse>();
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (isSpared(request)) return;
    open.add(response);
    response.once("close", () => open.delete(response));
  });
  state.onRetired(() => {
    for (const response of open) response.destroy();
  });
}
