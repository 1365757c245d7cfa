/** Which steps make a machine run AgentBox as a service, and which take that back. Pure: what is there goes in. */
import { CliError } from "#cli/failure.ts";
import type { ServiceStep } from "#cli/machine-service.ts";
import { dataFolderOf, ownMark, settingsText, unitText } from "./unit-text.ts";

export interface ServicePlaces {
  readonly unit: string;
  /** What makes it start with the machine. */
  readonly enabling: string;
  readonly settingsFolder: string;
  readonly settings: string;
  /** `agentbox` on the path of all users. */
  readonly command: string;
}

export const servicePlaces: ServicePlaces = {
  unit: "/etc/systemd/system/agentbox.service",
  enabling: "/etc/systemd/system/multi-user.target.wants/agentbox.service",
  settingsFolder: "/etc/agentbox",
  settings: "/etc/agentbox/agentbox.env",
  command: "/usr/local/bin/agentbox",
};

/** What is at those places; undefined: nothing. */
export interface Found {
  readonly unit: string | undefined;
  /** Where links lead; "" for what is no link. */
  readonly enabling: string | undefined;
  readonly command: string | undefined;
  readonly hasSettings: boolean;
  readonly hasSettingsFolder: boolean;
  readonly hasDataFolder: boolean;
  readonly isSystemdRunning: boolean;
}

export interface InstallFacts {
  readonly program: string;
  readonly dataFolder: string;
  readonly cacheFolder: string;
  readonly start: boolean;
}

export function planInstall({ program, dataFolder, cacheFolder, start }: InstallFacts, found: Found): readonly ServiceStep[] {
  refuseStrangers(found, program);
  if (/["\n\r]/.test(dataFolder + program))
    throw new CliError(`a path with quotes or line breaks cannot be in a unit: ${dataFolder}, ${program}`);
  const { unit, enabling, settingsFolder, settings, command } = servicePlaces;
  const content = unitText({ program, dataFolder, cacheFolder, settingsFile: settings });
  const isNew = found.unit !== content;
  return [
    found.hasDataFolder ? keep(dataFolder) : { do: "make folder", path: dataFolder, mode: 0o700 },
    found.hasSettingsFolder ? keep(settingsFolder) : { do: "make folder", path: settingsFolder, mode: 0o755 },
    // It may hold a password of a database.
    found.hasSettings ? keep(settings) : { do: "write", path: settings, mode: 0o600, content: settingsText() },
    isNew ? { do: "write", path: unit, mode: 0o644, content } : keep(unit),
    found.enabling === unit ? keep(enabling) : { do: "link", path: enabling, to: unit },
    found.command === program ? keep(command) : { do: "link", path: command, to: program },
    ...(found.isSystemdRunning && isNew ? [run("systemctl", "daemon-reload")] : []),
    // One that runs goes on: a restart is for its user to choose.
    ...(found.isSystemdRunning && start ? [run("systemctl", "start", "agentbox.service")] : []),
  ];
}

export interface UninstallFacts {
  readonly program: string;
  /** With the data folder and the settings. */
  readonly data: boolean;
}

export function planUninstall({ program, data }: UninstallFacts, found: Found): readonly ServiceStep[] {
  const { unit, enabling, settingsFolder, command } = servicePlaces;
  refuseStrangers({ ...found, command: undefined }, program);
  const isInstalled = found.unit !== undefined;
  const dataFolder = isInstalled && found.hasDataFolder ? dataFolderOf(found.unit) : undefined;
  const stopping = found.isSystemdRunning && isInstalled;
  return [
    ...(stopping ? [run("systemctl", "stop", "agentbox.service")] : []),
    // Without its server nothing would look after them.
    ...(dataFolder === undefined ? [] : [{ do: "take down", folder: dataFolder } as const]),
    ...removed(found.enabling !== undefined, enabling),
    // Another program of this name is not ours.
    ...removed(found.command === program, command),
    ...removed(data && found.hasSettingsFolder, settingsFolder),
    ...removed(data && dataFolder !== undefined, dataFolder ?? ""),
    // Last: it says where the data is, and an uninstall that was cut short needs to know.
    ...removed(isInstalled, unit),
    ...(stopping ? [run("systemctl", "daemon-reload")] : []),
  ];
}

function removed(isThere: boolean, path: string): readonly ServiceStep[] {
  return isThere ? [{ do: "remove", path }] : [];
}

function refuseStrangers({ unit, enabling, command }: Pick<Found, "unit" | "enabling" | "command">, program: string): void {
  if (unit !== undefined && !unit.startsWith(ownMark)) {
    throw new CliError(`${servicePlaces.unit} is there and was not written by agentbox install: move it away first`);
  }
  if (enabling !== undefined && enabling !== servicePlaces.unit) {
    throw new CliError(`${servicePlaces.enabling} leads elsewhere (${enabling === "" ? "it is no link" : enabling}): move it away first`);
  }
  // A link of another version of this program is replaced; anything else stays.
  if (command !== undefined && command !== program && !command.endsWith("/bin/agentbox")) {
    throw new CliError(`${servicePlaces.command} is another program: move it away first`);
  }
}

function keep(path: string): ServiceStep {
  return { do: "keep", path };
}

function run(...command: readonly string[]): ServiceStep {
  return { do: "run", command };
}
