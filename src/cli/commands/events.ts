import { sleep } from "#lib/clock.ts";
import { parseDuration } from "#model/duration.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { age } from "../print/human-duration.ts";
import { type ListColumn, listingFlags, outputOf, showListing } from "../print/listing.ts";
import { eventKey, type Happening, recentEvents } from "../sandbox/recent-events.ts";
import { spanOf } from "../sandbox/spans.ts";

const { watch: _, ...flags } = listingFlags;

export const events: Command = {
  usage: ["events [-f] [--since DURATION] [--warnings] [-o FORMAT]"],
  about: "Shows events, oldest first: sandboxes that were created or ended, and events of Envs and pools.",
  examples: [
    { does: "Events of the last hour", line: "agentbox events" },
    { does: "… and new ones, until Ctrl-C", line: "agentbox events -f" },
    { does: "Warnings of the last day", line: "agentbox events --warnings --since 24h" },
  ],
  flags: {
    follow: { short: "f", help: "Keep showing new events until Ctrl-C" },
    since: { value: "DURATION", help: "Only events of this last time span (default: 1h)" },
    warnings: { help: "Only warnings" },
    ...flags,
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`events takes only flags: unexpected ${args.words.join(" ")}`);
    outputOf(args);
    const client = await apiClient(context);
    const from = context.clock.now() - parseDuration(spanOf(args, "since") ?? "1h");
    const listing = {
      nameOf: eventKey,
      columns,
      empty: "Nothing happened",
      load: () =>
        recentEvents(context, client, from).then((all) => (args.isOn("warnings") ? all.filter(({ type }) => type === "Warning") : all)),
    };
    if (!args.isOn("follow")) return await showListing(context, args, listing);
    return await follow(context, args, listing.load);
  },
};

/** Each is shown once. */
async function follow(context: CliContext, args: Arguments, load: () => Promise<readonly Happening[]>): Promise<number> {
  const seen = new Set<string>();
  const printed = { nameOf: eventKey, columns, empty: "No events so far" };
  for (let isFirst = true; ; isFirst = false) {
    const fresh = (await load()).filter((event) => !seen.has(eventKey(event)));
    for (const event of fresh) seen.add(eventKey(event));
    if (fresh.length > 0) await showListing(context, isFirst ? args : withoutHeaders(args), { ...printed, load: async () => fresh });
    await sleep(context.clock, 2000, context.signal);
  }
}

function withoutHeaders(args: Arguments): Arguments {
  return Object.assign(Object.create(args) as Arguments, {
    isOn: (flag: string, byDefault?: boolean) => flag === "no-headers" || args.isOn(flag, byDefault),
    text: (flag: string) => args.text(flag),
  });
}

const columns: readonly ListColumn<Happening>[] = [
  { name: "AGE", cell: ({ lastTime }, now) => age(lastTime, now) },
  { name: "TYPE", cell: ({ type }) => type },
  { name: "REASON", cell: ({ reason }) => reason },
  { name: "OBJECT", cell: ({ kind, name }) => `${kind.toLowerCase()}/${name}` },
  { name: "MESSAGE", cell: ({ message, count }) => (count > 1 ? `${message} (${count} times)` : message) },
  { name: "TIME", wide: true, cell: ({ lastTime }) => lastTime },
];
