/** Pods that stand for all parties of the chart's NetworkPolicies, and a query which of them can connect to which. */
import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import { labelKeys } from "#model/keys.ts";
import { apiServiceAddress, dnsServiceAddress } from "../../tools/cluster/layout.ts";
import { type ChartObject, neededValues, objectsIn, renderChart } from "../kubernetes/chart.ts";
import { aPod, kubectl, push, until } from "./cluster-under-test.ts";
import { openOutside, outside } from "./outside.ts";

/** `open`, `refused`, or another result. A server listens on every port, so refusals come from policies. */
export type Outcome = string;
/** By source, then by `target:port`. */
export type Reach = Readonly<Record<string, Readonly<Record<string, Outcome>>>>;

/** All pods listen on all of these: the chart's ports, the daemon's, and one that no component uses. */
const ports = [8080, 8081, 8443, 9090, 49_983, 7000];

/**
 * The node, to which no policy applies, can ask every pod what it can reach: `/cgi-bin/reach?10.0.0.1:80,10.0.0.2:80`. The answer has a line for each
 * target, all tried at once. Commands through the API server would need one process per question.
 */
const reachScript = `#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
IFS=,
for target in $QUERY_STRING; do
  (said=$(nc -w 10 "\${target%:*}" "\${target#*:}" </dev/null 2>&1 >/dev/null) && said=open; echo "$target $said") &
done
wait
`;

interface Standing {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports?: readonly object[];
}

export class PolicyScene {
  readonly #release: string;
  readonly #sandboxes: string;
  readonly #outside: AsyncDisposable;
  readonly #places = new Map<string, { readonly namespace: string; readonly address: string }>();

  private constructor(release: string, sandboxes: string, place: AsyncDisposable) {
    this.#release = release;
    this.#sandboxes = sandboxes;
    this.#outside = place;
  }

