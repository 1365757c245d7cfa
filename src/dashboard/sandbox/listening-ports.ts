/** TCP ports that programs listen on, from /proc/net/tcp and /proc/net/tcp6. Pure. */
export interface ListeningPort {
  readonly port: number;
  /** Only reachable inside the sandbox. */
  readonly isLocal: boolean;
}

const listening = "0A";

export function listeningPorts(text: string): readonly ListeningPort[] {
  const open = new Map<number, boolean>();
  for (const line of text.split("\n")) {
    const [, local = "", , state] = line.trim().split(/\s+/);
    const [address = "", port] = local.split(":");
    if (state !== listening || port === undefined) continue;
    const number = Number.parseInt(port, 16);
    const isLocal = address === "0100007F" || address === "00000000000000000000000001000000";
    open.set(number, (open.get(number) ?? true) && isLocal);
  }
  return [...open].map(([port, isLocal]) => ({ port, isLocal })).sort((a, b) => a.port - b.port);
}
