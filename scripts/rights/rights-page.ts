import { partsOfRight, RIGHTS, type Right, ROLES } from '../../core/wire/rights.ts'

/** `docs/rights.md`: what people may do, from the table that the routes use. */
export function rightsPage(): string {
  const rows = (Object.keys(RIGHTS) as Right[]).map((right) => {
    const { resource, verb } = partsOfRight(right)
    const { role, allows } = RIGHTS[right]
    return `| \`${resource}\` | \`${verb}\` | ${role} | ${allows} |`
  })
  return `# Rights

What people may do. Every route for people requires one right: a verb on a resource. Users who sign in have a right by their
role (${ROLES.join(', ')}: each includes those before it). The OpenAPI document (\`/api/openapi.json\`) names the right of each
operation as \`x-required-right\`.

| Resource | Verb | Lowest role | Allows to |
|---|---|---|---|
${rows.join('\n')}
`
}
