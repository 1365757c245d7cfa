/** The cluster that tests of real pods use, and verbs for it. Each test works in a namespace of its own. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { inject, onTestFinished, vi } from "vitest";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { pushTinyImage, type TinyImage } from "./tiny-image.ts";

export async function kubectl(args: readonly string[], input = ""): Promise<string> {
  const { bin, kubeconfig } = inject("cluster");
  return runCommand([join(bin, "kubectl"), `--kubeconfig=${kubeconfig}`, ...args], { input });
}

export interface TestNamespace {
  readonly name: string;
  /** Creates any object in it. */
  create(object: object): Promise<void>;
  get(resource: string, name: string): Promise<PodAsSeen>;
  exec(pod: string, ...command: readonly string[]): Promise<string>;
  kubectl(...args: readonly string[]): Promise<string>;
  /** The pod, once it is ready and what else is asked for holds. */
  untilReady(pod: string, when?: (pod: PodAsSeen) => boolean): Promise<PodAsSeen>;
}

export interface PodAsSeen {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly clusterIP?: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly containerID?: string;
      readonly imageID: string;
      readonly restartCount: number;
      readonly state: { readonly waiting?: { readonly reason?: string } };
    }[];
  };
}

/** A new one; it goes, with all that is in it, when the test is over. */
export async function testNamespace(): Promise<TestNamespace> {
  const name = `test-${randomUUID().slice(0, 8)}`;
  const inIt = (...args: readonly string[]): Promise<string> => kubectl(["-n", name, ...args]);
  await kubectl(["create", "namespace", name]);
  onTestFinished(async () => void (await kubectl(["delete", "namespace", name, "--wait=false"])));
  const get = async (resource: string, object: string): Promise<PodAsSeen> =>
    JSON.parse(await inIt("get", resource, object, "-o", "json")) as PodAsSeen;
  return {
    name,
    create: async (object) => void (await kubectl(["-n", name, "create", "-f", "-"], JSON.stringify(object))),
    get,
    exec: (pod, ...command) => inIt("exec", pod, "--", ...command),
    kubectl: inIt,
    untilReady: (pod, when = () => true) =>
      until(async () => {
        const seen = await get("pod", pod);
        const ready = seen.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
        // Asked first: it may want to see what a pod goes through on its way.
        if (!when(seen) || ready !== true) throw new Error(`${pod} is not there yet: ${JSON.stringify(seen.status)}`);
        return seen;
      }),
  };
}

/** Looks again until it does not fail: kubelets take seconds on a busy machine. */
export async function until<T>(check: () => Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 90_000, interval: 100 });
}

export function push(image: TinyImage): Promise<string> {
  return pushTinyImage(inject("cluster").registry, image);
}

/** A pod with one container, that is gone the moment it is deleted. */
export function aPod(name: string, container: object, more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "main", ...container }], ...more },
  };
}
