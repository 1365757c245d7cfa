import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { ArmedState } from "./armed-state.ts";
import type { InterpreterService } from "./interpreter/interpreter-service.ts";

export interface InterpreterOptions {
  readonly state: ArmedState;
  readonly helper: string;
  readonly programs: string;
}

/** Listens from the start, so that a client never finds the port closed; the interpreter is loaded at its first request. */
export function interpreterServer(options: InterpreterOptions): Server {
  let loaded: Promise<InterpreterService> | undefined;
  const load = async (): Promise<InterpreterService> => {
    const [{ InterpreterService }, { systemClock }] = await Promise.all([
      import("./interpreter/interpreter-service.ts"),
      import("#lib/clock.ts"),
    ]);
    return new InterpreterService({ ...options, clock: systemClock });
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { sandboxId, isRetired } = options.state;
    if (sandboxId === undefined || isRetired) {
      const why = isRetired ? "this sandbox has ended" : "this sandbox waits to be claimed";
      response.writeHead(503, { "content-type": "text/plain" }).end(why);
      return;
    }
    loaded ??= load();
    await (await loaded).serve(request, response);
  };
  return createServer({ keepAliveTimeout: 640_000, requestTimeout: 0 }, (request, response) => {
    serve(request, response)
      .catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else response.writeHead(500, { "content-type": "text/plain" }).end(error instanceof Error ? error.message : String(error));
      })
      // An unread rest of the body would block the next request of the connection.
      .finally(() => request.resume());
  });
}
