/** What `agentbox install` and `agentbox uninstall` need of this machine: AgentBox as a service of systemd. */
export interface MachineService {
  /** What would be done; changes nothing. */
  plan(change: ServiceWish): Promise<readonly ServiceStep[]>;
  /** Does it. Rejects with the step that failed; doing it again goes on from there. */
  carryOut(steps: readonly ServiceStep[], onDone: (step: ServiceStep) => void): Promise<void>;
  /** Whether systemd runs this machine, so that services can be started. */
  readonly isRunning: boolean;
  /** Whether this user may change it. */
  readonly mayChange: boolean;
}

export type ServiceWish =
  | { readonly do: "install"; readonly start: boolean }
  /** `data`: the data folder and the settings go too. */
  | { readonly do: "uninstall"; readonly data: boolean };

export type ServiceStep =
  | { readonly do: "make folder"; readonly path: string; readonly mode: number }
  | { readonly do: "write"; readonly path: string; readonly mode: number; readonly content: string }
  | { readonly do: "link"; readonly path: string; readonly to: string }
  | { readonly do: "remove"; readonly path: string }
  | { readonly do: "run"; readonly command: readonly string[] }
  /** `agentbox down` on the folder. */
  | { readonly do: "take down"; readonly folder: string }
  /** It is so already. */
  | { readonly do: "keep"; readonly path: string };
