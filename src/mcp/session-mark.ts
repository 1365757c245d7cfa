/** Sessions: what is made in one carries its id in its metadata, so that any process can end it. */

/** Under which a sandbox's metadata has the session that made it. */
export const sessionMetadataKey = "mcp-session";

/** Ids that we give out, and that clients may make up: nothing depends on them but which of the caller's own sandboxes end together. */
const sessionText = /^[A-Za-z0-9-]{8,64}$/;

export function isSessionId(text: string): boolean {
  return sessionText.test(text);
}
