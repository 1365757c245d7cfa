/** One pod on a scripted server, an informer that follows it, and the registry of waits for it. */
import { Informer } from "#kube/informer/informer.ts";
import { WaitRegistry } from "#kube/wait/wait-registry.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { recordedLog } from "./recorded-log.ts";
import { aSandboxPod, type SandboxPodShape } from "./sandbox-pods.ts";
import { ScriptedServer } from "./scripted-server.ts";
import { SteppedClock, settle } from "./stepped-clock.ts";

export const pauseAskedAt = "2026-01-01T10:00:00Z";

export class WaitBench implements AsyncDisposable {
  readonly server = new ScriptedServer();
  readonly clock = new SteppedClock();
  readonly informer: Informer<Pod>;
  readonly waits: WaitRegistry<Pod>;

  private constructor(recheckMs: number) {
    const { server, clock } = this;
    this.informer = new Informer({ client: server, clock, log: recordedLog().log, random: () => 0.5 }, { type: Pods });
    const reader = {
      cached: this.informer.get.bind(this.informer),
      live: (key: { readonly name: string }, signal: AbortSignal) => server.get(Pods, key, { signal }),
    };
    this.waits = new WaitRegistry({ type: Pods, reader, clock, recheckMs });
    this.informer.onChange(this.waits.onChange);
  }

  static async start(recheckMs = 10_000): Promise<WaitBench> {
    const bench = new WaitBench(recheckMs);
    bench.informer.start();
    await bench.informer.whenSynced();
    await settle();
    return bench;
  }

  /** Writes the pod `p` as another client would. It is a running sandbox unless told otherwise. */
  put(shape: SandboxPodShape = {}, name = "p"): Pod {
    return this.server.put(Pods, aSandboxPod(name, { phase: "running", id: "i1", ...shape }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.informer.stop();
  }
}
