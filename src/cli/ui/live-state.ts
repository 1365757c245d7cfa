/** State of the live view: what is on the screen, and what a key changes. Pure; live-view.ts draws it, run-live-view.ts acts on it. */
import type { Sandbox } from "#client/sandbox-types.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { Happening } from "../sandbox/recent-events.ts";

export interface LiveData {
  readonly server: string;
  readonly sandboxes: readonly Sandbox[];
  readonly envs: readonly SandboxEnv[];
  readonly events: readonly Happening[];
  /** Why the last request failed. */
  readonly failure: string | undefined;
}

export interface LiveState {
  readonly filter: string;
  readonly mode: "list" | "filter" | "confirm" | "describe" | "logs" | "keys";
  readonly selected: number;
  readonly message: string;
}

export type Effect = { readonly kind: "quit" } | { readonly kind: "shell" | "end" | "copy" | "logs"; readonly id: string };

export interface Press {
  readonly input: string;
  readonly key: {
    readonly upArrow?: boolean;
    readonly downArrow?: boolean;
    readonly return?: boolean;
    readonly escape?: boolean;
    readonly backspace?: boolean;
    readonly delete?: boolean;
    readonly ctrl?: boolean;
  };
}

export const firstState: LiveState = { filter: "", mode: "list", selected: 0, message: "" };

export function shownSandboxes({ sandboxes }: LiveData, { filter }: LiveState): readonly Sandbox[] {
  const wanted = filter.toLowerCase();
  return sandboxes.filter((one) =>
    [one.sandboxId, one.poolName, one.status, ...Object.entries(one.metadata ?? {}).flat()].some((text) =>
      text.toLowerCase().includes(wanted),
    ),
  );
}

export function selectedSandbox(data: LiveData, state: LiveState): Sandbox | undefined {
  const shown = shownSandboxes(data, state);
  return shown[Math.min(state.selected, shown.length - 1)];
}

export interface Pressed {
  readonly state: LiveState;
  readonly effect?: Effect;
}

/** Keys that were struck fast arrive together; each of them acts by itself. */
export function singlePresses({ input, key }: Press): readonly Press[] {
  return input.length < 2 ? [{ input, key }] : Array.from(input, (character) => ({ input: character, key }));
}

export function press(data: LiveData, state: LiveState, { input, key }: Press): Pressed {
  if (key.ctrl === true && input === "c") return { state, effect: { kind: "quit" } };
  if (state.mode === "filter") return { state: filtering(state, { input, key }) };
  if (state.mode === "confirm") return confirming(data, state, input);
  if (state.mode !== "list") return key.escape === true || "q?dl".includes(input) ? { state: { ...state, mode: "list" } } : { state };
  return listing(data, { ...state, message: "" }, { input, key });
}

function filtering(state: LiveState, { input, key }: Press): LiveState {
  if (key.return === true) return { ...state, mode: "list" };
  if (key.escape === true) return { ...state, mode: "list", filter: "" };
  if (key.backspace === true || key.delete === true) return { ...state, filter: state.filter.slice(0, -1) };
  return key.ctrl === true ? state : { ...state, filter: state.filter + input, selected: 0 };
}

function confirming(data: LiveData, state: LiveState, input: string): Pressed {
  const id = selectedSandbox(data, state)?.sandboxId;
  const list: LiveState = { ...state, mode: "list", message: "" };
  if (input !== "y" || id === undefined) return { state: { ...list, message: "Nothing was ended" } };
  return { state: { ...list, message: `Ending ${id} …` }, effect: { kind: "end", id } };
}

const effects: Readonly<Record<string, "shell" | "logs" | "copy">> = { s: "shell", l: "logs", y: "copy" };
const modes: Readonly<Record<string, LiveState["mode"]>> = { "/": "filter", "?": "keys" };

function listing(data: LiveData, state: LiveState, { input, key }: Press): Pressed {
  const last = Math.max(0, shownSandboxes(data, state).length - 1);
  const step = key.downArrow === true || input === "j" ? 1 : key.upArrow === true || input === "k" ? -1 : 0;
  if (step !== 0) return { state: { ...state, selected: Math.max(0, Math.min(last, Math.min(last, state.selected) + step)) } };
  if (input === "q") return { state, effect: { kind: "quit" } };
  const mode = modes[input];
  if (mode !== undefined) return { state: { ...state, mode } };
  const id = selectedSandbox(data, state)?.sandboxId;
  if (id === undefined) return { state: { ...state, message: "No sandbox is selected" } };
  return acting(state, id, { input, key });
}

function acting(state: LiveState, id: string, { input, key }: Press): Pressed {
  if (key.ctrl === true) return input === "d" ? { state: { ...state, mode: "confirm" } } : { state };
  if (input === "d" || key.return === true) return { state: { ...state, mode: "describe" } };
  const kind = effects[input];
  if (kind === undefined) return { state };
  return {
    state: kind === "logs" ? { ...state, mode: "logs" } : kind === "copy" ? { ...state, message: `Copied ${id}` } : state,
    effect: { kind, id },
  };
}
