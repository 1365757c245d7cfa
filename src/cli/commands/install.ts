import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import type { MachineService, ServiceStep, ServiceWish } from "../machine-service.ts";

export const install: Command = {
  usage: ["install [--dry-run] [--no-start]"],
  about:
    "Makes this machine run AgentBox as a service of systemd, from its start on: a unit, a folder for the data (AGENTBOX_HOME, or /var/lib/agentbox), " +
    "a file for settings (/etc/agentbox/agentbox.env) and agentbox in /usr/local/bin. The service is root, because containers need it; the unit says " +
    "what it cannot do. Doing it again changes only what is different. The program stays where it is: installing from another version's folder upgrades. `make install` does it after the packages that sandboxes need.",
  examples: [
    { does: "See what it would write", line: "agentbox install --dry-run" },
    { does: "Install and start", line: "sudo bin/agentbox install" },
    { does: "With the data elsewhere", line: "sudo AGENTBOX_HOME=/srv/agentbox bin/agentbox install" },
  ],
  flags: {
    "dry-run": { help: "Change nothing: print what would be done" },
    "no-start": { help: "Do not start it now, only with the machine" },
  },
  run: async (context, args) => {
    const service = await context.service();
    await change("install", context, args, { service, wish: { do: "install", start: !args.has("no-start") } });
    if (args.isOn("dry-run")) return 0;
    if (!service.isRunning) context.stdout.write("systemd does not run on this machine: nothing was started\n");
    context.stdout.write(
      "Its log: logs/agentbox.log in the data folder. Its first key: keys/admin.key there. Its state: systemctl status agentbox\n",
    );
    return 0;
  },
};

interface Change {
  readonly service: MachineService;
  readonly wish: ServiceWish;
}

/** What `install` and `uninstall` have in common. */
export async function change(name: string, { stdout }: CliContext, args: Arguments, { service, wish }: Change): Promise<void> {
  if (args.words.length > 0) throw new UsageError(`${name} takes only flags: unexpected ${args.words.join(" ")}`);
  const steps = await service.plan(wish);
  if (args.isOn("dry-run")) {
    for (const step of steps) stdout.write(`${stepText(step, "would ")}\n${step.do === "write" ? `${indented(step.content)}\n` : ""}`);
    if (steps.length === 0) stdout.write("nothing to do\n");
    return;
  }
  if (!service.mayChange) throw new CliError(`${name} needs root: sudo agentbox ${name}`);
  if (steps.length === 0) stdout.write("nothing to do: AgentBox is not installed here\n");
  await service.carryOut(steps, (step) => stdout.write(`${stepText(step, "")}\n`));
}

function stepText(step: ServiceStep, would: string): string {
  switch (step.do) {
    case "make folder":
    case "write":
      return `${would}${step.do} ${step.path} (${step.mode.toString(8)})`;
    case "link":
      return `${would}link ${step.path} to ${step.to}`;
    case "remove":
      return `${would}remove ${step.path}`;
    case "run":
      return `${would}run ${step.command.join(" ")}`;
    case "take down":
      return `${would}remove the sandboxes of ${step.folder} from this machine`;
    case "keep":
      return `${would === "" ? "kept" : "would keep"} ${step.path}`;
  }
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^(?=.)/gm, "    ");
}
