/** `agentbox key …`: one file for each of its words in key/. */
import type { Command } from "../command.ts";
import { createKey } from "../key/create-key.ts";
import { listKeys } from "../key/list-keys.ts";
import { revokeKeys } from "../key/revoke-keys.ts";
import { listingFlags } from "../print/listing.ts";
import { runWordAction } from "../word-action.ts";

const actions = { create: createKey, ls: listKeys, revoke: revokeKeys };

export const key: Command = {
  usage: [
    "key create [--role ROLE] [--team TEAM] [--user USER] [--name TEXT] [--expires-in DURATION]",
    "key ls",
    "key revoke [--made FATE] ID …",
  ],
  about:
    "API keys say who asks. An admin key may do everything; a tenant key is of a team, or of one user in it, and sees only what is " +
    "theirs. A key can make others for its own team and user, and is shown only when it is made: the server keeps a hash. " +
    "Revoking a key also revokes the keys that it made, unless --made keep says otherwise; an admin key that made some needs the choice. " +
    "Commands use AGENTBOX_API_KEY, or the key that the first start put into keys/admin.key in the data folder.",
  examples: [
    { does: "A key for a team", line: "agentbox key create --team red --name 'CI of red'" },
    { does: "One that ends by itself", line: "agentbox key create --team red --user ann --expires-in 24h" },
    { does: "End a key, and keep those that it made", line: "agentbox key revoke --made keep 0123456789abcdef" },
    { does: "Which ones there are", line: "agentbox key ls" },
  ],
  flags: {
    role: { value: "ROLE", choices: ["admin", "tenant"], help: "What the key may do (default: tenant)" },
    team: { value: "TEAM", help: "Whose it is (default: the team of the key that makes it)" },
    user: { value: "USER", help: "Only this user of the team" },
    name: { value: "TEXT", help: "What it is for" },
    "expires-in": { value: "DURATION", help: "It ends after so long, such as 720h (default: never)" },
    made: { value: "FATE", choices: ["revoke", "keep"], help: "What becomes of the keys that it made (default: revoke)" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("key", actions),
};
