import type { Command } from "../command.ts";
import { change } from "./install.ts";

export const uninstall: Command = {
  usage: ["uninstall [--data] [--dry-run]"],
  about:
    "Takes back what agentbox install did: ends the service and its sandboxes, and removes the unit and the link. The data folder and the settings stay, " +
    "unless --data is given; make a backup first.",
  examples: [
    { does: "See what it would remove", line: "agentbox uninstall --dry-run" },
    { does: "Remove the service, keep the data", line: "sudo agentbox uninstall" },
    { does: "Remove everything", line: "sudo agentbox uninstall --data" },
  ],
  flags: {
    data: { help: "Remove the data folder and the settings too" },
    "dry-run": { help: "Change nothing: print what would be done" },
  },
  run: async (context, args) => {
    const service = await context.service();
    await change("uninstall", context, args, { service, wish: { do: "uninstall", data: args.isOn("data") } });
    return 0;
  },
};
