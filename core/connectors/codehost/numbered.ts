import type { Row } from '../connector.ts'

/**
 * The same operations under a numeric id instead of a name: `/repositories/7/issues` is where the service's own links
 * to a next page lead. Such a request has the name of its deed but no target, since a number does not say whose it is:
 * a condition on the target then cannot be evaluated, and can only tighten.
 */
export function numberedRows(rows: readonly Row[]): readonly Row[] {
  const own = rows.filter(({ template }) =>
    ALIASES.some(({ to }) => template.startsWith(to.slice(0, to.indexOf('{')))),
  )
  const known = new Set(own.map(addressOf))
  return rows
    .flatMap((row) => ALIASES.flatMap((alias) => renamed(row, alias)))
    .filter((row) => !known.has(addressOf(row)))
}

type Alias = { readonly from: string; readonly to: string; readonly readsOnly?: true }

const ALIASES: readonly Alias[] = [
  { from: '/repos/{owner}/{repo}', to: '/repositories/{repository_number}' },
  { from: '/orgs/{org}', to: '/organizations/{organization_number}' },
  { from: '/users/{username}', to: '/user/{user_number}', readsOnly: true },
]

function renamed(row: Row, { from, to, readsOnly }: Alias): readonly Row[] {
  const isOne = row.template === from || row.template.startsWith(`${from}/`)
  if (!isOne || (readsOnly === true && row.effect !== 'read')) return []
  return [{ ...row, template: to + row.template.slice(from.length), isAlternative: true }]
}

/** Method and path without the names of parameters. */
function addressOf({ method, template, when }: Row): string {
  return `${method} ${template.replaceAll(/\{[^}]*\}/g, '{}')} ${JSON.stringify(when ?? null)}`
}
