/** Lays out the live view for a terminal of a given size. Pure. */
import { age } from "../print/human-duration.ts";
import { TableText } from "../print/table-text.ts";
import { yamlText } from "../print/yaml-text.ts";
import { envColumns } from "../envs/list-envs.ts";
import type { ListColumn } from "../print/listing.ts";
import { sandboxColumns } from "../sandbox/sandbox-columns.ts";
import { type LiveData, type LiveState, selectedSandbox, shownSandboxes } from "./live-state.ts";

export interface Line {
  readonly text: string;
  readonly look?: "title" | "selected" | "faint" | "bad";
}

export interface Screen {
  readonly rows: number;
  readonly now: number;
  readonly logs: readonly string[];
}

const keysText = "/ filter  s shell  l logs  d describe  Ctrl-D end  y copy  ? keys  q quit";

const keys: readonly string[] = [
  "Up, Down, j, k   choose a sandbox",
  "/                show only lines with this text; Enter keeps the filter, Esc removes it",
  "s                a shell in the sandbox",
  "l                show the log of its main program",
  "d, Enter         all about it",
  "Ctrl-D           end it, after a confirmation",
  "y                copy its ID",
  "q, Ctrl-C        leave",
];

/** Fills the terminal, except for one free line. */
export function screenLines(data: LiveData, state: LiveState, screen: Screen): readonly Line[] {
  const head = headLine(data);
  const foot = footLine(data, state);
  const room = Math.max(3, screen.rows - 3);
  const body = bodyLines(data, state, screen, room).slice(0, room);
  const blank = Array.from({ length: room - body.length }, (): Line => ({ text: "" }));
  return [head, ...body, ...blank, foot];
}

function headLine({ server, sandboxes, envs }: LiveData): Line {
  const running = sandboxes.filter(({ status }) => status === "Running").length;
  return { text: `AgentBox at ${server}: ${sandboxes.length} sandboxes (${running} running), ${envs.length} Envs`, look: "title" };
}

function footLine({ failure }: LiveData, { mode, filter, message }: LiveState): Line {
  if (mode === "filter") return { text: `Filter: ${filter}_` };
  if (mode === "confirm") return { text: "End this sandbox with everything in it? y/N", look: "bad" };
  if (mode !== "list") return { text: "Esc back", look: "faint" };
  if (failure !== undefined) return { text: failure, look: "bad" };
  return message === "" ? { text: keysText, look: "faint" } : { text: message };
}

function bodyLines(data: LiveData, state: LiveState, screen: Screen, room: number): readonly Line[] {
  if (state.mode === "keys") return keys.map((text) => ({ text }));
  if (state.mode === "logs") return screen.logs.slice(-room).map((text) => ({ text }));
  const chosen = selectedSandbox(data, state);
  if (state.mode === "describe")
    return chosen === undefined
      ? []
      : yamlText(chosen)
          .trimEnd()
          .split("\n")
          .map((text) => ({ text }));
  return listLines(data, state, screen, room);
}

/** Envs get a quarter of the height, events another quarter, sandboxes the rest. */
function listLines(data: LiveData, state: LiveState, { now }: Screen, room: number): readonly Line[] {
  const part = Math.max(2, Math.floor(room / 4));
  const envs = tableLines(data.envs, envColumns, now).slice(0, part);
  const events = data.events.slice(-(part - 1)).map(({ lastTime, reason, kind, name, message, type }): Line => {
    const text = `${age(lastTime, now).padEnd(6)}${reason}  ${kind.toLowerCase()}/${name}  ${message}`;
    return type === "Warning" ? { text, look: "bad" } : { text };
  });
  const height = Math.max(1, room - envs.length - events.length - 4);
  return [
    { text: "Envs", look: "title" },
    ...envs,
    { text: state.filter === "" ? "Sandboxes" : `Sandboxes with "${state.filter}"`, look: "title" },
    ...sandboxLines(data, state, now, height),
    { text: "Events", look: "title" },
    ...events,
  ];
}

function sandboxLines(data: LiveData, state: LiveState, now: number, height: number): readonly Line[] {
  const shown = shownSandboxes(data, state);
  if (shown.length === 0)
    return [
      { text: data.sandboxes.length === 0 ? "No sandboxes. Create one: agentbox shell" : "No sandbox matches this text", look: "faint" },
    ];
  const [header = { text: "" }, ...rows] = tableLines(shown, sandboxColumns, now);
  const selected = Math.min(state.selected, rows.length - 1);
  const from = Math.max(0, Math.min(selected - Math.floor(height / 2), rows.length - height));
  const visible = rows.map((line, at): Line => (at === selected ? { ...line, look: "selected" } : line)).slice(from, from + height);
  return [header, ...visible];
}

function tableLines<Item>(items: readonly Item[], columns: readonly ListColumn<Item>[], now: number): readonly Line[] {
  const shown = columns.filter(({ wide }) => wide !== true);
  const text = new TableText().lay([shown.map(({ name }) => name), ...items.map((item) => shown.map(({ cell }) => cell(item, now)))]);
  return text
    .trimEnd()
    .split("\n")
    .map((line, at): Line => (at === 0 ? { text: line, look: "faint" } : { text: line }));
}
