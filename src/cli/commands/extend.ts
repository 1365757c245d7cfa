import type { Sandbox, TimeoutWish } from "#client/sandbox-types.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { humanDuration } from "../print/human-duration.ts";
import { oneId } from "../sandbox/one-id.ts";
import { spanOf } from "../sandbox/spans.ts";

export const extend: Command = {
  usage: ["extend ID --timeout DURATION|none [--only-later]", "extend ID --idle-timeout DURATION"],
  about: "Changes when a sandbox ends by itself: at a time from now, or after a time without use. Values that are not given do not change.",
  examples: [
    { does: "End in half an hour", line: "agentbox extend ID --timeout 30m" },
    { does: "End in half an hour, but not earlier than now planned", line: "agentbox extend ID --timeout 30m --only-later" },
    { does: "Run until it is ended explicitly", line: "agentbox extend ID --timeout none --idle-timeout 0" },
  ],
  flags: {
    timeout: { value: "DURATION", help: "End this long from now; none: no end time" },
    "idle-timeout": { value: "DURATION", help: "End after this time without use; 0: never" },
    "only-later": { help: "Keep the current end time if it is later" },
  },
  run: async (context, args) => {
    const id = oneId("extend", args.words);
    const wish = wishOf(args);
    const sandbox = await (await apiClient(context)).sandboxes.setTimeouts(id, wish, context.signal);
    context.stdout.write(`sandbox ${id} ${endText(sandbox, context.clock.now())}\n`);
    return 0;
  },
};

function wishOf(args: Arguments): TimeoutWish {
  const timeout = args.text("timeout") === "none" ? null : spanOf(args, "timeout");
  const idleTimeout = spanOf(args, "idle-timeout");
  if (timeout === undefined && idleTimeout === undefined) throw new UsageError("extend needs --timeout or --idle-timeout");
  return withoutUndefined({ lifetime: timeout, idleTimeout, onlyLater: args.isOn("only-later") ? true : undefined });
}

function endText({ endTime, idleTimeout }: Sandbox, now: number): string {
  const end = endTime === undefined ? "has no end time" : `ends in ${humanDuration(Date.parse(endTime) - now)}, at ${endTime}`;
  return idleTimeout === undefined ? end : `${end}, and after ${idleTimeout} without use`;
}
