/**
 * The tenant that an admin acts as. It belongs to this page and goes with each of its requests: other pages of the same browser go on as admin, and no page
 * acts as a tenant without showing it.
 */
const place = "agentbox.acting";
const returnPlace = "agentbox.return";

export interface Tenant {
  readonly team: string;
  /** Left out: the whole team. */
  readonly user?: string;
}

export function actingTenant(): Tenant | undefined {
  const kept = window.sessionStorage.getItem(place);
  return kept === null ? undefined : (JSON.parse(kept) as Tenant);
}

/** Undefined: as the admin itself. */
export function setActingTenant(tenant: Tenant | undefined): void {
  if (tenant === undefined) window.sessionStorage.removeItem(place);
  else window.sessionStorage.setItem(place, JSON.stringify(tenant));
}

export function actingHeaders(): Readonly<Record<string, string>> {
  const tenant = actingTenant();
  if (tenant === undefined) return {};
  return { "x-impersonate-team": tenant.team, ...(tenant.user !== undefined && { "x-impersonate-user": tenant.user }) };
}

/** The page to return to after signing in at another server. */
export function rememberPage(): void {
  window.sessionStorage.setItem(returnPlace, window.location.pathname + window.location.search);
}

/** Once. */
export function rememberedPage(): string | undefined {
  const page = window.sessionStorage.getItem(returnPlace) ?? undefined;
  window.sessionStorage.removeItem(returnPlace);
  return page;
}
