/** Lists for people and for programs: one set of flags and formats, and `--watch` for all of them. */
import { sleep } from "#lib/clock.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments, Flags } from "../flags.ts";
import { jsonPathText } from "./json-path-text.ts";
import { type Cell, TableText } from "./table-text.ts";
import { yamlText } from "./yaml-text.ts";

const formats = ["table", "wide", "json", "yaml", "name"];
/** How often a watched list is read again. */
const watchMs = 2000;

export const outputHelp = `${formats.join(", ")} or jsonpath={PATH}`;

export const listingFlags: Flags = {
  output: { short: "o", value: "FORMAT", help: `Output format: ${outputHelp}` },
  "no-headers": { help: "Leave out the headers of tables" },
  watch: { short: "w", help: "Keep showing changes until Ctrl-C" },
};

export interface ListColumn<Item> {
  readonly name: string;
  /** Shown in wide output only. */
  readonly wide?: boolean;
  readonly cell: (item: Item, now: number) => Cell;
}

export interface Listing<Item> {
  readonly load: () => Promise<readonly Item[]>;
  readonly nameOf: (item: Item) => string;
  readonly columns: readonly ListColumn<Item>[];
  /** Message for an empty list. */
  readonly empty: string;
  /** Where the message for an empty list goes (default: stderr). */
  readonly emptyOn?: "stdout";
  /** Detects changed items for --watch (default: any difference). */
  readonly changeOf?: (item: Item) => unknown;
  /** Text for an item that left the list. */
  readonly gone?: (item: Item) => Promise<Item | undefined>;
}

/** Resolves with the exit code. */
export async function showListing<Item>(context: CliContext, args: Arguments, listing: Listing<Item>): Promise<number> {
  const output = outputOf(args);
  const items = await listing.load();
  const printer = new ListPrinter(context, args, listing, output);
  if (!args.isOn("watch")) {
    if (items.length === 0 && (output === "table" || output === "wide")) context[listing.emptyOn ?? "stderr"].write(`${listing.empty}\n`);
    else context.stdout.write(printer.all(items));
    return 0;
  }
  return await watchListing(context, listing, printer, items);
}

/** A format that a listing knows. */
export function outputOf(args: Arguments): string {
  const output = args.text("output") ?? "table";
  if (formats.includes(output) || output.startsWith("jsonpath=")) return output;
  throw new UsageError(`--output may be ${outputHelp}, not ${JSON.stringify(output)}`);
}

/** Prints any value in a format for programs; undefined for tables and names. */
export function programText(output: string, value: unknown): string | undefined {
  if (output === "json") return `${JSON.stringify(value, null, 2)}\n`;
  if (output === "yaml") return yamlText(value);
  if (output.startsWith("jsonpath=")) return `${jsonPathText(output.slice("jsonpath=".length), value)}\n`;
  return undefined;
}

/** For commands with one result: prints it for programs, or returns false when the command should print text for people. */
export function printed({ stdout }: CliContext, args: Arguments, value: unknown): boolean {
  const text = args.has("output") ? programText(programFormat(args), value) : undefined;
  if (text !== undefined) stdout.write(text);
  return text !== undefined;
}

/** Formats of a single result; table and name are for lists. */
export function programFormat(args: Arguments): string {
  const output = args.text("output") ?? "yaml";
  if (output === "json" || output === "yaml" || output.startsWith("jsonpath=")) return output;
  throw new UsageError(`--output may be json, yaml or jsonpath={PATH} here, not ${JSON.stringify(output)}`);
}

class ListPrinter<Item> {
  readonly #context: CliContext;
  readonly #listing: Listing<Item>;
  readonly #output: string;
  readonly #table = new TableText();
  #headers: boolean;

  constructor(context: CliContext, args: Arguments, listing: Listing<Item>, output: string) {
    this.#context = context;
    this.#listing = listing;
    this.#output = output;
    this.#headers = !args.isOn("no-headers");
  }

  all(items: readonly Item[]): string {
    return programText(this.#output, items) ?? this.#lines(items);
  }

  /** The items that are new or changed. */
  changed(items: readonly Item[]): string {
    if (this.#output === "table" || this.#output === "wide" || this.#output === "name") return this.#lines(items);
    return items.map((item) => (this.#output === "yaml" ? "---\n" : "") + (programText(this.#output, item) ?? "")).join("");
  }

  #lines(items: readonly Item[]): string {
    const { nameOf, columns } = this.#listing;
    if (this.#output === "name") return items.map((item) => `${nameOf(item)}\n`).join("");
    if (items.length === 0) return "";
    const shown = columns.filter(({ wide }) => wide !== true || this.#output === "wide");
    const now = this.#context.clock.now();
    const rows: Cell[][] = items.map((item) => shown.map(({ cell }) => cell(item, now)));
    if (this.#headers) rows.unshift(shown.map(({ name }) => name));
    this.#headers = false;
    return this.#table.lay(rows);
  }
}

async function watchListing<Item>(
  { clock, signal, stdout }: CliContext,
  listing: Listing<Item>,
  printer: ListPrinter<Item>,
  first: readonly Item[],
): Promise<number> {
  const { nameOf, load, changeOf = (item: Item): unknown => item, gone = async (): Promise<undefined> => undefined } = listing;
  let known = new Map<string, { readonly item: Item; readonly state: string }>();
  for (let items = first; ; items = await load()) {
    const now = new Map(items.map((item) => [nameOf(item), { item, state: JSON.stringify(changeOf(item)) }]));
    const ended = await Promise.all([...known].filter(([name]) => !now.has(name)).map(([, { item }]) => gone(item)));
    const fresh = [...now].filter(([name, { state }]) => known.get(name)?.state !== state).map(([, { item }]) => item);
    stdout.write(printer.changed([...fresh, ...ended.filter((item) => item !== undefined)]));
    known = now;
    await sleep(clock, watchMs, signal);
  }
}
