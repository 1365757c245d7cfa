import type { Server } from "node:http";
import type { ArmedState } from "./armed-state.ts";
import { partServer } from "./part-server.ts";

export interface InterpreterOptions {
  readonly state: ArmedState;
  readonly helper: string;
  readonly programs: string;
}

export function interpreterServer(options: InterpreterOptions): Server {
  return partServer({
    state: options.state,
    load: async () => {
      const [{ InterpreterService }, { systemClock }] = await Promise.all([
        import("./interpreter/interpreter-service.ts"),
        import("#lib/clock.ts"),
      ]);
      return new InterpreterService({ ...options, clock: systemClock });
    },
    refuse: (response, why) => response.writeHead(503, { "content-type": "text/plain" }).end(why),
  });
}
