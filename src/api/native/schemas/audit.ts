/** Schemas of the audit log. */
import { Type } from "typebox";
import { choice, text } from "#model/schema-builders.ts";
import { auditResults } from "#services/audit/read-audit.ts";
import { closed, named, next, open, optional, pageQuery, texts, time } from "./builders.ts";

const word = (description: string) => optional(text(description, { minLength: 1, maxLength: 253 }));

const filter = {
  after: optional(time("Only entries at or after this time.")),
  before: optional(time("Only entries before this time.")),
  team: word("Only requests of this team."),
  user: word("Only requests of this user."),
  keyId: word("Only requests with the key of this id."),
  action: word("Only this method and route, such as DELETE /v1/sandboxes/:sandboxId."),
  target: word("Only requests about this object, such as a sandbox id."),
  result: optional(choice(auditResults, "Only these: ok below status 400, refused below 500, failed from 500 on.")),
};

export const auditQuery = closed({ ...filter, ...pageQuery }, "Which entries.");
export const auditExportQuery = closed(filter, "Which entries.");

const entrySchema = named(
  "AuditEntry",
  open(
    {
      id: text("The id of the entry."),
      at: time("When the answer was given."),
      keyId: optional(text("The id of the key. Absent for a tenant, if an admin acted for it.")),
      role: choice(["admin", "tenant"], "Role of the key: admin with a team beside it is an admin that acted for the team."),
      team: text("The team that the request acted as; empty for an admin."),
      user: text("The user that the request acted as; empty for a whole team and for an admin."),
      action: text("Method and route."),
      target: text("The object that the request was about; empty if there is none."),
      subject: texts("All names and ids in the path, and ids that the answer gave out."),
      address: optional(text("Network address of the other end of the connection: the client's, or that of a proxy. Absent as keyId.")),
      agent: optional(text("What the client calls itself. Absent as keyId.")),
      status: Type.Integer({ description: "Status of the answer." }),
      code: optional(text("Code of the problem that was answered.")),
      ms: Type.Integer({ minimum: 0, description: "Milliseconds until the answer." }),
      requestId: text("The id of the request, as in the server's log."),
    },
    "One request that may have changed something.",
  ),
);

export const auditPageSchema = open(
  { entries: Type.Array(entrySchema, { description: "Newest first." }), next },
  "A page of the audit log.",
);
