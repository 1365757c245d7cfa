import { fieldReference, resourceFieldReference } from "./pod-volume-shape.ts";
import { always, listOf, mapOf, shape } from "./shape.ts";

const objectKey = { name: "string", key: "string!", optional: "bool?" } as const;

const environmentVariable = shape("EnvVar", {
  name: "string!",
  value: "string",
  valueFrom: shape("EnvVarSource", {
    fieldRef: fieldReference,
    resourceFieldRef: resourceFieldReference,
    configMapKeyRef: shape("ConfigMapKeySelector", objectKey),
    secretKeyRef: shape("SecretKeySelector", objectKey),
    fileKeyRef: shape("FileKeySelector", { volumeName: "string!", path: "string!", key: "string!", optional: "bool?" }),
  }),
});

const environmentSource = shape("EnvFromSource", {
  prefix: "string",
  configMapRef: shape("ConfigMapEnvSource", { name: "string", optional: "bool?" }),
  secretRef: shape("SecretEnvSource", { name: "string", optional: "bool?" }),
});

export const resourceRequirements = shape("ResourceRequirements", {
  limits: mapOf("quantity"),
  requests: mapOf("quantity"),
  claims: listOf(shape("ResourceClaim", { name: "string!", request: "string" })),
});

const exec = shape("ExecAction", { command: listOf("string") });

const httpGet = shape("HTTPGetAction", {
  path: "string=/",
  port: "intOrString!",
  host: "string",
  scheme: "string=HTTP",
  httpHeaders: listOf(shape("HTTPHeader", { name: "string!", value: "string!" })),
});

const tcpSocket = shape("TCPSocketAction", { port: "intOrString!", host: "string" });

const probe = shape("Probe", {
  exec,
  httpGet,
  tcpSocket,
  grpc: shape("GRPCAction", { port: "int32!", service: "string!" }),
  initialDelaySeconds: "int32",
  timeoutSeconds: "int32=1",
  periodSeconds: "int32=10",
  successThreshold: "int32=1",
  failureThreshold: "int32=3",
  terminationGracePeriodSeconds: "int64?",
});

const lifecycleHandler = shape("LifecycleHandler", { exec, httpGet, tcpSocket, sleep: shape("SleepAction", { seconds: "int64!" }) });

const seLinuxOptions = shape("SELinuxOptions", { user: "string", role: "string", type: "string", level: "string" });
const windowsOptions = shape("WindowsSecurityContextOptions", {
  gmsaCredentialSpecName: "string?",
  gmsaCredentialSpec: "string?",
  runAsUserName: "string?",
  hostProcess: "bool?",
});
const profile = { type: "string!", localhostProfile: "string?" } as const;

/** What a pod and a container can both say of security. */
export const commonSecurity = {
  seLinuxOptions,
  windowsOptions,
  runAsUser: "int64?",
  runAsGroup: "int64?",
  runAsNonRoot: "bool?",
  seccompProfile: shape("SeccompProfile", profile),
  appArmorProfile: shape("AppArmorProfile", profile),
} as const;

const securityContext = shape("SecurityContext", {
  ...commonSecurity,
  capabilities: shape("Capabilities", { add: listOf("string"), drop: listOf("string") }),
  privileged: "bool?",
  readOnlyRootFilesystem: "bool?",
  allowPrivilegeEscalation: "bool?",
  procMount: "string?",
});

const containerFields = {
  name: "string!",
  image: "string",
  command: listOf("string"),
  args: listOf("string"),
  workingDir: "string",
  ports: listOf(
    shape("ContainerPort", { name: "string", hostPort: "int32", containerPort: "int32!", protocol: "string=TCP", hostIP: "string" }),
  ),
  envFrom: listOf(environmentSource),
  env: listOf(environmentVariable),
  resources: always(resourceRequirements),
  resizePolicy: listOf(shape("ContainerResizePolicy", { resourceName: "string!", restartPolicy: "string!" })),
  restartPolicy: "string?",
  restartPolicyRules: listOf(
    shape("ContainerRestartRule", {
      action: "string",
      exitCodes: shape("ContainerRestartRuleOnExitCodes", { operator: "string", values: listOf("int32") }),
    }),
  ),
  volumeMounts: listOf(
    shape("VolumeMount", {
      name: "string!",
      readOnly: "bool",
      recursiveReadOnly: "string?",
      mountPath: "string!",
      subPath: "string",
      mountPropagation: "string?",
      subPathExpr: "string",
    }),
  ),
  volumeDevices: listOf(shape("VolumeDevice", { name: "string!", devicePath: "string!" })),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  lifecycle: shape("Lifecycle", { postStart: lifecycleHandler, preStop: lifecycleHandler, stopSignal: "string?" }),
  terminationMessagePath: "string=/dev/termination-log",
  terminationMessagePolicy: "string=File",
  imagePullPolicy: "string",
  securityContext,
  stdin: "bool",
  stdinOnce: "bool",
  tty: "bool",
} as const;

export const container = shape("Container", containerFields);

export const ephemeralContainer = shape("EphemeralContainer", { ...containerFields, targetContainerName: "string" });
