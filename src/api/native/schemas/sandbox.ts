/** Sandboxes: what is asked for, and how one is shown. */
import { Type, type Static } from "typebox";
import { timeoutActions } from "#model/keys.ts";
import { sandboxRecordStatuses, type SandboxRecordStatus } from "#model/sandbox-record.ts";
import { choice, text } from "#model/schema-builders.ts";
import { closed, named, next, open, optional, pageQuery, span, texts, time } from "./builders.ts";

const status = choice<[SandboxRecordStatus, ...SandboxRecordStatus[]]>(
  [...sandboxRecordStatuses] as [SandboxRecordStatus, ...SandboxRecordStatus[]],
  "Where it is in its life. An ended one says why it was stopped.",
);
const onTimeout = choice(timeoutActions, "What idle timeout and end time do to it; kill when left out.");
const variableName = "^[A-Za-z_][A-Za-z0-9_]*$";

const execHook = closed(
  {
    exec: closed(
      {
        command: Type.Array(Type.String(), { minItems: 1, maxItems: 256, description: "Program and arguments, run without a shell." }),
        user: optional(text("The user that it runs as.")),
        timeout: optional(span("How long one try may take.")),
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
        timeout: optional(span("How long one try may take.")),
      },
      "A request to the sandbox; a 2xx answer is success.",
    ),
  },
  "Sends a request to the sandbox.",
);
export const hookSchema = named("PostStartHook", Type.Union([execHook, httpHook], { description: "One of exec and http." }));

