import { once } from "node:events";
import { connect } from "node:net";
import type { DaemonAddress } from "./daemon-client.ts";

/** Whether something listens at a port of a pod. */
export type DialPod = (at: DaemonAddress, signal: AbortSignal) => Promise<void>;

/** Resolves when the connection stands, and closes it. */
export const dialPod: DialPod = async ({ ip, port }, signal) => {
  const socket = connect({ host: ip, port, signal });
  try {
    await once(socket, "connect", { signal });
  } finally {
    socket.destroy();
  }
};
