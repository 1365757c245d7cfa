/** Sandboxes: requests and answers. */
import { Type, type Static } from "typebox";
import { timeoutActions } from "#model/keys.ts";
import { sandboxRecordStatuses, type SandboxRecordStatus } from "#model/sandbox-record.ts";
import { choice, text } from "#model/schema-builders.ts";
import { maxVolumeMounts } from "#model/volume-mounts.ts";
import { closed, named, next, open, optional, pageQuery, span, texts, time } from "./builders.ts";

const status = choice<[SandboxRecordStatus, ...SandboxRecordStatus[]]>(
  [...sandboxRecordStatuses] as [SandboxRecordStatus, ...SandboxRecordStatus[]],
  "State of the sandbox. For an ended sandbox, its stop reason.",
);
const onTimeout = choice(timeoutActions, "Action at the idle timeout or end time; kill when left out.");
const variableName = "^[A-Za-z_][A-Za-z0-9_]*$";

const execHook = closed(
  {
    exec: closed(
      {
        command: Type.Array(Type.String(), { minItems: 1, maxItems: 256, description: "Program and arguments, run without a shell." }),
        user: optional(text("User that runs the program.")),
        timeout: optional(span("Time limit of one attempt.")),
      },
      "A program in the sandbox; exit code 0 is success.",
    ),
  },
  "Runs a program in the sandbox.",
);
const httpHook = closed(
  {
    http: closed(
      {
        port: Type.Integer({ minimum: 1, maximum: 65535, description: "Port in the sandbox." }),
        path: optional(text("Path and query; / when left out.", { pattern: "^/" })),
        method: optional(choice(["GET", "POST", "PUT"], "POST when left out.")),
        headers: optional(texts("Headers to send.")),
        body: optional(text("Body to send.")),
        timeout: optional(span("Time limit of one attempt.")),
      },
      "A request to the sandbox; a 2xx answer is success.",
    ),
  },
  "Sends a request to the sandbox.",
);
export const hookSchema = named("PostStartHook", Type.Union([execHook, httpHook], { description: "One of exec and http." }));

const mountWish = closed(
  {
    name: text("Name or id of a volume.", { minLength: 1, maxLength: 253 }),
    path: text("Absolute path in the sandbox, such as /mnt/data; made if it is not there.", { minLength: 1, maxLength: 1024 }),
    readOnly: optional(Type.Boolean({ description: "The sandbox cannot change it. False when left out." })),
  },
  "A volume to mount.",
);

export const createSchema = named(
  "CreateSandbox",
  closed(
    {
      poolName: text("Env or pool to take a pod from: name or namespace/name. An Env takes precedence over a pool of the same name.", {
        minLength: 1,
        maxLength: 317,
      }),
      instanceType: optional(
        text("Only pools of the Env with this instance type. The Env's default size when left out.", { minLength: 1, maxLength: 253 }),
      ),
      multiplier: optional(
        Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: "Only pools of the Env with this multiplier." }),
      ),
      scalingGroup: optional(text("Only pools of this scaling group of the Env.", { minLength: 1, maxLength: 63 })),
      image: optional(text("Image for the first container; the pool's own when left out.", { minLength: 1, maxLength: 1024 })),
      containerImages: optional(texts("Maps container names to images. Takes precedence over image.")),
      labels: optional(texts("Labels for the pod. Keys that belong to AgentBox or Kubernetes are refused.")),
      annotations: optional(texts("Annotations for the pod. Keys that belong to AgentBox or Kubernetes are refused.")),
      metadata: optional(texts("Data that is stored with the sandbox, also after its end.")),
      startupTimeout: optional(span("Time limit for waiting for a pod and starting.")),
      idleTimeout: optional(span("End the sandbox after this time without traffic. 0 for no limit, also if the pool has one.")),
      lifetime: optional(span("Maximum lifetime.")),
      onTimeout: optional(onTimeout),
      autoResume: optional(Type.Boolean({ description: "Traffic resumes the sandbox when it is paused." })),
      privateTraffic: optional(Type.Boolean({ description: "The ports require a traffic token, which the answer contains." })),
      volumeMounts: optional(
        Type.Array(mountWish, {
          maxItems: maxVolumeMounts,
          description: "Volumes to mount. An error names every wrong one.",
        }),
      ),
      envVars: optional(
        Type.Record(Type.String({ pattern: variableName }), Type.String(), {
          additionalProperties: false,
          description:
            "Environment of every command in it: of the SDKs, of exec, of terminals and hooks. Nowhere written down. A variable may have " +
            "at most 128 KiB including its name, the limit of Linux.",
        }),
      ),
      secure: optional(Type.Boolean({ description: "True if the daemon requires the access token." })),
      postStartHooks: optional(
        Type.Array(hookSchema, {
          maxItems: 32,
          description: "Hooks that run in order before the answer. If one fails after all its attempts, the create fails.",
        }),
      ),
    },
    "A sandbox to create.",
  ),
);

