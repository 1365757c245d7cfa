/** What everything on Kubernetes stands on: real pods do on this cluster what they do on any. */
import { inject, expect, test } from "vitest";
import { aPod, push, testNamespace, until } from "./cluster-under-test.ts";

const digestOf = (reference: string): string => reference.slice(reference.indexOf("@") + 1);

test("a pod with an image that was just pushed gets ready, answers exec, and its logs are read", async () => {
  const image = await push({ name: "tests/hello:1", files: { "etc/motd": "hello from the image\n" } });
  const space = await testNamespace();
  await space.create(aPod("hello", { image, command: ["/bin/sh", "-c", "echo started; trap 'exit 0' TERM; sleep 1000 & wait"] }));
  const pod = await space.untilReady("hello");
  expect(pod.status.podIP).toMatch(/^10\.252\./);
  expect(await space.exec("hello", "/bin/cat", "/etc/motd")).toBe("hello from the image\n");
  await expect(space.exec("hello", "/bin/sh", "-c", "exit 3")).rejects.toThrow("exit code 3");
  expect(await space.kubectl("logs", "hello")).toBe("started\n");
});

test("a container swapped in place ten times with a fresh tag and the digest starts at once each time, in the same pod", async () => {
  const images = await Promise.all(["one", "two"].map((which) => push({ name: "tests/swap:1", files: { which } })));
  const space = await testNamespace();
  await space.create(aPod("swapped", { image: images[0], imagePullPolicy: "IfNotPresent" }));
  const first = await space.untilReady("swapped");
  for (let use = 1; use <= 10; use++) {
    const image = images[use % 2] ?? "";
    const waitedFor = new Set<string | undefined>();
    const fresh = image.replace(":1@", `:1-u${use}@`);
    await space.kubectl("patch", "pod", "swapped", "-p", JSON.stringify({ spec: { containers: [{ name: "main", image: fresh }] } }));
    const swapped = await space.untilReady("swapped", (pod) => {
      const container = pod.status.containerStatuses?.[0];
      waitedFor.add(container?.state.waiting?.reason);
      return container?.restartCount === use && container.imageID.endsWith(digestOf(image));
    });
    expect([...waitedFor]).not.toContain("CrashLoopBackOff");
    expect(swapped.status.podIP).toBe(first.status.podIP);
    expect(await space.exec("swapped", "/bin/cat", "/which")).toBe(use % 2 === 0 ? "one" : "two");
  }
});

test("an image is mounted as a volume, read-only", async () => {
  const image = await push({ name: "tests/plain:1" });
  const tools = await push({ name: "tests/tools:1", files: { "data/greeting": "from the volume" } });
  const space = await testNamespace();
  const volumes = [{ name: "tools", image: { reference: tools, pullPolicy: "IfNotPresent" } }];
  const mounted = { image, command: ["/tools/bin/sleep", "1000"], volumeMounts: [{ name: "tools", mountPath: "/tools" }] };
  await space.create(aPod("with-tools", mounted, { volumes }));
  await space.untilReady("with-tools");
  expect(await space.exec("with-tools", "/bin/cat", "/tools/data/greeting")).toBe("from the volume");
  await expect(space.exec("with-tools", "/bin/sh", "-c", "echo no > /tools/data/greeting")).rejects.toThrow("Read-only file system");
});

test("a service leads pods to pods, to themselves too, and to the API server with their account's token", async () => {
  const image = await push({ name: "tests/web:1", files: { "www/index.html": "served\n" } });
  const space = await testNamespace();
  const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
  await space.create(aPod("web", { image, command: ["/bin/httpd", "-f", "-p", "8080", "-h", "/www"], readinessProbe }));
  await space.create(aPod("asking", { image }));
  await space.create({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web" },
    spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
  });
  await Promise.all(["web", "asking"].map((pod) => space.untilReady(pod)));
  const { clusterIP = "" } = (await space.get("service", "web")).spec;
  const ask = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${clusterIP} 80`;
  for (const pod of ["asking", "web"]) {
    await until(async () => expect(await space.exec(pod, "/bin/sh", "-c", ask)).toContain("served"));
  }
  // From this machine as well, which is what the node ports and the gateway's tests stand on.
  expect(await (await fetch(`http://${clusterIP}/`)).text()).toBe("served\n");

  const api = await space.exec("asking", "/bin/sh", "-c", 'echo "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"');
  await space.exec("asking", "/bin/sh", "-c", `nc -w 5 ${api.trim().replace(":", " ")} < /dev/null`);
  expect(await space.exec("asking", "/bin/ls", "/var/run/secrets/kubernetes.io/serviceaccount")).toBe("ca.crt\nnamespace\ntoken\n");
});

test("a pod reaches the registry under the name that is for pods, and images may be called by it", async () => {
  const { registry, podRegistry } = inject("cluster");
  const image = await push({ name: "tests/plain:1" });
  const space = await testNamespace();
  await space.create(aPod("by-other-name", { image: image.replace(registry, podRegistry) }));
  await space.untilReady("by-other-name");
  const ask = `printf 'GET /v2/ HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${podRegistry.replace(":", " ")}`;
  expect(await space.exec("by-other-name", "/bin/sh", "-c", ask)).toContain("200 OK");
});

test("pods find services by name", async () => {
  const image = await push({ name: "tests/plain:1" });
  const space = await testNamespace();
  await space.create({ apiVersion: "v1", kind: "Service", metadata: { name: "named" }, spec: { ports: [{ port: 80 }] } });
  await space.create(aPod("asking", { image }));
  await space.untilReady("asking");
  const { clusterIP = "" } = (await space.get("service", "named")).spec;
  const lookUp = `/bin/busybox nslookup named.${space.name}.svc.cluster.local`;
  await until(async () => expect(await space.exec("asking", "/bin/sh", "-c", lookUp)).toContain(clusterIP));
  expect(await space.exec("asking", "/bin/cat", "/etc/resolv.conf")).toContain(`search ${space.name}.svc.cluster.local`);
});
