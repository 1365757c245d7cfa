/** Of what a team or a user of it owns, as lists show it. Pure. */
export function ownerText({ team = "", user = "" }: { readonly team?: string; readonly user?: string }): string {
  return [team, user].filter((part) => part !== "").join(" / ") || "–";
}
