/** The daemons in the containers of pods: the boot of each, the sandbox that it was armed for, and how. They can be slow, silent or gone. */
import {
  type DaemonAddress,
  type DaemonCallOptions,
  type DaemonClient,
  DaemonError,
  type DaemonFailure,
  type DaemonHealth,
  type InitOrder,
  type RetireOrder,
} from "#daemon-client/daemon-client.ts";
import { abortable } from "#lib/abortable.ts";
import { type Clock, sleep } from "#lib/clock.ts";

export interface SimulatedDaemon {
  readonly podUid: string;
  readonly bootId: string;
  /** The order that armed it. */
  armed?: InitOrder;
  /** Nothing of its sandbox runs any more. */
  isRetired?: boolean;
}

type DaemonCall = "health" | "init" | "retire";

export class SimulatedDaemons implements DaemonClient {
  /** Every call that was made: `health 10.0.0.1`, `init 10.0.0.1` or `retire 10.0.0.1`. */
  readonly calls: string[] = [];
  /** How long every answer takes. */
  delayMs = 0;
  readonly #clock: Clock;
  readonly #daemons = new Map<string, SimulatedDaemon>();
  readonly #failures = new Map<DaemonCall, DaemonFailure[]>();
  #boots = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A container of the pod has come up: a new boot, not armed. */
  boot(ip: string, podUid: string): SimulatedDaemon {
    const daemon = { podUid, bootId: `boot-${++this.#boots}` };
    this.#daemons.set(ip, daemon);
    return daemon;
  }

  down(ip: string): void {
    this.#daemons.delete(ip);
  }

  at(ip: string): SimulatedDaemon | undefined {
    return this.#daemons.get(ip);
  }

  /** The next calls fail so; the daemon does not hear of them. */
  fail(call: DaemonCall, ...failures: readonly DaemonFailure[]): void {
    this.#failures.set(call, [...(this.#failures.get(call) ?? []), ...failures]);
  }

  async health(at: DaemonAddress, options: DaemonCallOptions = {}): Promise<DaemonHealth> {
    const { podUid, bootId, armed } = await this.#call("health", at, options);
    return { podUid, bootId, ...(armed === undefined ? {} : { sandboxId: armed.sandboxId }) };
  }

  async init(at: DaemonAddress, order: InitOrder, options: DaemonCallOptions = {}): Promise<void> {
    const daemon = await this.#call("init", at, options);
    if (order.podUid !== daemon.podUid || order.bootId !== daemon.bootId) throw new DaemonError("other-boot", "signed for another boot");
    const { armed, isRetired = false } = daemon;
    if (isRetired) throw new DaemonError("taken", "its sandbox has ended");
    if (armed !== undefined && armed.sandboxId !== order.sandboxId) throw new DaemonError("taken", `armed for ${armed.sandboxId}`);
    daemon.armed ??= order;
  }

  async retire(at: DaemonAddress, order: RetireOrder, options: DaemonCallOptions = {}): Promise<void> {
    const daemon = await this.#call("retire", at, options);
    if (order.podUid !== daemon.podUid) throw new DaemonError("other-boot", "signed for another pod");
    if (daemon.armed !== undefined && daemon.armed.sandboxId !== order.sandboxId) throw new DaemonError("taken", "armed for another");
    daemon.isRetired = true;
  }

  async #call(call: DaemonCall, { ip }: DaemonAddress, { signal }: DaemonCallOptions): Promise<SimulatedDaemon> {
    this.calls.push(`${call} ${ip}`);
    if (this.delayMs > 0) await abortable(sleep(this.#clock, this.delayMs), signal);
    const failure = this.#failures.get(call)?.shift();
    if (failure !== undefined) throw new DaemonError(failure, `told to fail: ${failure}`);
    const daemon = this.#daemons.get(ip);
    if (daemon === undefined) throw new DaemonError("unreachable", `no daemon answers at ${ip}`);
    return daemon;
  }
}
