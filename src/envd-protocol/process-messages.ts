/** The messages of process.proto as JSON has them: bytes are base64. */

/** Of our own control plane; E2B's clients send neither. `only`: List has processes with a terminal only. `replay`: Connect begins with what the terminal wrote last. */
export const terminalHeaders = { only: "agentbox-terminals-only", replay: "agentbox-replay" } as const;

export interface PtySize {
  readonly cols?: number;
  readonly rows?: number;
}

export interface Pty {
  readonly size?: PtySize;
}

export interface ProcessConfig {
  readonly cmd?: string;
  readonly args?: readonly string[];
  readonly envs?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface ProcessSelector {
  readonly pid?: number;
  readonly tag?: string;
}

export interface ProcessInfo {
  readonly config: ProcessConfig;
  readonly pid: number;
  readonly tag?: string;
}

export interface StartRequest {
  readonly process?: ProcessConfig;
  readonly pty?: Pty;
  readonly tag?: string;
  readonly stdin?: boolean;
}

export type OutputName = "stdout" | "stderr" | "pty";

export interface EndEvent {
  readonly exitCode?: number;
  readonly exited?: boolean;
  readonly status: string;
  readonly error?: string;
}

export type ProcessEvent =
  | { readonly start: { readonly pid: number } }
  | { readonly data: { readonly [name in OutputName]?: string } }
  | { readonly end: EndEvent }
  | { readonly keepalive: Record<string, never> };

export interface ProcessInput {
  readonly stdin?: string;
  readonly pty?: string;
}

export interface OfProcess {
  readonly process?: ProcessSelector;
}

export interface UpdateRequest extends OfProcess {
  readonly pty?: Pty;
}

export interface SendInputRequest extends OfProcess {
  readonly input?: ProcessInput;
}

export interface SendSignalRequest extends OfProcess {
  /** A name, or the number of an unknown signal. */
  readonly signal?: string | number;
}

export interface StreamInputRequest {
  readonly start?: OfProcess;
  readonly data?: { readonly input?: ProcessInput };
  readonly keepalive?: Record<string, never>;
}
