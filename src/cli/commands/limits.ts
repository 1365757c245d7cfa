/** `agentbox limits …`: one file for each of its words in limits/. */
import type { Command } from "../command.ts";
import { listLimits } from "../limits/list-limits.ts";
import { setLimits } from "../limits/set-limits.ts";
import { listingFlags } from "../print/listing.ts";
import { runWordAction } from "../word-action.ts";

const actions = { ls: listLimits, set: setLimits };

export const limits: Command = {
  usage: ["limits ls [--team TEAM [--user USER]]", "limits set (--server | --every-team | --team TEAM [--user USER]) NAME=NUMBER …"],
  about:
    "Limits of teams, their users and the whole server: sandboxes, cpu, memory, idle pods, pools and more, with the current usage. " +
    "A tenant key sees the limits of its team and user, an admin key sees and sets all. NAME=default removes a limit that was set. " +
    "A lower limit does not remove what exists already.",
  examples: [
    { does: "Show limits and usage", line: "agentbox limits ls" },
    { does: "Allow team red larger pools", line: "agentbox limits set --team red pods=2000 podsPerPool=1000" },
    { does: "Give every team fewer sandboxes", line: "agentbox limits set --every-team sandboxes=100" },
    { does: "Give user ann of team red four sandboxes", line: "agentbox limits set --team red --user ann sandboxes=4" },
    { does: "… and every other user of the team two", line: "agentbox limits set --team red --user '*' sandboxes=2" },
    { does: "Return to the default", line: "agentbox limits set --team red pods=default" },
  ],
  flags: {
    team: { value: "TEAM", help: "The limits of this team" },
    user: { value: "USER", help: "With --team: the limits of this user; '*' for every user without limits of its own" },
    "every-team": { help: "The limits of all teams without limits of their own" },
    server: { help: "The limits of the whole server" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("limits", actions),
};
