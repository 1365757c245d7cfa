/**
 * What a user does with objects, as command lines that kubectl and agentbox both take. cli-transcript.ts runs it with either and writes down
 * what comes back; cli-transcript.txt is what kubectl says on a real API server.
 */
export interface Step {
  readonly args: readonly string[];
  readonly stdin?: string;
  /** How the file of this name reads from here on. */
  readonly write?: Readonly<Record<string, string>>;
}

export interface Scenario {
  readonly files: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

const pool = (name: string, spec: string, extra = ""): string =>
  `apiVersion: agents.navix.sh/v1alpha1\nkind: SandboxPool\nmetadata:\n  name: ${name}\n${extra}spec: ${spec}\n`;

const configMap = (name: string, data: string, extra = ""): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${extra}data: ${data}\n`;

const podText = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: { app: web }
spec:
  automountServiceAccountToken: false
  containers:
    - name: main
      image: web:1
      env: [{ name: A, value: "1" }, { name: B, value: "2" }]
    - name: side
      image: side:1
`;

const eventText = `apiVersion: v1
kind: Event
metadata: { name: ev }
involvedObject: { kind: Pod, name: web, namespace: NAMESPACE }
reason: Because
type: Normal
message: "it\\nhappened"
`;

/** Everything happens in one namespace, which must not exist before, so that it can run beside other tests. */
export function cliScenario(namespace: string): Scenario {
  const inside = ["-n", namespace];
  const labelled = "  labels: { app: shop }\n";
  return {
    files: {
      "namespace.yaml": `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${namespace} }\n`,
      "template.yaml": `apiVersion: agents.navix.sh/v1alpha1
kind: SandboxTemplate
metadata: { name: ${namespace}-shell }
spec:
  version: v1.0.0
  description: "Plain: a userland"
  template: { spec: { containers: [{ name: sandbox, image: host, command: [sleep, infinity] }] } }
`,
      "pool.yaml": pool("py", "{ replicas: 2, templateName: shell }", labelled),
      "folder/b.yml": pool("b", "{ replicas: 1, templateName: shell }", labelled),
      "folder/a.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"app":"shop"}},"data":{"html":"<a href='x'>&</a>"}}`,
      "folder/notes.txt": "not a manifest",
      "folder/deeper/c.yaml": configMap("c", "{ x: '1' }"),
      "many.yaml": `${configMap("one", "{ x: yes-is-text }")}---\n# nothing here\n---\n${pool("bad", "{ replicas: -1, podCreationImagePolicy: Never, templateName: shell }")}---\n${configMap("two", "{ at: '12:30', on: 'yes', n: '0777', t: 2026-01-01 }")}`,
      "list.yaml": `apiVersion: v1\nkind: List\nitems:\n- ${configMap("three", "{ x: y-not }").trimEnd().replaceAll("\n", "\n  ")}\n- ${configMap("four", "{ x: z }").trimEnd().replaceAll("\n", "\n  ")}\n`,
      "broken.yaml": `${configMap("before", "{ x: z }")}---\na: b\n  c: d\n`,
      "nothing.yaml": "# only a comment\n",
      "no-kind.yaml": "metadata: { name: x }\n",
      "no-type.yaml": "apiVersion: v1\nkind: 3\nmetadata: { name: x }\n",
      "no-object.yaml": "- a\n- b\n",
      "strange.yaml": "apiVersion: example.test/v1\nkind: Gadget\nmetadata: { name: x }\n",
      "unknown-field.yaml": pool("odd", "{ replicas: 1, templateName: shell, replicass: 2 }"),
      "elsewhere.yaml": configMap("e", "{ x: z }", "  namespace: elsewhere\n"),
      "nowhere.yaml": configMap("e", "{ x: z }", "  namespace: no-such-namespace\n"),
      "generated.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { generateName: x- }\n",
      "nameless.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
      "bad-name.yaml": configMap("Not_A_Name", "{ x: z }"),
      "bad-pool.yaml": pool("worse", "{ replicas: -1, podCreationImagePolicy: Never, templateName: shell }"),
      "worse-py.yaml": pool("py", "{ replicas: -1, templateName: shell }"),
      "held.yaml": configMap("held", "{ x: z }", "  finalizers: [example.test/hold]\n"),
      "released.yaml": configMap("held", "{ x: z }"),
      "secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: { name: s }\ntype: Opaque\nstringData: { a: b }\n",
      "lease.yaml": "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: { name: l }\nspec: { holderIdentity: me }\n",
      "event.yaml": eventText.replace("NAMESPACE", namespace),
      "pod.yaml": podText,
    },
    steps: [
      { args: ["apply", "-f", "namespace.yaml"] },
      { args: ["get", "namespace", namespace] },
      ...applySteps(inside),
      ...getSteps(namespace, inside),
      ...deleteSteps(namespace, inside),
      { args: ["delete", "-f", "namespace.yaml", "--wait=false"] },
    ],
  };
}

function applySteps(inside: readonly string[]): readonly Step[] {
  const changed = pool("py", "{ replicas: 3, templateName: shell }", "  labels: { app: shop }\n");
  const fewer = pool("py", "{ replicas: 3 }", '  annotations: { note: "a > b & c" }\n');
  const podChanged = podText.replace("web:1", "web:2");
  return [
    { args: ["apply", ...inside, "-f", "pool.yaml", "--dry-run=client"] },
    { args: ["apply", ...inside, "-f", "pool.yaml", "--dry-run=server"] },
    { args: ["apply", ...inside, "-f", "pool.yaml"] },
    { args: ["apply", ...inside, "-f", "pool.yaml"] },
    { args: ["apply", ...inside, "-f", "pool.yaml", "--dry-run=client"], write: { "pool.yaml": changed } },
    { args: ["apply", ...inside, "-f", "pool.yaml", "--dry-run=server"] },
    { args: ["apply", ...inside, "-f", "pool.yaml"] },
    { args: ["get", ...inside, "sbp", "py", "-o", "yaml"] },
    { args: ["apply", ...inside, "-f", "pool.yaml"], write: { "pool.yaml": fewer } },
    { args: ["get", ...inside, "sbp/py", "-o", "json"] },
    { args: ["apply", "-f", "template.yaml"] },
    { args: ["apply", ...inside, "-f", "template.yaml"] },
    { args: ["apply", ...inside, "-f", "folder"] },
    { args: ["apply", ...inside, "-f", "folder", "-R"] },
    { args: ["apply", ...inside, "-f", "many.yaml"] },
    { args: ["get", ...inside, "cm", "two", "-o", "yaml"] },
    { args: ["apply", ...inside, "-f", "list.yaml"] },
    { args: ["apply", ...inside, "-f", "-"], stdin: configMap("piped", "{ x: z }") },
    { args: ["apply", ...inside, "-f", "pool.yaml", "-f", "missing.yaml"] },
    ...["broken", "nothing", "no-kind", "no-type", "no-object", "strange", "unknown-field", "elsewhere"].map((file) => ({
      args: ["apply", ...inside, "-f", `${file}.yaml`],
    })),
    { args: ["apply", "-f", "nowhere.yaml"] },
    ...["generated", "nameless", "bad-name", "bad-pool", "worse-py", "secret", "lease", "event", "pod"].map((file) => ({
      args: ["apply", ...inside, "-f", `${file}.yaml`],
    })),
    {
      args: [
        "apply",
        ...inside,
        "-f",
        "bad-name.yaml",
        "-f",
        "worse-py.yaml",
        "-f",
        "unknown-field.yaml",
        "-f",
        "strange.yaml",
        "-f",
        "no-kind.yaml",
      ],
    },
    { args: ["apply", ...inside, "-f", "unknown-field.yaml", "--validate=false"] },
    { args: ["apply", ...inside, "-f", "pod.yaml"] },
    { args: ["apply", ...inside, "-f", "pod.yaml"], write: { "pod.yaml": podChanged } },
    { args: ["apply", ...inside, "-f", "pod.yaml"], write: { "pod.yaml": podChanged.replace('{ name: B, value: "2" }', "") } },
  ];
}

function getSteps(namespace: string, inside: readonly string[]): readonly Step[] {
  return [
    { args: ["get", ...inside, "sandboxpools"] },
    { args: ["get", ...inside, "sbp", "-o", "wide"] },
    { args: ["get", ...inside, "SandboxPool", "--no-headers"] },
    { args: ["get", ...inside, "sandboxpools.agents.navix.sh", "py", "b"] },
    { args: ["get", ...inside, "sandboxpool.v1alpha1.agents.navix.sh", "py", "nope", "neither"] },
    { args: ["get", "sbt", `${namespace}-shell`] },
    { args: ["get", "sbt", `${namespace}-shell`, "-o", "yaml"] },
    { args: ["get", ...inside, "sbp,cm", "-l", "app=shop"] },
    { args: ["get", ...inside, "sbp/py", "cm/one"] },
    { args: ["get", ...inside, "sbp,cm", "-o", "name"] },
    { args: ["get", ...inside, "cm", "a", "one", "-o", "yaml"] },
    { args: ["get", ...inside, "cm", "a", "-o", "json"] },
    { args: ["get", ...inside, "secrets,leases,pods"] },
    { args: ["get", ...inside, "events"] },
    { args: ["get", ...inside, "pods"] },
    { args: ["get", ...inside, "pod", "web", "-o", "wide"] },
    { args: ["get", "-A", "pods", "--field-selector", `metadata.namespace=${namespace}`] },
    { args: ["get", "-A", "sbp", "--field-selector", `metadata.namespace=${namespace}`] },
    { args: ["get", "sbp", "-l", "no=such"] },
    { args: ["get", "-A", "sbp", "-l", "no=such"] },
    { args: ["get", "sbt", "-l", "no=such"] },
    { args: ["get", ...inside, "sbp", "-l", "no=such", "-o", "yaml"] },
    { args: ["get", ...inside, "sbp", "-l", "no=such", "-o", "name"] },
    { args: ["get", ...inside, "sbp", "-l", "app in (shop),!none", "-o", "name"] },
    { args: ["get", ...inside, "sbp", "-l", "a b c"] },
    { args: ["get", ...inside, "sbp", "--field-selector", "spec.x=1"] },
    { args: ["get", ...inside, "cm", "nope"] },
    { args: ["get", ...inside, "cm", "nope", "-o", "yaml"] },
    { args: ["get", ...inside, "cm", "a", "nope", "-o", "yaml"] },
    { args: ["get", ...inside, "cm", "nope", "--ignore-not-found"] },
    { args: ["get", "gadgets"] },
    { args: ["get", ...inside, "sbp", "py", "-l", "a=b"] },
    { args: ["get", "sbp", "py", "-A"] },
    { args: ["get", ...inside, "sbp/py/x"] },
  ];
}

function deleteSteps(namespace: string, inside: readonly string[]): readonly Step[] {
  return [
    { args: ["delete", ...inside, "sbp", "py", "--dry-run=client"] },
    { args: ["delete", ...inside, "sbp", "py", "--dry-run=server"] },
    { args: ["delete", ...inside, "sbp", "py"] },
    { args: ["delete", ...inside, "sbp", "py"] },
    { args: ["delete", ...inside, "sbp", "py", "--ignore-not-found"] },
    { args: ["delete", ...inside, "cm/one", "cm/two"] },
    { args: ["delete", ...inside, "cm", "x1", "x2"] },
    { args: ["delete", ...inside, "cm"] },
    { args: ["delete", ...inside, "cm", "a", "--all"] },
    { args: ["delete", ...inside, "cm", "-l", "no=such"] },
    { args: ["delete", ...inside, "-f", "folder", "-R"] },
    { args: ["delete", ...inside, "-f", "folder"] },
    { args: ["delete", ...inside, "-f", "missing.yaml"] },
    { args: ["delete", ...inside, "-f", "elsewhere.yaml"] },
    { args: ["delete", ...inside, "pod", "web", "--grace-period=0", "--force"] },
    { args: ["delete", ...inside, "secret", "s", "-o", "name"] },
    { args: ["delete", ...inside, "lease", "l", "--cascade=orphan", "--wait=false"] },
    { args: ["delete", ...inside, "sbp", "odd", "--cascade=sideways"] },
    { args: ["delete", "sbt", `${namespace}-shell`] },
    { args: ["apply", ...inside, "-f", "held.yaml"] },
    { args: ["delete", ...inside, "cm", "held", "--wait=false"] },
    { args: ["apply", ...inside, "-f", "released.yaml"] },
    { args: ["get", ...inside, "cm", "held"] },
    { args: ["delete", ...inside, "cm", "--all"] },
    { args: ["get", ...inside, "cm", "-l", "app=shop"] },
  ];
}