export const createSchema = named(
  "CreateSandbox",
  closed(
    {
      poolName: text("The Env or pool that it comes from: name, or namespace/name. An Env goes before a pool of the same name.", {
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
      containerImages: optional(texts("Container name to image. Goes before image.")),
      labels: optional(texts("Labels for its pod. Keys of AgentBox and Kubernetes are refused.")),
      annotations: optional(texts("Annotations for its pod, likewise.")),
      metadata: optional(texts("What is to be remembered about it, also after its end.")),
      startupTimeout: optional(span("How long it may wait for a pod and start.")),
      idleTimeout: optional(span("How long it may go without traffic. 0 for no limit, whatever the pool says.")),
      lifetime: optional(span("How long it lives at most.")),
      onTimeout: optional(onTimeout),
      autoResume: optional(Type.Boolean({ description: "Traffic wakes it when it is paused." })),
      privateTraffic: optional(Type.Boolean({ description: "Its ports want its traffic token, which the answer has." })),
      envVars: optional(
        Type.Record(Type.String({ pattern: variableName }), Type.String(), {
          additionalProperties: false,
          description:
            "Environment of every command in it: of the SDKs, of exec, of terminals and hooks. Nowhere written down. A variable may have " +
            "128 KiB with its name, which is the most that Linux takes.",
        }),
      ),
      secure: optional(Type.Boolean({ description: "Whether its daemon asks for the access token." })),
      postStartHooks: optional(
        Type.Array(hookSchema, {
          maxItems: 32,
          description: "Run in order before it is answered; the first that fails for good fails the create.",
        }),
      ),
    },
    "A sandbox to be made.",
  ),
);

export const batchSchema = named(
  "CreateSandboxes",
  closed(
    {
      count: Type.Integer({ minimum: 1, maximum: 1000, description: "How many." }),
      atLeast: optional(Type.Integer({ minimum: 1, maximum: 1000, description: "So many or none; all of them when left out." })),
      sandbox: createSchema,
    },
    "Several equal sandboxes.",
  ),
);

export const sandboxParams = Type.Object({ sandboxId: text("The id of a sandbox.") });

export const createQuery = closed(
  {
    wait: optional(
      Type.Boolean({ description: "False: answered with the claim, while it is Starting; what fails later ends it. True when left out." }),
    ),
  },
  "How it is answered.",
);
export const createHeaders = Type.Object({
  "idempotency-key": optional(
    text("The same key again, from the same owner, is answered with the same sandbox.", { minLength: 1, maxLength: 256 }),
  ),
});

const diagnosticEvent = open(
  {
    reason: text("One word for programs."),
    message: text("The same for people."),
    lastTimestamp: time("When it last happened."),
    count: Type.Integer({ description: "How often." }),
  },
  "A warning about the sandbox's pod.",
);

const diagnosis = open(
  {
    podName: text("The pod that carries it."),
    phase: text("Phase of the pod."),
    reason: text("One word for programs, such as Pulling, ImagePullBackOff, CrashLoopBackOff, OOMKilled or Unschedulable."),
    message: text("The same for people."),
    events: optional(
      Type.Array(diagnosticEvent, { description: "Warnings since the claim, newest first. Only when one sandbox is asked for." }),
    ),
  },
  "Why it is stuck. Absent when it is not.",
);

const egress = open(
  {
    internet: Type.Boolean({ description: "False: only what allow names." }),
    allow: Type.Array(Type.String(), { description: "IPv4 networks; go before deny." }),
    deny: Type.Array(Type.String(), { description: "IPv4 networks." }),
  },
  "Where it may connect to. Absent: the Internet, and nothing private.",
);

export const sandboxSchema = named(
  "Sandbox",
  open(
    {
      sandboxId: text("Its id."),
      namespace: text("Namespace of its pool."),
      poolName: text("The pool that it came from."),
      envName: optional(text("The Env that it came from.")),
      templateName: optional(text("The template of its pool.")),
      podName: text("The pod that carries it, or did."),
      team: text("Its owner; empty when it has none."),
      user: text("Its owner; empty when it has none."),
      status,
      claimedAt: time("When a request took its pod."),
      startedAt: optional(time("When it was running first.")),
      terminatedAt: optional(time("When it ended.")),
      stopReason: optional(text("Why it was stopped.")),
      failureReason: optional(text("What made it end, in one word.")),
      failureMessage: optional(text("The same for people.")),
      exitCode: optional(Type.Integer({ description: "Of the container that ended it." })),
      containerId: optional(text("The container that it ran in.")),
      containerImages: texts("Container name to image."),
      metadata: texts("What was to be remembered about it."),
      labels: optional(texts("Labels that were asked for.")),
      cpu: optional(text("Kubernetes quantity, summed over the containers.")),
      memory: optional(text("Likewise.")),
      disk: optional(text("Likewise, what it may write. Of live ones only.")),
      node: optional(text("The node that it runs on, or did.")),
      startupTimeout: optional(span("How long it may take to start.")),
      idleTimeout: optional(span("How long it may go without traffic; absent: no limit.")),
      endTime: optional(time("When it ends whatever it does; absent: never.")),
      onTimeout: optional(onTimeout),
      autoResume: optional(Type.Boolean({ description: "Traffic wakes it when it is paused." })),
      privateTraffic: optional(Type.Boolean({ description: "Its ports want its traffic token." })),
      openDaemon: optional(Type.Boolean({ description: "Its daemon wants no access token: it was made with secure false." })),
      maskHost: optional(text("What its programs see as the host of a request.")),
      egress: optional(egress),
      lastActiveAt: optional(time("Latest traffic; known late.")),
      diagnosis: optional(diagnosis),
    },
    "A sandbox, live or ended.",
  ),
);

const createdProperties = {
  sandbox: sandboxSchema,
  accessToken: optional(text("For its daemon, when it is secure. Shown here only.")),
  trafficToken: optional(text("For its ports, when they are private, as the header e2b-traffic-access-token. Shown here only.")),
};
export const createdSchema = named("CreatedSandbox", open(createdProperties, "A sandbox that was made."));

export const createdBatchSchema = open(
  {
    sandboxes: Type.Array(createdSchema, { description: "Those that were made." }),
    failures: Type.Array(open({ code: text("As in a problem."), message: text("For people.") }, "Why one is missing."), {
      description: "Why the others are missing.",
    }),
  },
  "What became of a batch.",
);

export const oneSandboxSchema = open({ sandbox: sandboxSchema }, "One sandbox.");
export const sandboxPageSchema = open(
  { sandboxes: Type.Array(sandboxSchema, { description: "Newest first." }), next },
  "A page of sandboxes, live and ended.",
);

export const listQuery = closed(
  {
    ...pageQuery,
    poolName: optional(text("Only of this pool.", { maxLength: 253 })),
    envName: optional(text("Only of this Env.", { maxLength: 253 })),
    templateName: optional(text("Only of this template.", { maxLength: 253 })),
    status: optional(Type.Array(status, { description: "Only with one of these; several with commas between them." })),
    claimedAfter: optional(time("Claimed at or after this moment.")),
    claimedBefore: optional(time("Claimed before this moment.")),
    endedAfter: optional(time("Ended at or after this moment.")),
    endedBefore: optional(time("Ended before this moment.")),
    metadata: optional(
      Type.Array(Type.String({ pattern: "^[^=]+=" }), {
        maxItems: 32,
        description: "key=value that must be in its metadata; may be repeated.",
      }),
    ),
    idPrefix: optional(text("How its id begins.", { maxLength: 253 })),
  },
  "Which sandboxes.",
);

export const timeoutSchema = named(
  "ChangeTimeouts",
  closed(
    {
      idleTimeout: optional(span("How long it may go without traffic, from now on; 0 for no limit.")),
      lifetime: optional(Type.Union([span("How long it lives at most, from now on."), Type.Null()], { description: "Null for no end." })),
      endTime: optional(time("When it ends, in place of lifetime.")),
      onlyLater: optional(Type.Boolean({ description: "An end time that is already later stays." })),
    },
    "What is left out stays as it is.",
  ),
);

export type CreateBody = Static<typeof createSchema>;
export type HookBody = Static<typeof hookSchema>;
export type ListQuery = Static<typeof listQuery>;
export type CreateHeaders = Static<typeof createHeaders>;
export type TimeoutBody = Static<typeof timeoutSchema>;
export type SandboxBody = Static<typeof sandboxSchema>;
