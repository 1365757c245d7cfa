/** The unit of systemd that runs AgentBox on one machine, and the file with its settings. Pure. */

export interface UnitFacts {
  /** Where this program is. */
  readonly program: string;
  readonly dataFolder: string;
  readonly settingsFile: string;
  /** Where `make` has put runc: a service has no home folder to find it in. */
  readonly cacheFolder: string;
}

/** How files begin that `agentbox install` wrote, and may write over. */
export const ownMark = "# Written by agentbox install.";

/** What the service cannot do though it runs as root, nor any sandbox that it starts. Containers need none of these. */
const droppedCapabilities = [
  "CAP_AUDIT_CONTROL",
  "CAP_AUDIT_READ",
  "CAP_BLOCK_SUSPEND",
  "CAP_LINUX_IMMUTABLE",
  "CAP_MAC_ADMIN",
  "CAP_MAC_OVERRIDE",
  "CAP_SYS_BOOT",
  "CAP_SYS_MODULE",
  "CAP_SYS_PACCT",
  "CAP_SYS_RAWIO",
  "CAP_SYS_TIME",
  "CAP_SYS_TTY_CONFIG",
  "CAP_SYSLOG",
  "CAP_WAKE_ALARM",
];

export function unitText({ program, dataFolder, settingsFile, cacheFolder }: UnitFacts): string {
  return `${ownMark} Changes are lost at the next install: use a drop-in (systemctl edit agentbox).
[Unit]
Description=AgentBox: isolated sandboxes out of warm pools
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
Environment=${quoted(`AGENTBOX_HOME=${dataFolder}`)}
Environment=${quoted(`AGENTBOX_CACHE=${cacheFolder}`)}
EnvironmentFile=-${escaped(settingsFile)}
ExecStart=${quoted(program)} up
Restart=on-failure
RestartSec=2
# A stop lets answers under way end, which is given a minute.
TimeoutStopSec=90
# Sandboxes go on while the server restarts, and the next one finds them: only the server itself is ended. To end them too: agentbox down.
KillMode=process
SendSIGKILL=yes
OOMPolicy=continue
TasksMax=infinity
LimitNOFILE=1048576
# The server writes and rotates logs/agentbox.log in the data folder by itself. Its start text holds the first key, which is no matter for a journal;
# what keeps it from starting goes there.
StandardOutput=null
StandardError=journal
# It is root, because containers, mounts and networks need it. What it cannot do all the same:
CapabilityBoundingSet=~${droppedCapabilities.join(" ")}
RestrictRealtime=yes
# Not set, because sandboxes inherit it or the server shares mounts with its next start: NoNewPrivileges, LockPersonality,
# SystemCallArchitectures, RestrictSUIDSGID, and everything that gives the service a mount namespace of its own (Protect*, Private*, ReadWritePaths).

[Install]
WantedBy=multi-user.target
`;
}

/** Written once: from then on it is its user's. */
export function settingsText(): string {
  return `# Settings of the AgentBox service (agentbox help up says what each means). Then: systemctl restart agentbox
#AGENTBOX_LISTEN=127.0.0.1
#AGENTBOX_PORT=8099
#AGENTBOX_DOMAIN=agentbox.localhost
#AGENTBOX_TLS_CERT=/etc/agentbox/tls.crt
#AGENTBOX_TLS_KEY=/etc/agentbox/tls.key
#DATABASE_URL=postgres://USER:PASSWORD@HOST:5432/DATABASE
`;
}

/** The data folder of a unit that was written here; undefined for others. */
export function dataFolderOf(unit: string): string | undefined {
  if (!unit.startsWith(ownMark)) return undefined;
  const value = /^Environment="AGENTBOX_HOME=(.*)"$/m.exec(unit)?.[1];
  return value?.replaceAll("%%", "%").replaceAll(/\\(.)/g, "$1");
}

/** In systemd's quotes. A dollar is only special in commands, and doubled there. */
function quoted(text: string): string {
  return `"${escaped(text).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

function escaped(text: string): string {
  return text.replaceAll("%", "%%");
}
