import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { printed } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const showVolume: WordAction = {
  flags: ["output"],
  run: async (context, words, args) => {
    const [name, ...others] = words;
    if (name === undefined || others.length > 0) throw new UsageError("volume get takes one name or id, such as agentbox volume get data");
    const { volumes } = await apiClient(context);
    const volume = await volumes.get(name);
    if (printed(context, args, volume)) return 0;
    const { id, sizeMiB, usedMiB, phase, message, mountedBy } = volume;
    const rows = [
      ["name", volume.name],
      ["id", id],
      ["phase", message === undefined ? phase : `${phase}: ${message}`],
      ["size", `${sizeMiB} MiB`],
      ["used", usedMiB === undefined ? "not known now" : `${usedMiB} MiB`],
      ["mounted by", mountedBy.length === 0 ? "no sandbox" : mountedBy.join(", ")],
    ] as const;
    context.stdout.write(rows.map(([what, value]) => `${`${what}:`.padEnd(12)}${value}\n`).join(""));
    return 0;
  },
};