  static async open(): Promise<PolicyScene> {
    const id = randomUUID().slice(0, 6);
    const scene = new PolicyScene(`test-${id}-release`, `test-${id}-sandboxes`, await openOutside());
    try {
      for (const namespace of [scene.#release, scene.#sandboxes]) await kubectl(["create", "namespace", namespace]);
      await scene.#start();
    } catch (error) {
      await scene.close();
      throw error;
    }
    return scene;
  }

  async close(): Promise<void> {
    await kubectl(["delete", "namespace", this.#release, this.#sandboxes, "--wait=false", "--ignore-not-found"]);
    await this.#outside[Symbol.asyncDispose]();
  }

  async #start(): Promise<void> {
    const busybox = "/bin/busybox";
    const script = "/tmp/cgi-bin/reach";
    const command = [
      `${busybox} mkdir /tmp/cgi-bin && echo "$REACH" > ${script} && ${busybox} chmod 755 ${script}`,
      ...ports.map((port) => `httpd -p ${port} -h /tmp`),
      "trap 'exit 0' TERM; sleep 2147483647 & wait",
    ].join("\n");
    const image = await push({ name: "tests/policies:1" });
    const env = [{ name: "REACH", value: reachScript }];
    const standings = await this.#standings();
    for (const [name, { namespace, labels, ports: named = [] }] of Object.entries(standings)) {
      const pod = aPod(name, { image, command: ["/bin/sh", "-c", command], env, ports: named }) as { metadata: object };
      const labelled = { ...pod, metadata: { ...pod.metadata, labels } };
      await until(() => kubectl(["-n", namespace, "create", "-f", "-"], JSON.stringify(labelled)));
    }
    for (const [name, { namespace }] of Object.entries(standings)) {
      const address = await until(async () => {
        const answer = await kubectl(["-n", namespace, "get", "pod", name, "-o", "jsonpath={.status.phase} {.status.podIP}"]);
        if (!/^Running \d/.test(answer)) throw new Error(`${name} is not there yet: ${answer}`);
        return answer.split(" ")[1] ?? "";
      });
      this.#places.set(name, { namespace, address });
    }
    const resolver = ["-n", "kube-system", "get", "pods", "-l", "k8s-app=kube-dns", "-o", "jsonpath={.items[0].status.podIP}"];
    this.#places.set("dns-pod", { namespace: "kube-system", address: await kubectl(resolver) });
  }

  /** The control plane's with labels and ports as the chart gives them to its pods. */
  async #standings(): Promise<Readonly<Record<string, Standing>>> {
    const parts = await this.#parts(neededValues);
    const single = await this.#parts(["images.registry=registry.invalid", "singlePod.enabled=true"]);
    const sandbox: Standing = { namespace: this.#sandboxes, labels: { [labelKeys.sandboxPool]: "py" } };
    return {
      ...parts,
      ...single,
      "sandbox-a": sandbox,
      "sandbox-b": sandbox,
      client: { namespace: this.#release, labels: { role: "client" } },
      stranger: { namespace: this.#release, labels: {} },
      neighbour: { namespace: this.#sandboxes, labels: {} },
      impostor: { namespace: this.#sandboxes, labels: parts["api"]?.labels ?? {} },
    };
  }

  async #parts(values: readonly string[]): Promise<Readonly<Record<string, Standing>>> {
    const deployments = objectsIn(await this.#render("deployments.yaml", values)) as readonly (ChartObject & DeploymentTemplate)[];
    const standings = deployments.map(({ spec: { template } }) => {
      const { labels } = template.metadata;
      const standing: Standing = { namespace: this.#release, labels, ports: template.spec.containers[0]?.ports ?? [] };
      return [labels["app.kubernetes.io/component"] ?? "", standing] as const;
    });
    return Object.fromEntries(standings);
  }

  async #render(only: string, values: readonly string[]): Promise<string> {
    return renderChart(inject("cluster").bin, {
      namespace: this.#release,
      values: [...values, `sandboxes.namespace=${this.#sandboxes}`],
      only,
    });
  }

  async removePolicies(): Promise<void> {
    for (const namespace of [this.#release, this.#sandboxes]) await kubectl(["-n", namespace, "delete", "networkpolicies", "--all"]);
  }

  /** Those that the chart makes of these values, and no others. */
  async install(values: readonly string[] = [], base: readonly string[] = neededValues): Promise<void> {
    await this.removePolicies();
    const rendered = await this.#render("network-policies.yaml", [...base, ...values]);
    await kubectl(["apply", "-f", "-"], rendered);
  }

  /** What became of the connections that are asked about. */
  async reach(asked: Reach): Promise<Reach> {
    const seen = Object.entries(asked).map(async ([from, targets]) => [from, await this.#reach(from, Object.keys(targets))] as const);
    return Object.fromEntries(await Promise.all(seen));
  }

  /** All connections of a pod at once. */
  async #reach(from: string, targets: readonly string[]): Promise<Readonly<Record<string, Outcome>>> {
    const sockets = new Map(
      targets.map((target) => {
        const [whom = "", port = ""] = target.split(":");
        return [`${this.#addressOf(whom)}:${port}`, target];
      }),
    );
    const answer = await fetch(`http://${this.#addressOf(from)}:7000/cgi-bin/reach?${[...sockets.keys()].join(",")}`);
    const lines = (await answer.text()).trim().split("\n");
    return Object.fromEntries(lines.map((line) => [sockets.get(line.split(" ", 1)[0] ?? "") ?? line, outcomeOf(line)]));
  }

  async exec(pod: string, ...command: readonly string[]): Promise<string> {
    const { namespace = "" } = this.#places.get(pod) ?? {};
    return kubectl(["-n", namespace, "exec", pod, "--", ...command]);
  }

  #addressOf(whom: string): string {
    const { nodeAddress } = inject("cluster");
    const others: Readonly<Record<string, string>> = {
      ...outside,
      node: nodeAddress,
      kubernetes: apiServiceAddress,
      dns: dnsServiceAddress,
    };
    const address = this.#places.get(whom)?.address ?? others[whom];
    if (address === undefined) throw new Error(`the scene has no pod ${whom}`);
    return address;
  }
}

interface DeploymentTemplate {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly { readonly ports?: readonly object[] }[] };
    };
  };
}

function outcomeOf(line: string): Outcome {
  const said = line.slice(line.indexOf(" ") + 1);
  // A reset, or an ICMP answer for a service address.
  return /Connection refused|No route to host/.test(said) ? "refused" : said;
}

/** The same outcome for all of these. */
export function all(outcome: Outcome, targets: readonly string[]): Readonly<Record<string, Outcome>> {
  return Object.fromEntries(targets.map((target) => [target, outcome]));
}
