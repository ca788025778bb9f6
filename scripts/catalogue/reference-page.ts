import type { CatalogueRow, Connector } from '../../core/connectors/connector.ts'

/** `docs/actions/<connector>.md`: what every operation is called, so that permissions are written without reading code. */
export function referencePage({ name, catalogue = [] }: Connector): string {
  const groups = Map.groupBy(catalogue, resourceOf)
  const names = new Set(catalogue.map((row) => row.type)).size
  const sections = [...groups].sort(byName).map(([resource, rows]) => section(resource, rows))
  return [
    `# Actions of \`${name}\``,
    'Generated from the catalogue by `npm run generate`; the command line shows the same: `chaperone catalogue`.',
    `${names} actions, ${catalogue.length} operations. What none of them describes is \`${name}.unmapped.<method>\`: high risk for writes, medium for reads, allowed by \`${name}.*\` or by its own name only.`,
    'Parameters in braces and the fields named behind the path are what conditions of a policy see as `parameters`.',
    RISK_RULES,
    ...sections,
    '',
  ].join('\n\n')
}

/** The overview over all connectors. */
export function referenceIndex(connectors: readonly Connector[]): string {
  const lines = connectors.map(({ name, catalogue = [] }) => {
    const names = new Set(catalogue.map((row) => row.type)).size
    return `| [\`${name}\`](${name}.md) | ${names} | ${catalogue.length} |`
  })
  return [
    '# Actions by connector',
    'Permissions, policies and records all speak of these names. The same deed has the same name, whichever address it goes to.',
    ['| Connector | Actions | Operations |', '|---|---|---|', ...lines].join('\n'),
    '',
  ].join('\n\n')
}

const RISK_RULES = [
  '**Risk.** high: moves or gives away money, changes who may do what, touches credentials, publishes, or deletes what others rely on.',
  'medium: changes something that others notice and that can be put right; deletes a single message, comment or file.',
  'low: everyday work, and reading. **Effect.** read: changes nothing. compute: costs, but changes nothing there. write: the rest.',
].join(' ')

function section(resource: string, rows: readonly CatalogueRow[]): string {
  const lines = rows.map(
    (row) => `| \`${row.type}\` | ${row.effect} | ${row.risk} | ${row.method ?? ''} | ${requestText(row)} |`,
  )
  return [
    `## ${resource}`,
    '',
    '| Action | Effect | Risk | Method | Request |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}

function requestText({ template, parameters = [], hints = {}, isAlternative }: CatalogueRow): string {
  const marks = [...parameters, ...Object.keys(hints)].join(', ')
  const path = template === undefined ? '' : `\`${template}\``
  const also = isAlternative === true ? ' (same deed)' : ''
  return `${path}${also}${marks === '' ? '' : ` ${marks}`}`
}

function resourceOf(row: CatalogueRow): string {
  return row.type.split('.')[1] ?? row.type
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