export const batchSchema = named(
  "CreateSandboxes",
  closed(
    {
      count: Type.Integer({ minimum: 1, maximum: 1000, description: "How many." }),
      atLeast: optional(
        Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: "The smallest number that counts as success; equal to count when left out.",
        }),
      ),
      sandbox: createSchema,
    },
    "Several equal sandboxes.",
  ),
);

export const sandboxParams = Type.Object({ sandboxId: text("The id of a sandbox.") });

export const createQuery = closed(
  {
    wait: optional(
      Type.Boolean({
        description: "False: answer after the claim, while the sandbox is Starting; a later failure ends the sandbox. True when left out.",
      }),
    ),
  },
  "Says when the request is answered.",
);
export const createHeaders = Type.Object({
  "idempotency-key": optional(
    text("A repeated request of the same owner with the same key returns the same sandbox.", { minLength: 1, maxLength: 256 }),
  ),
});

const diagnosticEvent = open(
  {
    reason: text("Reason for programs, one word."),
    message: text("Explanation for people."),
    lastTimestamp: time("Time of the last occurrence."),
    count: Type.Integer({ description: "How often." }),
  },
  "A warning about the sandbox's pod.",
);

const diagnosis = open(
  {
    podName: text("Pod that carries the sandbox."),
    phase: text("Phase of the pod."),
    reason: text("Reason for programs, one word such as Pulling, ImagePullBackOff, CrashLoopBackOff, OOMKilled or Unschedulable."),
    message: text("Explanation for people."),
    events: optional(Type.Array(diagnosticEvent, { description: "Warnings since the claim, newest first. Absent in lists." })),
  },
  "Why the sandbox is stuck; absent if it is not.",
);

const egress = open(
  {
    internet: Type.Boolean({ description: "False: only the destinations in allow." }),
    allow: Type.Array(Type.String(), { description: "IPv4 networks; go before deny." }),
    deny: Type.Array(Type.String(), { description: "IPv4 networks." }),
  },
  "Destinations that the sandbox may connect to. Absent: the Internet, but no private address.",
);

const mounted = open(
  {
    name: text("Name of the volume."),
    path: text("Where it is mounted."),
    readOnly: Type.Boolean({ description: "The sandbox cannot change it." }),
  },
  "A mounted volume.",
);

export const sandboxSchema = named(
  "Sandbox",
  open(
    {
      sandboxId: text("Its id."),
      namespace: text("Namespace of the pool."),
      poolName: text("Pool of the pod."),
      envName: optional(text("Env of the pool.")),
      templateName: optional(text("Template of the pool.")),
      podName: text("Pod that carries or carried the sandbox."),
      team: text("Owner; empty without one."),
      user: text("Owner; empty without one."),
      status,
      claimedAt: time("Time of the claim."),
      startedAt: optional(time("Time when the sandbox first ran.")),
      terminatedAt: optional(time("When it ended.")),
      stopReason: optional(text("Stop reason.")),
      failureReason: optional(text("Failure reason, one word.")),
      failureMessage: optional(text("Explanation for people.")),
      exitCode: optional(Type.Integer({ description: "Exit code of the container whose exit ended the sandbox." })),
      containerId: optional(text("Container of the sandbox.")),
      containerImages: texts("Maps container names to images."),
      metadata: texts("Metadata from the create request."),
      labels: optional(texts("Labels from the create request.")),
      cpu: optional(text("Kubernetes quantity, summed over the containers.")),
      memory: optional(text("Likewise.")),
      disk: optional(text("Kubernetes quantity of disk space that the sandbox may write. Only for live sandboxes.")),
      node: optional(text("Node of the pod.")),
      volumeMounts: optional(Type.Array(mounted, { description: "Volumes that it has or had mounted." })),
      startupTimeout: optional(span("Time limit of the start.")),
      idleTimeout: optional(span("Time without traffic after which the sandbox ends; absent without a limit.")),
      endTime: optional(time("Latest time at which the sandbox ends; absent if there is none.")),
      onTimeout: optional(onTimeout),
      autoResume: optional(Type.Boolean({ description: "Traffic resumes the sandbox when it is paused." })),
      privateTraffic: optional(Type.Boolean({ description: "The ports require the traffic token." })),
      openDaemon: optional(
        Type.Boolean({ description: "The daemon requires no access token, because the sandbox was created with secure: false." }),
      ),
      maskHost: optional(text("Host header that programs in the sandbox see.")),
      egress: optional(egress),
      lastActiveAt: optional(time("Latest traffic; known late.")),
      diagnosis: optional(diagnosis),
    },
    "A sandbox, live or ended.",
  ),
);

