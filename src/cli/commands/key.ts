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
    "An API key identifies its caller. An admin key may do everything; a tenant key belongs to a team, or to one user of a team, and sees only " +
    "its own objects. A key can create others for the same team and user. It is shown only when it is created: the server stores a hash. " +
    "Revoking a key also revokes the keys created with it, unless --made keep is given; for an admin key with such keys, --made is required. " +
    "Commands use AGENTBOX_API_KEY, or the key that the first start stored in keys/admin.key in the data folder.",
  examples: [
    { does: "Create a key for a team", line: "agentbox key create --team red --name 'CI of red'" },
    { does: "Create one that expires", line: "agentbox key create --team red --user ann --expires-in 24h" },
    { does: "Revoke a key, and keep the keys created with it", line: "agentbox key revoke --made keep 0123456789abcdef" },
    { does: "List keys", line: "agentbox key ls" },
  ],
  flags: {
    role: { value: "ROLE", choices: ["admin", "tenant"], help: "Role of the key (default: tenant)" },
    team: { value: "TEAM", help: "Team of the key (default: the caller's team)" },
    user: { value: "USER", help: "Limit the key to this user of the team" },
    name: { value: "TEXT", help: "Name that says what the key is for" },
    "expires-in": { value: "DURATION", help: "Expire after this time, such as 720h (default: never)" },
    made: { value: "FATE", choices: ["revoke", "keep"], help: "What happens to the keys created with it (default: revoke)" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("key", actions),
};
