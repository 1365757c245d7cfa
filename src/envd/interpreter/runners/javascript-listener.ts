/**
 * A thread that receives requests while the code keeps the main thread busy, and interrupts the code. A signal cannot do that: Node loses a signal that
 * arrives while its handlers change, or dies from it.
 */
import { Session } from "node:inspector";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { MessagePort } from "node:worker_threads";

/** A request as it was sent, an interrupt of the running code, or nothing: only a wake-up. */
export type Heard = { readonly kind: "request"; readonly line: string } | { readonly kind: "interrupt" } | { readonly kind: "nothing" };

/** Index 0 of the shared memory: whether code runs. */
export const resting = 0;
export const running = 1;

/** How long the main thread may take to notice an interrupt: it notices at once unless it is busy. */
const patienceMs = 100;

export async function listen(main: MessagePort, state: Int32Array): Promise<void> {
  const session = new Session();
  session.connectToMainThread();
  const say = (heard: Heard): void => main.postMessage(heard, []);
  for await (const line of createInterface({ input: new Socket({ fd: 0, readable: true, writable: false }) })) {
    if (line !== "interrupt") {
      say({ kind: "request", line });
      continue;
    }
    say({ kind: "interrupt" });
    if (Atomics.wait(state, 0, running, patienceMs) !== "timed-out") continue;
    await breakOff(session, say);
    say({ kind: "interrupt" });
  }
  // The daemon is gone, or wants this process to end.
  process.exit();
}

/** Interrupts what the main thread runs now, or what it runs next if it has just finished; no request is passed on before that. */
function breakOff(session: Session, say: (heard: Heard) => void): Promise<void> {
  return new Promise((resolve) => {
    session.post("Runtime.terminateExecution", () => resolve());
    say({ kind: "nothing" });
  });
}
