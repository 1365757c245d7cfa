/**
 * The thread that receives requests from the daemon while the code keeps the main thread busy, and that interrupts the code there. A signal
 * cannot do it: Node loses a signal that comes while its handlers are being changed, or is killed by it.
 */
import { Session } from "node:inspector";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { MessagePort } from "node:worker_threads";

/** A request as it was sent, an interrupt of the running code, or nothing: only a wake-up. */
export type Heard = { readonly kind: "request"; readonly line: string } | { readonly kind: "interrupt" } | { readonly kind: "nothing" };

/** At index 0 of the memory that both threads see: whether code runs. */
export const resting = 0;
export const running = 1;

/** So long a main thread may take to hear of an interrupt: it does at once, unless it is busy. */
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
  // The daemon is gone, or wants us to be.
  process.exit();
}

/** Ends what the main thread does at this moment, or next when it has just ended; no request is passed on before that has happened. */
function breakOff(session: Session, say: (heard: Heard) => void): Promise<void> {
  return new Promise((resolve) => {
    session.post("Runtime.terminateExecution", () => resolve());
    say({ kind: "nothing" });
  });
}