const createdProperties = {
  sandbox: sandboxSchema,
  accessToken: optional(text("Token for the daemon, if secure. Only this answer contains it.")),
  trafficToken: optional(text("Token for private ports, sent as the header e2b-traffic-access-token. Only this answer contains it.")),
};
export const createdSchema = named("CreatedSandbox", open(createdProperties, "A new sandbox."));

export const createdBatchSchema = open(
  {
    sandboxes: Type.Array(createdSchema, { description: "The new sandboxes." }),
    failures: Type.Array(
      open(
        { code: text("An error code, as in a problem."), message: text("Explanation for people.") },
        "Why one sandbox could not be created.",
      ),
      {
        description: "One entry for each sandbox that could not be created.",
      },
    ),
  },
  "Result of a batch.",
);

export const oneSandboxSchema = open({ sandbox: sandboxSchema }, "One sandbox.");
export const sandboxPageSchema = open(
  { sandboxes: Type.Array(sandboxSchema, { description: "Newest first." }), next },
  "A page of sandboxes, live and ended.",
);

export const listQuery = closed(
  {
    ...pageQuery,
    poolName: optional(text("Only sandboxes of this pool.", { maxLength: 253 })),
    envName: optional(text("Only sandboxes of this Env.", { maxLength: 253 })),
    templateName: optional(text("Only sandboxes of this template.", { maxLength: 253 })),
    status: optional(Type.Array(status, { description: "Only sandboxes with one of these statuses, separated by commas." })),
    claimedAfter: optional(time("Claimed at or after this moment.")),
    claimedBefore: optional(time("Claimed before this moment.")),
    endedAfter: optional(time("Ended at or after this moment.")),
    endedBefore: optional(time("Ended before this moment.")),
    metadata: optional(
      Type.Array(Type.String({ pattern: "^[^=]+=" }), {
        maxItems: 32,
        description: "Only sandboxes with this key=value in their metadata; may be repeated.",
      }),
    ),
    idPrefix: optional(text("Only sandboxes whose id begins with this text.", { maxLength: 253 })),
  },
  "Which sandboxes.",
);

export const pauseSchema = named(
  "PauseSandbox",
  closed(
    {
      memory: optional(
        Type.Boolean({
          description:
            "False: the sandbox becomes a checkpoint and gives back its pod. It keeps its id and its files; its processes end. True when left out.",
        }),
      ),
    },
    "How to pause the sandbox.",
  ),
);

export const timeoutSchema = named(
  "ChangeTimeouts",
  closed(
    {
      idleTimeout: optional(span("New idle timeout, counted from now; 0 for no limit.")),
      lifetime: optional(Type.Union([span("New lifetime, counted from now."), Type.Null()], { description: "Null for no end." })),
      endTime: optional(time("New end time, instead of lifetime.")),
      onlyLater: optional(Type.Boolean({ description: "True: keep the current end time if it is later." })),
    },
    "Fields that are left out do not change.",
  ),
);

export type CreateBody = Static<typeof createSchema>;
export type HookBody = Static<typeof hookSchema>;
export type ListQuery = Static<typeof listQuery>;
export type CreateHeaders = Static<typeof createHeaders>;
export type TimeoutBody = Static<typeof timeoutSchema>;
export type SandboxBody = Static<typeof sandboxSchema>;
