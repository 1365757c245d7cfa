/**
 * The shapes of Kubernetes' own kinds: the fields that the API server says it has (fields.generated.ts), and by hand what it does
 * with them beyond its OpenAPI.
 */
import { apiVersionOf, type ResourceType } from "#model/resource.ts";
import { kubernetesFields } from "./fields.generated.ts";
import { type FieldTables, type Shape, shapesOf } from "./shape.ts";

type Fields = typeof kubernetesFields;
type Quirks = { readonly [Type in keyof Fields]?: { readonly [Field in keyof Fields[Type]]?: string } };

/** The functions `SetDefaults_…` of the server fill these in; only defaults that are declared beside a field are in its OpenAPI. */
const containerDefaults = {
  terminationMessagePath: "string=/dev/termination-log",
  terminationMessagePolicy: "string=File",
} as const;
/** 0644 in octal. */
const fileMode = { defaultMode: "int32?=420" } as const;

const defaults: Quirks = {
  PodSpec: {
    restartPolicy: "string=Always",
    terminationGracePeriodSeconds: "int64?=30",
    dnsPolicy: "string=ClusterFirst",
    securityContext: "PodSecurityContext!",
    schedulerName: "string=default-scheduler",
    enableServiceLinks: "bool?=true",
  },
  Container: containerDefaults,
  EphemeralContainer: containerDefaults,
  Probe: { timeoutSeconds: "int32=1", periodSeconds: "int32=10", successThreshold: "int32=1", failureThreshold: "int32=3" },
  HTTPGetAction: { path: "string=/", scheme: "string=HTTP" },
  ObjectFieldSelector: { apiVersion: "string=v1" },
  ServiceAccountTokenProjection: { expirationSeconds: "int64?=3600" },
  PersistentVolumeClaimSpec: { volumeMode: "string?=Filesystem" },
  HostPathVolumeSource: { type: "string?=" },
  SecretVolumeSource: fileMode,
  ConfigMapVolumeSource: fileMode,
  ProjectedVolumeSource: fileMode,
  DownwardAPIVolumeSource: fileMode,
  Secret: { type: "string=Opaque" },
  NamespaceStatus: { phase: "string=Active" },
};

const notKept: Quirks = {
  // Links to objects are long gone from the API, and the embedded store does not track which client set which field.
  ObjectMeta: { selfLink: "dropped", managedFields: "dropped" },
  // Behind a feature gate that is off: the server drops them without a word.
  LeaseSpec: { strategy: "dropped", preferredHolder: "dropped" },
};

function withQuirks(): FieldTables {
  const merged = new Map<string, Readonly<Record<string, string>>>(Object.entries(kubernetesFields));
  for (const [type, fields] of [...Object.entries(defaults), ...Object.entries(notKept)])
    merged.set(type, { ...merged.get(type), ...fields });
  return Object.fromEntries(merged);
}

const tables = withQuirks();

/** The shape of a whole object. One that says neither its kind nor its version is of this kind. */
export function kindShape(resource: ResourceType): Shape {
  const { kind } = resource;
  const whole = { ...tables[kind], kind: `string=${kind}`, apiVersion: `string=${apiVersionOf(resource)}` };
  return shapesOf({ ...tables, [kind]: whole })(kind);
}

/** The metadata of every object, our own kinds included. */
export const metadataShape: Shape = shapesOf(tables)("ObjectMeta");

/** The names of the sources that a volume can have. */
export const volumeSources: readonly string[] = Object.keys(kubernetesFields.Volume).filter((field) => field !== "name");
