/** One pod on this node: its slot, its limits, its disk and its files. Its containers are node-container.ts. */
import { rmSync } from "node:fs";
import type { PodPlan, PodState, PodUsage, PodVolumes } from "#engines/embedded/node/pod-runtime.ts";
import { detachBelow } from "#engines/embedded/node/linux/mount-table.ts";
import { type EgressElements, egressElements, noEgress } from "#engines/embedded/node/network/egress.ts";
import { writePodFiles } from "#engines/embedded/node/rootfs/pod-files.ts";
import { renewSlot, type Slot } from "#engines/embedded/node/slots/slot.ts";
import { mountVolumes } from "#engines/embedded/node/volumes/mounted-volumes.ts";
import type { NodeContainer } from "./node-container.ts";
import type { NodeContext } from "./node-context.ts";
import { PodFolder, type PodRecord } from "./records.ts";

export class NodePod {
  readonly folder: PodFolder;
  readonly slot: Slot;
  readonly containers = new Map<string, NodeContainer>();
  readonly #context: NodeContext;
  #record: PodRecord;
  /** What the firewall holds for it now. */
  #egress: EgressElements;
  /** False for a pod of an earlier life: it may have died before everything was in place. */
  #complete = false;
  /** It stands still for a copy, and is not to count as frozen. */
  #isHeld = false;
  /** Whether a container may have been in the slot's namespaces. */
  #isUsed: boolean;

  constructor(options: { context: NodeContext; record: PodRecord; slot: Slot; egress: EgressElements; isUsed: boolean }) {
    this.#context = options.context;
    this.#record = options.record;
    this.slot = options.slot;
    this.#egress = options.egress;
    this.#isUsed = options.isUsed;
    this.folder = new PodFolder(options.context.paths.pods, this.uid);
  }

  get uid(): string {
    return this.#record.plan.uid;
  }

  get plan(): PodPlan {
    return this.#record.plan;
  }

  get diskFolder(): string {
    return this.#context.disks.of(this.#record.disk).folderOf(this.uid);
  }

  get state(): PodState {
    const { uid, namespace, name, egress } = this.plan;
    return {
      uid,
      namespace,
      name,
      ip: this.slot.ip,
      slot: this.slot.index,
      frozen: !this.#isHeld && this.#context.cgroups.isFrozen(uid),
      egress,
      volumes: this.#record.volumes,
      containers: [...this.containers.values()].map(({ state }) => state),
    };
  }

  /** Brings the pod to what the plan says; may be repeated. Only where it may connect to can change while it lives. */
  async ensure(plan: PodPlan): Promise<void> {
    await this.complete();
    const wanted = egressElements(this.slot.ip, plan.egress);
    await this.#context.network.changeEgress(this.#egress, wanted);
    this.#egress = wanted;
    this.#record = { ...this.#record, plan: { ...this.plan, egress: plan.egress } };
    this.folder.writePod(this.#record);
  }

  /** Into the container that runs; one that is made later gets them when it is made. */
  async mountVolumes(volumes: PodVolumes): Promise<void> {
    await this.complete();
    for (const container of this.containers.values()) await this.#mountInto(container, volumes);
    this.#record = { ...this.#record, volumes };
    this.folder.writePod(this.#record);
  }

  /** Before the first program of the container runs. */
  async mountIn(container: NodeContainer): Promise<void> {
    const { volumes } = this.#record;
    if (volumes !== undefined) await this.#mountInto(container, volumes);
  }

  async #mountInto(container: NodeContainer, volumes: PodVolumes): Promise<void> {
    const { process } = container;
    if (process === undefined || container.state.name !== volumes.container) return;
    await mountVolumes(this.#context, { process, slot: this.slot, opaque: container.runtime.traits.opaque }, volumes);
  }

  /** Puts in place what containers need: an earlier life may have died in the middle of that. */
  async complete(): Promise<void> {
    if (this.#complete) return;
    const { cgroups, disks } = this.#context;
    const { limits } = this.plan;
    this.folder.writePod(this.#record);
    cgroups.ensurePod(this.uid, limits);
    await disks.of(this.#record.disk).ensure(this.uid, limits.ephemeralStorageBytes);
    this.writeFiles();
    this.#complete = true;
  }

  /**
   * Sees to it that the next container is the first in its namespaces, unless others of the pod are there to share them:
   * connections that a network namespace remembers, and what it has measured of peers, are of the sandbox that was there.
   */
  async freshNamespaces(): Promise<void> {
    const isShared = [...this.containers.values()].some(({ state }) => state.state !== "exited");
    if (this.#isUsed && !isShared) await renewSlot(this.#context.paths.slots, this.slot.index, this.#context.network);
    this.#isUsed = true;
  }

  /** Does the work while no process of the pod runs, and says how long that was. A pod that is frozen already stays so. */
  async standStill(work: () => Promise<void>): Promise<number> {
    const { cgroups, clock } = this.#context;
    if (cgroups.isFrozen(this.uid)) {
      await work();
      return 0;
    }
    const since = clock.now();
    this.#isHeld = true;
    try {
      await cgroups.freeze(this.uid);
      await work();
    } finally {
      // Also when it could not be thawed: then it counts as frozen, and is thawed again.
      await cgroups.thaw(this.uid).finally(() => (this.#isHeld = false));
    }
    return clock.now() - since;
  }

  /** Also called before each container: the one before it may have written into these files, as another user. */
  writeFiles(): void {
    const { ip, firstUid } = this.slot;
    writePodFiles(this.folder.etc, { hostname: this.plan.hostname, ip, nameservers: this.#context.network.nameservers, firstUid });
  }

  async usage(): Promise<PodUsage> {
    const diskBytes = await this.#context.disks.of(this.#record.disk).usedBytes(this.uid);
    const { cgroups } = this.#context;
    const oomKills = [...this.containers.keys()].reduce((sum, id) => sum + cgroups.oomKills(this.uid, id), 0);
    return { ...cgroups.counters(this.uid), diskBytes, oomKills };
  }

  async remove(): Promise<void> {
    const { cgroups, network, disks, slots } = this.#context;
    this.folder.markRemoving();
    const containers = [...this.containers.values()];
    await Promise.all(containers.map((container) => container.stop()));
    // A pod that has ended is removed from the machine, and its object is still asked for logs.
    await Promise.all(containers.map((container) => container.keepLog()));
    await cgroups.removePod(this.uid);
    await network.changeEgress(this.#egress, noEgress);
    detachBelow(this.folder.path);
    await disks.of(this.#record.disk).remove(this.uid);
    rmSync(this.folder.path, { recursive: true, force: true });
    slots.giveBack(this.slot);
  }
}
