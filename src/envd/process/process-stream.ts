import type { Clock, Timer } from "#lib/clock.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import { keepaliveSeconds } from "#envd/connect/protocol-headers.ts";
import type { Call } from "#envd/connect/rpc-server.ts";
import type { ServerStream } from "#envd/connect/server-stream.ts";
import type { EndEvent, OutputName, ProcessEvent } from "#envd-protocol/process-messages.ts";
import type { ProcessListener, RunningProcess } from "./running-process.ts";

export interface Following {
  readonly process: RunningProcess;
  readonly call: Call;
  readonly stream: ServerStream;
  readonly clock: Clock;
  /** Aborted, with the reason, when the caller's time is over. */
  readonly deadline: AbortSignal;
  /** Begins with what a terminal wrote last. */
  readonly replay?: boolean;
}

/** Sends the events of a process to one client until the process ends, the client disconnects, or its time is over. Throws ConnectError. */
export async function followProcess({ process, call, stream, clock, deadline, replay = false }: Following): Promise<void> {
  const send = (event: ProcessEvent): void => stream.send({ event });
  send({ start: { pid: process.pid } });
  if (process.end !== undefined) {
    send({ end: process.end });
    return;
  }
  // Read and followed in one turn, so that nothing is sent twice and nothing is left out.
  if (replay && process.recentOutput.length > 0) send({ data: { pty: process.recentOutput.toString("base64") } });
  const every = keepaliveSeconds(call.headers) * 1000;
  const done = Promise.withResolvers<void>();
  let timer: Timer | undefined;
  const rest = (): void => {
    timer?.cancel();
    timer = clock.after(every, () => {
      send({ keepalive: {} });
      rest();
    });
  };
  const listener: ProcessListener = {
    get backlog() {
      return stream.backlog;
    },
    data: (name: OutputName, base64) => {
      send({ data: { [name]: base64 } });
      rest();
    },
    end: (end: EndEvent) => {
      send({ end });
      done.resolve();
    },
    cut: () => done.reject(new ConnectError("resource_exhausted", "the output was read too slowly, and others read it too; connect again")),
  };
  rest();
  process.listen(listener);
  stream.onDrain(() => process.caughtUp());
  stream.gone.addEventListener("abort", () => done.resolve(), { once: true });
  deadline.addEventListener("abort", () => done.reject(deadline.reason as ConnectError), { once: true });
  try {
    deadline.throwIfAborted();
    await done.promise;
  } finally {
    timer?.cancel();
    process.leave(listener);
  }
}
