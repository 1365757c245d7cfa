import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { ArmedState } from "./armed-state.ts";
import { breakOffAtEnd } from "./open-answers.ts";

/** What a port of the daemon leads to: loaded when it is first needed, as most sandboxes never need it. */
export interface Part {
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

export interface PartOptions {
  readonly state: ArmedState;
  readonly load: () => Promise<Part>;
  /** What is answered outside of a sandbox's life. */
  readonly refuse: (response: ServerResponse, why: string) => void;
  /** Loads it when the sandbox is armed: its clients have no patience for the first answer. */
  readonly isEager?: boolean;
}

/** Listens from the start, so that a client never finds the port closed. */
export function partServer({ state, load, refuse, isEager = false }: PartOptions): Server {
  let loaded: Promise<Part> | undefined;
  const part = (): Promise<Part> => (loaded ??= load());
  // In a later turn, so that the request that armed the daemon is answered first.
  if (isEager) state.onArmed(() => void setImmediate(() => state.isRetired || void part()));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { sandboxId, isRetired } = state;
    if (sandboxId === undefined || isRetired) {
      refuse(response, isRetired ? "this sandbox has ended" : "this sandbox waits to be claimed");
      return;
    }
    await (await part()).serve(request, response);
  };
  const server = createServer({ keepAliveTimeout: 640_000, requestTimeout: 0 }, (request, response) => {
    serve(request, response)
      .catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else response.writeHead(500, { "content-type": "text/plain" }).end(error instanceof Error ? error.message : String(error));
      })
      // An unread rest of the body would block the next request of the connection.
      .finally(() => request.resume());
  });
  breakOffAtEnd(server, state);
  return server;
}
