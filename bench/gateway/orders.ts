/** What the processes of this benchmark tell each other. */

export interface GatewayOrder {
  readonly sandboxes: number;
}

export function sandboxName(index: number): string {
  return `sandbox${index}`;
}

/** Where requests go. */
export interface Way {
  readonly port: number;
  /** Tells a proxy which sandbox and port are meant. */
  readonly headers: Readonly<Record<string, string>>;
}

export type LoadOrder = Way & {
  readonly connections: number;
} & (
    | { readonly kind: "requests" | "messages"; readonly seconds: number }
    /** One body on each connection. */
    | { readonly kind: "down" | "up"; readonly bytes: number }
  );

export interface Loaded {
  /** Requests and their answers, messages and their echoes, or bytes. */
  readonly count: number;
  readonly seconds: number;
  /** Of each, in milliseconds. */
  readonly ms: readonly number[];
}
