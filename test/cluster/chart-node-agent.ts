/** The agent of the chart as the pod that it is, for the namespace of one test: its DaemonSet and rights, and nothing else of the chart. */
import { join } from "node:path";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { chartFolder } from "../../tools/render-manifests.ts";
import { systemImage, type SystemWorld } from "./system-world.ts";

/** Resolves when its pod is ready. What it returns takes away what is not in the namespace. */
export async function installNodeAgent({ cluster, namespace }: SystemWorld): Promise<() => Promise<void>> {
  const values = [
    `fullnameOverride=${namespace}`,
    `images.controlPlane=${systemImage(cluster, "agentbox")}`,
    "images.registry=registry.invalid",
    "database.existingSecret=none",
    "priorityClass.create=false",
    "nodeAgent.enabled=true",
    "extraEnv[0].name=AGENTBOX_ONLY_NAMESPACE",
    `extraEnv[0].value=${namespace}`,
  ];
  const sets = values.flatMap((value) => ["--set", value]);
  const render = (template: string): Promise<string> =>
    runCommand([join(cluster.bin, "helm"), "template", "t", chartFolder, "--namespace", namespace, ...sets, "--show-only", template]);
  const rights = (await render("templates/rbac.yaml")).split(/^---$/m).filter((object) => object.includes(`name: ${namespace}-node`));
  const ofCluster = [...rights, await render("templates/node-agent-policy.yaml")].join("\n---\n");
  const input = [ofCluster, await render("templates/node-agent.yaml")].join("\n---\n");
  const kubectl = (args: readonly string[], text = ""): Promise<string> =>
    runCommand([join(cluster.bin, "kubectl"), `--kubeconfig=${cluster.kubeconfig}`, "-n", namespace, ...args], { input: text });
  const remove = async (): Promise<void> => void (await kubectl(["delete", "--wait=false", "--ignore-not-found", "-f", "-"], ofCluster));
  try {
    await kubectl(["apply", "-f", "-"], input);
    await kubectl(["rollout", "status", `daemonset/${namespace}-node`, "--timeout=100s"]);
    return remove;
  } catch (error) {
    await remove();
    throw error;
  }
}
