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
    "How much teams, their users and the whole server may have: sandboxes, cpu, memory, idle pods, pools and more, with what is used of it. " +
    "A tenant key sees the limits of its team and user, an admin key sees and sets all. NAME=default takes back what was set. " +
    "What is there already is not taken away when a limit is lowered.",
  examples: [
    { does: "What there is, and what is used", line: "agentbox limits ls" },
    { does: "Let team red have larger pools", line: "agentbox limits set --team red pods=2000 podsPerPool=1000" },
    { does: "Let every team have fewer sandboxes", line: "agentbox limits set --every-team sandboxes=100" },
    { does: "Let user ann of team red have four sandboxes", line: "agentbox limits set --team red --user ann sandboxes=4" },
    { does: "… and every other user of it two", line: "agentbox limits set --team red --user '*' sandboxes=2" },
    { does: "Back to the usual", line: "agentbox limits set --team red pods=default" },
  ],
  flags: {
    team: { value: "TEAM", help: "The limits of this team" },
    user: { value: "USER", help: "With --team: the limits of this user of it; '*' for every user that has none of its own" },
    "every-team": { help: "The limits of all teams that have none of their own" },
    server: { help: "The limits of the whole server" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("limits", actions),
};
