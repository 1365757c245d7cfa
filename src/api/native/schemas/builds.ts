/** Template builds: requests and answers. */
import { Type, type Static } from "typebox";
import { logLevels } from "#builds/build-log.ts";
import { stepTypes } from "#builds/build-step.ts";
import { buildStatuses } from "#services/builds/build-records.ts";
import { choice, text } from "#model/schema-builders.ts";
import { closed, named, open, optional, time } from "./builders.ts";

export const requestBuildSchema = named(
  "RequestBuild",
  closed(
    {
      name: text("Name of the template, perhaps with a tag: app or app:v1.", { minLength: 1, maxLength: 256 }),
      tags: optional(
        Type.Array(text("A tag.", { maxLength: 128 }), { maxItems: 50, description: "Tags that the build gets, beside that of the name." }),
      ),
      cpuCount: optional(Type.Integer({ description: "Cores of its sandboxes: 1 or an even number up to 32; 2 when left out." })),
      memoryMB: optional(Type.Integer({ description: "Memory of its sandboxes: an even number from 128 on; 1024 when left out." })),
      minFreeDiskMb: optional(Type.Integer({ description: "What its sandboxes may write, in MiB, where more than 1024 is wanted." })),
    },
    "A build to make.",
  ),
);

const stepSchema = named(
  "BuildStep",
  closed(
    {
      type: choice(stepTypes, "What it does."),
      args: Type.Array(Type.String(), {
        description:
          "COPY: source, target, owner, mode. RUN: command, user. WORKDIR: path. USER: name. ENV: name, value, name, value … Empty: not set.",
      }),
      filesHash: optional(text("COPY: names the archive that was sent for it, 64 lower-case hexadecimal digits.")),
      force: optional(Type.Boolean({ description: "Run it, and all after it, although their layers are there." })),
    },
    "A step of a build.",
  ),
);

export const startBuildSchema = named(
  "StartBuild",
  closed(
    {
      fromImage: optional(text("Image to start from; this or fromTemplate.", { minLength: 1, maxLength: 1024 })),
      fromTemplate: optional(text("Template to start from, perhaps with a tag; this or fromImage.", { minLength: 1, maxLength: 256 })),
      steps: Type.Array(stepSchema, { description: "In order; at most 500." }),
      force: optional(Type.Boolean({ description: "Run all steps although their layers are there." })),
      startCmd: optional(text("Run when a sandbox of the template starts.")),
      readyCmd: optional(text("Succeeds when the start command's program is ready.")),
    },
    "What to build.",
  ),
);
export type StartBuildBody = Static<typeof startBuildSchema>;

export const buildSchema = named(
  "Build",
  open(
    {
      buildId: text("Its id."),
      templateId: text("Id of its template."),
      name: text("Name of its template."),
      tags: Type.Array(Type.String(), { description: "Tags that it gets when it is ready." }),
      status: choice(buildStatuses, "waiting: not started. building. ready. error: the reason says why."),
      cpuCount: Type.Integer({ description: "Cores of its sandboxes." }),
      memoryMB: Type.Integer({ description: "Memory of its sandboxes." }),
      createdAt: time("When it was asked for."),
      startedAt: optional(time("When it was started.")),
      finishedAt: optional(time("When it was ready, or failed.")),
      reason: optional(
        open({ step: optional(text("base, finalize, or the number of the step.")), message: text("What failed.") }, "Why it failed."),
      ),
    },
    "A build of a template.",
  ),
);

export const oneBuildSchema = open({ build: buildSchema }, "One build.");
export const buildsSchema = open({ builds: Type.Array(buildSchema, { description: "Newest first." }) }, "Builds.");
export const buildParams = closed({ buildId: text("The id of a build.", { minLength: 1, maxLength: 64 }) }, "Which build.");
export const templateParams = closed(
  { name: text("The name or id of a built template.", { minLength: 1, maxLength: 256 }) },
  "Which template.",
);
export const fileParams = closed(
  {
    buildId: text("The id of a build.", { minLength: 1, maxLength: 64 }),
    hash: text("64 lower-case hexadecimal digits.", { maxLength: 64 }),
  },
  "Which files of which build.",
);
export const buildsQuery = closed(
  { template: optional(text("Only those of this template.", { minLength: 1, maxLength: 256 })) },
  "Which builds.",
);
export const logQuery = closed(
  { offset: optional(Type.Integer({ minimum: 0, description: "How many entries to leave out; 0 when left out." })) },
  "From where on.",
);

export const uploadSchema = open(
  {
    present: Type.Boolean({ description: "Files with this hash are there already." }),
    url: text("Where to PUT them, as a tar archive with or without gzip. Good for an hour, and needs no key."),
  },
  "Where to send files.",
);

export const logSchema = open(
  {
    entries: Type.Array(
      named(
        "BuildLogEntry",
        open(
          {
            timestamp: time("When."),
            level: choice(logLevels, "How much it matters."),
            message: text("A line."),
            step: optional(text("base, finalize, or the number of the step.")),
          },
          "A line of a build's log.",
        ),
      ),
      { description: "At most 500 of them." },
    ),
  },
  "A part of a log.",
);

const tagSchema = open({ tag: text("The tag."), buildId: text("Its build."), createdAt: time("Since when.") }, "A tag.");

export const builtTemplateSchema = named(
  "BuiltTemplate",
  open(
    {
      templateId: text("Its id."),
      name: text("Its name."),
      env: text("The Env that was made of it."),
      isPublic: Type.Boolean({ description: "Every team may make sandboxes from it." }),
      cpuCount: Type.Integer({ description: "Cores of its sandboxes." }),
      memoryMB: Type.Integer({ description: "Memory of its sandboxes." }),
      createdAt: time("When it was first built."),
      tags: Type.Array(tagSchema, { description: "Its tags." }),
      builds: Type.Array(buildSchema, { description: "Newest first; none for callers that do not own it." }),
    },
    "A template that was built.",
  ),
);
export const builtTemplatesSchema = open(
  { templates: Type.Array(builtTemplateSchema, { description: "Oldest first." }) },
  "Built templates.",
);
export const oneTemplateSchema = open({ template: builtTemplateSchema }, "One built template.");
